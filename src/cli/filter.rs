//! The flags that say which letters are meant.
//!
//! Times are points with their zone (RFC 3339) or lengths back from now. A time without a zone is refused: read in the
//! zone of whoever runs the command, it would mean other letters on another machine.

use anyhow::ensure;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use eddy_contract::{RecordId, SideEffect};
use eddy_topology::{
    filter::{End, Filter, Reason, Source, TimeField, Window},
    time::Span,
};

/// Set flag by flag, because a heading of the whole would go on over the flags behind.
const HEADING: &str = "Which letters";

/// Which letters; all criteria together. Several values of one are alternatives.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FilterArgs {
    /// By the class that decided: terminal, exhausted, unclassified. May be given again.
    #[arg(long, help_heading = HEADING, value_delimiter = ',', value_parser = word(ENDS), value_name = "CLASS")]
    pub class: Vec<End>,
    /// By the signature of the last failure, as `eddy dlq groups` prints it.
    #[arg(long, help_heading = HEADING)]
    pub signature: Option<String>,
    /// By the reason: `terminal:invalid_json`, or the beginning of one: `terminal:*`.
    #[arg(long, help_heading = HEADING)]
    pub reason: Option<String>,
    /// By what the last failure may have done downstream: none, refused, unknown. May be given again.
    #[arg(long, help_heading = HEADING, value_delimiter = ',', value_parser = word(EFFECTS), value_name = "EFFECT")]
    pub effect: Vec<SideEffect>,
    /// From then on: RFC 3339 with its zone, or `2h` for two hours ago.
    #[arg(long, help_heading = HEADING, value_name = "TIME")]
    pub since: Option<Moment>,
    /// Until just before then.
    #[arg(long, help_heading = HEADING, value_name = "TIME")]
    pub until: Option<Moment>,
    /// Which time `--since` and `--until` mean: quarantined (the default), event, failed (last), origin (produced).
    #[arg(long, help_heading = HEADING, value_parser = word(TIMES), value_name = "FIELD")]
    pub time_field: Option<TimeField>,
    /// By the topic that the record came from, or one partition of it.
    #[arg(long, help_heading = HEADING, value_name = "TOPIC[/PARTITION]")]
    pub origin: Option<Source>,
    /// By the fence that the trigger named.
    #[arg(long, help_heading = HEADING)]
    pub fence: Option<String>,
    /// By the device that the trigger named.
    #[arg(long, help_heading = HEADING)]
    pub device: Option<String>,
    /// By the idempotency key.
    #[arg(long, help_heading = HEADING)]
    pub key: Option<String>,
    /// By id: topic/partition/offset. May be given again.
    #[arg(long, help_heading = HEADING, value_delimiter = ',', value_name = "ID")]
    pub id: Vec<RecordId>,
}

impl FilterArgs {
    /// The filter; lengths of time count back from `now_ms`.
    ///
    /// # Errors
    /// When no time is both `--since` and before `--until`.
    pub fn filter(&self, now_ms: i64) -> anyhow::Result<Filter> {
        let Self { class, signature, reason, effect, since, until, time_field, origin, fence, device, key, id } =
            self.clone();
        let since_ms = since.map(|moment| moment.ms(now_ms));
        let until_ms = until.map(|moment| moment.ms(now_ms));
        let is_empty = since_ms.zip(until_ms).is_some_and(|(since, until)| since >= until);
        ensure!(!is_empty, "no time is from --since on and before --until");
        let is_asked = since_ms.is_some() || until_ms.is_some() || time_field.is_some();
        let window = Window { field: time_field.unwrap_or_default(), since_ms, until_ms };
        Ok(Filter {
            class: class.into_iter().collect(),
            signature,
            reason: reason.map(Reason),
            effect,
            window: is_asked.then_some(window),
            origin,
            fence,
            device,
            idempotency_key: key,
            id: id.into_iter().collect(),
        })
    }
}

const ENDS: [(&str, End); 3] = [
    (End::Terminal.as_str(), End::Terminal),
    (End::Exhausted.as_str(), End::Exhausted),
    (End::Unclassified.as_str(), End::Unclassified),
];

const EFFECTS: [(&str, SideEffect); 3] =
    [("none", SideEffect::None), ("refused", SideEffect::Refused), ("unknown", SideEffect::Unknown)];

const TIMES: [(&str, TimeField); 4] = [
    (TimeField::Quarantined.as_str(), TimeField::Quarantined),
    (TimeField::Event.as_str(), TimeField::Event),
    (TimeField::Failed.as_str(), TimeField::Failed),
    (TimeField::Origin.as_str(), TimeField::Origin),
];

