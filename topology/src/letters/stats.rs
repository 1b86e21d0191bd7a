//! Statistics: how many of the processed records became dead letters, against the objective, and what they share.
//!
//! Like is compared with like: ranges of the source's offsets on one side, dead letters that came from these offsets on
//! the other, whatever has become of them since. A quotient of two topics as they stand would compare two retentions.

use std::{collections::BTreeMap, ops::Range};

use serde::Serialize;

use super::{Letter, Letters};
use crate::names::Names;

/// From one dead letter in so many records on the rate is worth a warning: 0.01 %.
const WARNING_ONE_IN: u64 = 10_000;

/// From one in so many on somebody is called: 0.1 %.
const PAGE_ONE_IN: u64 = 1_000;

/// Offsets of each partition of the source that have been processed.
pub type Processed = BTreeMap<u32, Range<i64>>;

/// How the rate stands against the objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Below 0.01 %.
    Ok,
    /// 0.01 % or more.
    Warning,
    /// 0.1 % or more.
    Page,
}

impl Level {
    /// In whole numbers, so that a rate exactly at the objective is on its side.
    const fn of(dead_letters: u64, processed: u64) -> Self {
        if dead_letters > 0 && dead_letters.saturating_mul(PAGE_ONE_IN) >= processed {
            Self::Page
        } else if dead_letters > 0 && dead_letters.saturating_mul(WARNING_ONE_IN) >= processed {
            Self::Warning
        } else {
            Self::Ok
        }
    }
}

/// The commonest of something among the dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Top {
    /// What it is.
    pub name: String,
    /// How many have it.
    pub count: u64,
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Records of the source.
    pub processed: u64,
    /// How many of them became dead letters.
    pub dead_letters: u64,
    /// How many of those are still open.
    pub open: u64,
    /// Dead letters per processed record; absent when nothing was processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Against the objective.
    pub level: Level,
    /// The commonest reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_reason: Option<Top>,
    /// The commonest partition of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_origin: Option<Top>,
    /// The commonest build of the module that judged last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_build: Option<Top>,
}

impl Stats {
    /// Draws them up.
    pub fn of(letters: &Letters, processed: &Processed, names: &Names) -> Self {
        let concerned: Vec<&Letter> = letters.all().filter(|letter| is_within(letter, processed, names)).collect();
        let records = processed.values().map(|range| range.end.saturating_sub(range.start).max(0).unsigned_abs()).sum();
        let dead_letters = concerned.len() as u64;
        Self {
            processed: records,
            dead_letters,
            open: concerned.iter().filter(|letter| letter.is_open()).count() as u64,
            rate: (records > 0).then(|| dead_letters as f64 / records as f64),
            level: Level::of(dead_letters, records),
            top_reason: top(concerned.iter().filter_map(|letter| letter.envelope.reason.clone())),
            top_origin: top(concerned.iter().map(|letter| {
                let origin = &letter.envelope.origin;
                format!("{}/{}", origin.topic, origin.partition)
            })),
            top_build: top(concerned.iter().filter_map(|letter| build(letter, names))),
        }
    }
}

fn is_within(letter: &Letter, processed: &Processed, names: &Names) -> bool {
    let origin = &letter.envelope.origin;
    origin.topic == names.source.as_str()
        && processed.get(&origin.partition).is_some_and(|offsets| offsets.contains(&origin.offset))
}

/// The build whose verdict was the last: classify's where a delivery failed, else validate's.
fn build(letter: &Letter, names: &Names) -> Option<String> {
    let judges = [&names.classify, &names.validate];
    judges.into_iter().find_map(|module| {
        let build = letter.envelope.modules.get(module.as_str())?;
        Some(format!("{module} sha256:{build}"))
    })
}

/// The commonest name; of equals the first.
fn top(names: impl Iterator<Item = String>) -> Option<Top> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let commonest = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    commonest.map(|(name, count)| Top { name, count })
}

#[cfg(test)]
mod tests {
    use eddy_contract::{Envelope, envelope::Resolution};

    use super::{super::sample, *};

    fn letters(of: impl IntoIterator<Item = Letter>) -> Letters {
        sample::fold(of.into_iter().map(|letter| letter.envelope))
    }

    fn stats(letters: &Letters, offsets: Range<i64>) -> Stats {
        Stats::of(letters, &Processed::from([(0, offsets)]), &names())
    }

    fn names() -> Names {
        Names::derive("source", &[]).unwrap()
    }

    fn judged(at: i64, modules: &[(&str, &str)]) -> Letter {
        let mut letter = sample::letter(at, "s", "r");
        letter.envelope.modules =
            modules.iter().map(|(name, build)| ((*name).to_owned(), (*build).to_owned())).collect();
        letter
    }

    #[test]
    fn the_rate_is_that_of_the_processed_offsets_and_of_nothing_else() {
        let mut elsewhere = sample::letter(15, "s", "r");
        elsewhere.envelope.origin.topic = "source-failures".into();
        elsewhere.envelope.id = elsewhere.envelope.origin.id();
        let dead = [9, 10, 19, 20].map(|offset| sample::letter(offset, "s", "r"));

        let stats = stats(&letters(dead.into_iter().chain([elsewhere])), 10..20);

        assert_eq!((stats.processed, stats.dead_letters, stats.rate), (10, 2, Some(0.2)));
    }

    #[test]
    fn a_letter_that_was_closed_was_dead_all_the_same() {
        let closed = sample::letter(1, "s", "r");
        let resolution =
            Envelope { resolution: Some(Resolution::Replayed), payload_b64: None, ..closed.envelope.clone() };
        let mut letters = letters([closed, sample::letter(2, "s", "r")]);
        letters.add(0, 9, resolution);

        let stats = stats(&letters, 0..10);

        assert_eq!((stats.dead_letters, stats.open), (2, 1));
    }

    #[test]
    fn a_rate_at_the_objective_is_on_its_side() {
        assert_eq!(Level::of(1, 10_001), Level::Ok);
        assert_eq!(Level::of(1, 10_000), Level::Warning);
        assert_eq!(Level::of(1, 1_001), Level::Warning);
        assert_eq!(Level::of(1, 1_000), Level::Page);
        assert_eq!(Level::of(0, 0), Level::Ok);
    }

    #[test]
    fn where_nothing_was_processed_there_is_no_rate() {
        let stats = stats(&letters([]), 5..5);

        assert_eq!((stats.processed, stats.rate, stats.level), (0, None, Level::Ok));
        assert_eq!((stats.top_reason, stats.top_origin, stats.top_build), (None, None, None));
    }

    #[test]
    fn the_commonest_reason_and_origin_are_named() {
        let dead = [sample::letter(1, "s", "b"), sample::letter(2, "s", "a"), sample::letter(3, "s", "b")];

        let stats = stats(&letters(dead), 0..10);

        assert_eq!(stats.top_reason, Some(Top { name: "b".into(), count: 2 }));
        assert_eq!(stats.top_origin, Some(Top { name: "source/0".into(), count: 3 }));
    }

    #[test]
    fn the_build_is_that_of_the_module_that_judged_last() {
        let validate = ("source-validate", "aa");
        let dead = [
            judged(1, &[validate]),
            judged(2, &[validate, ("source-classify", "bb")]),
            judged(3, &[validate, ("source-classify", "bb")]),
        ];

        let stats = stats(&letters(dead), 0..10);

        assert_eq!(stats.top_build, Some(Top { name: "source-classify sha256:bb".into(), count: 2 }));
    }
}
