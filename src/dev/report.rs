//! What a run of `eddy dev` says of itself at its end: the audit, and what was measured beside it.
//!
//! One report, two forms: lines for a person on stdout, JSON for `--report`. Both say the same.

use std::{cmp::Reverse, fmt};

use eddy_topology::{audit, time::Span};
use serde::{Serialize, Serializer};

use super::demo::Seen;
use crate::{feed::Counts as Fed, host::Counts};

/// The report of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub audit: audit::Report,
    /// Records that each tier's topic has ever held, as its log says; by delay, shortest first.
    #[serde(serialize_with = "as_map")]
    pub tier_records: Vec<(Span, u64)>,
    /// Lines of the input that this run fed …
    pub fed: u64,
    /// … and those that an earlier run had fed already.
    pub already_fed: u64,
    /// Attempts of this run that failed and were counted.
    pub failed_attempts: u64,
    /// Deliveries of this run that the guard suppressed.
    pub suppressed: u64,
    /// From the engine's first sight of a record to the acknowledgement of its first attempt.
    pub first_attempt_ms: Latency,
    /// What the demo downstream saw in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demo: Option<Seen>,
}

/// Percentiles, milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    pub p50: u64,
    pub p99: u64,
}

impl Report {
    pub(super) fn new(
        audit: audit::Report,
        tier_records: Vec<(Span, u64)>,
        fed: Fed,
        counts: &Counts,
        demo: Option<Seen>,
    ) -> Self {
        let percentile = |p| counts.first_attempt_ms.value_at_quantile(p);
        Self {
            audit,
            tier_records,
            fed: fed.fed,
            already_fed: fed.already_fed,
            failed_attempts: counts.failed_attempts,
            suppressed: counts.suppressed,
            first_attempt_ms: Latency { p50: percentile(0.5), p99: percentile(0.99) },
            demo,
        }
    }

    /// Whether every trigger is accounted for.
    pub const fn conserved(&self) -> bool {
        self.audit.conserved
    }
}

fn as_map<S: Serializer>(tiers: &[(Span, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(tiers.iter().map(|(delay, records)| (delay.to_string(), records)))
}

impl fmt::Display for Report {
    /// For a person: sections of lines, all numbers in one column, the verdict last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = [self.places(), self.tiers(), self.dead_letters(), self.measured(), self.downstream()];
        for section in sections.iter().filter(|section| !section.is_empty()) {
            section.iter().try_for_each(|line| writeln!(f, "{line}"))?;
            writeln!(f)?;
        }
        self.verdict(f)
    }
}

impl Report {
    fn places(&self) -> Vec<Line> {
        let audit = &self.audit;
        vec![
            Line::new("in", audit.records),
            Line::new("delivered", audit.delivered),
            Line::new("dead-lettered", audit.dead_lettered),
            Line::new("parked", audit.parked),
            Line::new("on tiers", audit.on_tiers.values().sum()),
            Line::new("in flight", audit.in_flight),
        ]
    }

    fn tiers(&self) -> Vec<Line> {
        let total = self.tier_records.iter().map(|(_, records)| records).sum();
        let waiting = |delay: &Span| self.audit.on_tiers.get(&delay.to_string()).copied().unwrap_or(0);
        let mut lines = vec![Line::new("waits on a tier", total)];
        lines.extend(self.tier_records.iter().map(|(delay, records)| match waiting(delay) {
            0 => Line::below(delay, *records),
            waiting => Line { note: format!("{waiting} still waiting"), ..Line::below(delay, *records) },
        }));
        lines
    }

    fn dead_letters(&self) -> Vec<Line> {
        let codes = &self.audit.codes;
        if codes.is_empty() {
            return Vec::new();
        }
        let mut by_count: Vec<_> = codes.iter().collect();
        by_count.sort_by_key(|(_, count)| Reverse(**count));
        let mut lines = vec![Line::new("dead letters", codes.values().sum())];
        lines.extend(by_count.into_iter().map(|(code, count)| Line::below(code, *count)));
        lines
    }

    fn measured(&self) -> Vec<Line> {
        let Latency { p50, p99 } = self.first_attempt_ms;
        vec![
            Line {
                note: "triggers that came again after their delivery".into(),
                ..Line::new("suppressed", self.suppressed)
            },
            Line {
                note: "records that say again what another one says".into(),
                ..Line::new("copies", self.audit.copies)
            },
            Line {
                note: "counted against their triggers".into(),
                ..Line::new("failed attempts", self.failed_attempts)
            },
            Line { note: "ms, p50".into(), ..Line::new("first attempt", p50) },
            Line { note: "ms, p99".into(), ..Line::new("", p99) },
        ]
    }

    fn downstream(&self) -> Vec<Line> {
        let Some(Seen { requests, effects, repeated }) = self.demo else {
            return Vec::new();
        };
        vec![
            Line { note: "that the demo downstream got".into(), ..Line::new("requests", requests) },
            Line { note: "that took place there".into(), ..Line::new("effects", effects) },
            Line { note: "for an effect that had taken place".into(), ..Line::new("repeated", repeated) },
        ]
    }

    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let audit = &self.audit;
        if audit.in_two_places_count > 0 {
            writeln!(f, "in two places: {}", named(&audit.in_two_places, audit.in_two_places_count))?;
        }
        if audit.conserved {
            return write!(f, "conserved: yes");
        }
        write!(f, "conserved: NO, {} of {} are nowhere: ", audit.missing_count, audit.records)?;
        write!(f, "{}", named(&audit.missing, audit.missing_count))
    }
}