/// Takes one word of a list.
fn word<T, const N: usize>(words: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.map(|(word, _)| word)).map(move |found| {
        let known = words.iter().find(|(word, _)| *word == found);
        known.expect("the parser takes these words only").1
    })
}

/// A point in time as a person says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Milliseconds since 1970.
    At(i64),
    /// So long before now.
    Ago(Span),
}

/// A text that says no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseMomentError {
    #[error("`{0}` says no time zone; hint: add Z for UTC, or an offset such as +01:00")]
    NoZone(String),
    #[error("`{0}` is neither a time such as `2026-11-01T08:00:00Z` nor a length of time such as `2h`")]
    Neither(String),
}

impl Moment {
    /// Milliseconds since 1970.
    pub const fn ms(self, now_ms: i64) -> i64 {
        match self {
            Self::At(ms) => ms,
            Self::Ago(span) => now_ms.saturating_sub(span.as_ms()),
        }
    }
}

impl std::str::FromStr for Moment {
    type Err = ParseMomentError;

    fn from_str(text: &str) -> Result<Self, ParseMomentError> {
        if let Ok(span) = text.parse() {
            return Ok(Self::Ago(span));
        }
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Ok(Self::At(time.as_millisecond()));
        }
        match text.parse::<jiff::civil::DateTime>() {
            Ok(_) => Err(ParseMomentError::NoZone(text.to_owned())),
            Err(_) => Err(ParseMomentError::Neither(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const NOW_MS: i64 = 1_796_040_000_000;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        filter: FilterArgs,
    }

    fn filter(flags: &[&str]) -> Filter {
        parsed(flags).filter(NOW_MS).unwrap()
    }

    fn parsed(flags: &[&str]) -> FilterArgs {
        Command::try_parse_from(["command"].iter().chain(flags)).unwrap().filter
    }

    fn refused(flags: &[&str]) -> String {
        Command::try_parse_from(["command"].iter().chain(flags)).unwrap_err().to_string()
    }

    #[test]
    fn without_flags_every_letter_is_meant() {
        assert!(filter(&[]).is_everything());
    }

    #[test]
    fn every_flag_is_a_criterion() {
        let filter = filter(&[
            "--class=terminal,exhausted",
            "--signature=s",
            "--reason=terminal:*",
            "--effect=unknown",
            "--effect=none",
            "--origin=triggers/3",
            "--fence=depot",
            "--device=van-17",
            "--key=k",
            "--id=triggers/3/17",
        ]);

        let expected = Filter {
            class: [End::Terminal, End::Exhausted].into(),
            signature: Some("s".into()),
            reason: Some("terminal:*".into()),
            effect: vec![SideEffect::Unknown, SideEffect::None],
            window: None,
            origin: Some("triggers/3".parse().unwrap()),
            fence: Some("depot".into()),
            device: Some("van-17".into()),
            idempotency_key: Some("k".into()),
            id: ["triggers/3/17".parse().unwrap()].into(),
        };
        assert_eq!(filter, expected);
    }

    #[test]
    fn a_time_is_a_point_with_its_zone_or_so_long_ago() {
        let window = |flags: &[&str]| filter(flags).window.unwrap();

        let named = window(&["--since=2026-11-30T13:00:00+01:00", "--until=2026-11-30T12:00:00.001Z"]);
        let ago = window(&["--since=2h", "--time-field=event"]);

        let quarantined = TimeField::Quarantined;
        assert_eq!(named, Window { field: quarantined, since_ms: Some(NOW_MS), until_ms: Some(NOW_MS + 1) });
        assert_eq!(ago, Window { field: TimeField::Event, since_ms: Some(NOW_MS - 7_200_000), until_ms: None });
    }

    #[test]
    fn a_time_without_a_zone_is_refused_with_a_hint() {
        let said = refused(&["--since=2026-11-30T13:00:00"]);

        assert!(said.contains("says no time zone; hint: add Z for UTC, or an offset such as +01:00"), "{said}");
        assert!(refused(&["--since=2026-11-30"]).contains("says no time zone"));
        assert!(refused(&["--until=yesterday"]).contains("neither a time such as"));
    }

    #[test]
    fn a_window_that_holds_no_time_is_refused() {
        let error = parsed(&["--since=1h", "--until=2h"]).filter(NOW_MS).unwrap_err();

        assert!(error.to_string().contains("--since"), "{error}");
        assert!(parsed(&["--since=1h", "--until=1h"]).filter(NOW_MS).is_err());
    }

    #[test]
    fn a_word_that_is_none_is_refused_with_those_that_are() {
        let said = refused(&["--class=poison"]);

        assert!(said.contains("terminal, exhausted, unclassified"), "{said}");
    }
}
