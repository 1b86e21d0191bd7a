//! What a load promises.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use eddy_contract::{Code, Header, RecordView};
use eddy_validate::Params;
use serde_json::Value;

use super::*;

const START_NS: i64 = 1_793_000_000_000_000_000;

fn plan() -> Plan {
    Plan { seed: 7, start_ns: START_NS, rate: 500, poison_rate: 0.0, duplicate_rate: 0.0 }
}

/// What `validate` says to a record with these bytes that was produced at the start.
fn judge(bytes: &[u8]) -> Code {
    let mut output = Vec::new();
    let record = RecordView { key: None, offset: 0, timestamp_ms: START_NS / 1_000_000, value: bytes };
    eddy_validate::judge(record, &Params::DEFAULT, &mut output);
    Header::decode(&output).unwrap().0.code
}

fn lines(plan: &Plan, count: usize) -> Vec<Line> {
    let mut generator = Generator::new(plan);
    (0..count).map(|_| generator.next_line()).collect()
}

fn triggers(plan: &Plan, count: usize) -> Vec<Value> {
    lines(plan, count).iter().map(|line| serde_json::from_slice(&line.bytes).unwrap()).collect()
}

#[test]
fn the_same_seed_and_start_give_the_same_bytes() {
    let plan = Plan { poison_rate: 0.1, duplicate_rate: 0.1, ..plan() };

    assert_eq!(lines(&plan, 3000), lines(&plan, 3000));
}

#[test]
fn another_seed_gives_other_bytes() {
    assert_ne!(lines(&plan(), 10), lines(&Plan { seed: 8, ..plan() }, 10));
}

#[test]
fn every_line_of_a_clean_load_is_a_trigger() {
    let lines = lines(&plan(), 5000);

    assert!(lines.iter().all(|line| line.kind == Kind::Valid));
    let refused: Vec<_> = lines.iter().filter(|line| judge(&line.bytes) != Code::Ok).collect();
    assert!(refused.is_empty(), "{}", String::from_utf8_lossy(&refused[0].bytes));
}

#[test]
fn every_kind_of_poison_gets_the_code_that_it_claims() {
    let lines = lines(&Plan { poison_rate: 1.0, ..plan() }, Poison::ALL.len());

    let claimed: Vec<_> = Poison::ALL.iter().map(|poison| (*poison, poison.code())).collect();
    let given: Vec<_> = Poison::ALL.iter().zip(&lines).map(|(poison, line)| (*poison, judge(&line.bytes))).collect();
    assert_eq!(given, claimed);
}

#[test]
fn no_line_breaks_within_a_line() {
    let lines = lines(&Plan { poison_rate: 0.5, ..plan() }, 500);

    assert!(lines.iter().all(|line| !line.bytes.contains(&b'\n') && !line.bytes.is_empty()));
}

#[test]
fn the_poison_rate_is_kept() {
    let lines = lines(&Plan { poison_rate: 0.02, ..plan() }, 10_000);

    let poisoned = lines.iter().filter(|line| matches!(line.kind, Kind::Poison(_))).count();
    assert!((150..250).contains(&poisoned), "{poisoned} of 10,000 at 2 %");
}

#[test]
fn a_duplicate_repeats_an_earlier_line_byte_for_byte() {
    let lines = lines(&Plan { duplicate_rate: 0.05, ..plan() }, 2000);

    let mut seen = HashSet::new();
    let mut duplicates = 0;
    for line in &lines {
        let new = seen.insert(&line.bytes);
        assert_eq!(new, line.kind == Kind::Valid);
        duplicates += usize::from(!new);
    }
    assert!((50..150).contains(&duplicates), "{duplicates} of 2,000 at 5 %");
}

#[test]
fn no_two_triggers_share_device_fence_transition_and_second() {
    let effects: HashSet<_> = triggers(&plan(), 8000)
        .iter()
        .map(|t| {
            let second = t["event_time_ns"].as_i64().unwrap() / 1_000_000_000;
            (t["device_id"].to_string(), t["fence_id"].to_string(), t["transition"].to_string(), second)
        })
        .collect();

    assert_eq!(effects.len(), 8000);
}

#[test]
fn event_times_begin_at_the_start_and_never_go_back() {
    let times: Vec<_> = triggers(&plan(), 5000).iter().map(|t| t["event_time_ns"].as_i64().unwrap()).collect();

    assert_eq!(times[0], START_NS);
    assert!(times.is_sorted());
    let seconds = (times[4999] - START_NS) / 1_000_000_000;
    assert!((9..=11).contains(&seconds), "5,000 triggers at 500 a second took {seconds} s");
}

#[test]
fn a_device_enters_before_it_dwells_or_exits() {
    let mut inside: BTreeMap<String, String> = BTreeMap::new();
    let mut transitions = BTreeSet::new();

    for t in triggers(&plan(), 8000) {
        let (device, fence) = (t["device_id"].to_string(), t["fence_id"].to_string());
        let transition = t["transition"].as_str().unwrap().to_owned();
        match (transition.as_str(), inside.get(&device)) {
            ("ENTER", before) => assert_eq!(before, None, "{device} entered {fence} from within a fence"),
            // A device may have been inside when the load began.
            (_, before) => assert!(before.is_none_or(|before| *before == fence), "{device} left a fence it was not in"),
        }
        match transition.as_str() {
            "EXIT" => drop(inside.remove(&device)),
            _ => drop(inside.insert(device, fence)),
        }
        transitions.insert(transition);
    }

    assert_eq!(transitions, BTreeSet::from(["ENTER".to_owned(), "EXIT".to_owned(), "DWELL".to_owned()]));
}

#[test]
fn a_few_devices_are_busy_and_most_are_not() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for t in triggers(&Plan { rate: 250, ..plan() }, 8000) {
        *counts.entry(t["device_id"].to_string()).or_default() += 1;
    }

    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let busiest: usize = counts.iter().take(counts.len() / 10).sum();
    assert!(counts.len() > 400, "only {} devices", counts.len());
    assert!(busiest * 3 > 8000, "the busiest tenth sent only {busiest} of 8,000");
}

#[test]
fn a_trigger_has_about_250_bytes() {
    let total: usize = lines(&plan(), 2000).iter().map(|line| line.bytes.len()).sum();

    assert!((220..280).contains(&(total / 2000)), "mean {}", total / 2000);
}