/// One number, what it counts, and a word on it.
struct Line {
    label: String,
    count: u64,
    note: String,
}

impl Line {
    fn new(label: &str, count: u64) -> Self {
        Self { label: label.to_owned(), count, note: String::new() }
    }

    /// A part of the line above it.
    fn below(part: impl fmt::Display, count: u64) -> Self {
        Self::new(&format!("  {part}"), count)
    }
}

impl fmt::Display for Line {
    /// The label is as wide as the longest code below a section, the number as a million's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, count, note } = self;
        write!(f, "{label:<26} {count:>8}")?;
        if note.is_empty() { Ok(()) } else { write!(f, "  {note}") }
    }
}

/// The ids that a report names, and how many more there are.
fn named(ids: &[eddy_contract::RecordId], count: u64) -> String {
    let mut text = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let unnamed = count.saturating_sub(ids.len() as u64);
    if unnamed > 0 {
        text.push_str(&format!(" and {unnamed} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use eddy_contract::RecordId;
    use eddy_topology::audit::{Audit, Place};

    use super::*;

    fn id(offset: i64) -> RecordId {
        RecordId { topic: "geofence-triggers".into(), partition: 0, offset, part: 0 }
    }

    fn spans(tiers: &[(&str, u64)]) -> Vec<(Span, u64)> {
        tiers.iter().map(|(delay, records)| (delay.parse().unwrap(), *records)).collect()
    }

    /// 2,000 records, of which those before the given offset are delivered and the next 15 dead letters.
    fn report(delivered: i64) -> Report {
        let mut audit = Audit::default();
        (0..2000).for_each(|offset| audit.source(id(offset)));
        (0..delivered).for_each(|offset| audit.found(&id(offset), Place::Delivered));
        (delivered..delivered + 15).for_each(|offset| audit.found(&id(offset), Place::DeadLetters));
        let mut audit = audit.finish(&["5s".into(), "30s".into(), "5m".into()]);
        audit.codes = BTreeMap::from([("invalid_json".into(), 4), ("longitude_out_of_range".into(), 11)]);
        let counts = Counts { failed_attempts: 60, suppressed: 10, ..Counts::default() };
        let fed = Fed { fed: 2000, already_fed: 0, blank: 0 };
        let demo = Some(Seen { requests: 2045, effects: 1975, repeated: 0 });
        Report::new(audit, spans(&[("5s", 37), ("30s", 12), ("5m", 4)]), fed, &counts, demo)
    }

    #[test]
    fn a_report_is_for_a_person_to_read() {
        let expected = "\
in                             2000
delivered                      1985
dead-lettered                    15
parked                            0
on tiers                          0
in flight                         0

waits on a tier                  53
  5s                             37
  30s                            12
  5m                              4

dead letters                     15
  longitude_out_of_range         11
  invalid_json                    4

suppressed                       10  triggers that came again after their delivery
copies                            0  records that say again what another one says
failed attempts                  60  counted against their triggers
first attempt                     0  ms, p50
                                  0  ms, p99

requests                       2045  that the demo downstream got
effects                        1975  that took place there
repeated                          0  for an effect that had taken place

conserved: yes";

        assert_eq!(report(1985).to_string(), expected);
    }

    #[test]
    fn what_is_nowhere_is_named() {
        let text = report(1983).to_string();

        let verdict = text.lines().last().unwrap();
        assert_eq!(verdict, "conserved: NO, 2 of 2000 are nowhere: geofence-triggers/0/1998 geofence-triggers/0/1999");
    }

    #[test]
    fn of_much_that_is_nowhere_the_first_ids_are_named() {
        let text = report(1900).to_string();

        assert!(text.contains("conserved: NO, 85 of 2000 are nowhere: geofence-triggers/0/1915 "), "{text}");
        assert!(text.ends_with("geofence-triggers/0/1934 and 65 more"), "{text}");
    }

    #[test]
    fn what_still_waits_stands_beside_its_tier() {
        let mut report = report(1985);
        report.audit.on_tiers.insert("30s".into(), 3);

        let text = report.to_string();

        assert!(text.contains("\n  30s                            12  3 still waiting\n"), "{text}");
    }

    #[test]
    fn a_run_without_dead_letters_and_demo_has_no_empty_sections() {
        let mut report = report(1985);
        report.audit.codes.clear();
        report.demo = None;

        let text = report.to_string();

        assert!(!text.contains("dead letters") && !text.contains("requests"), "{text}");
        assert!(!text.contains("\n\n\n"), "{text}");
    }

    #[test]
    fn the_json_has_the_places_the_tiers_in_their_order_and_the_codes() {
        let text = serde_json::to_string(&report(1985)).unwrap();

        assert!(text.contains(r#""in":2000,"delivered":1985,"dead_lettered":15,"parked":0"#), "{text}");
        assert!(text.contains(r#""tier_records":{"5s":37,"30s":12,"5m":4}"#), "{text}");
        assert!(text.contains(r#""codes":{"invalid_json":4,"longitude_out_of_range":11}"#), "{text}");
        assert!(text.contains(r#""conserved":true"#), "{text}");
        assert!(text.contains(r#""demo":{"requests":2045,"effects":1975,"repeated":0}"#), "{text}");
    }
}
