//! Reading dead letters: listed, grouped, counted and exported.

use eddy_contract::Envelope;
use serde_json::Value;

use super::*;
use crate::places::{ask_until, assert_fails};

#[test]
fn a_filter_narrows_what_is_listed_and_exported() {
    let node = Node::start();
    node.put(DLQ, &[refused(1), exhausted(2), refused(3)]);
    let listed = |flags: &[&str]| ids(&node.ask(&[&["dlq", "list", "--json"], flags].concat()).0);
    let exported = |flags: &[&str]| ids(&node.ask(&[&["dlq", "export"], flags].concat()).0);

    let odd = ["geofence-triggers/1/1", "geofence-triggers/1/3"];
    assert_eq!(listed(&["--class", "exhausted"]), ["geofence-triggers/0/2"]);
    assert_eq!(listed(&["--origin", "geofence-triggers/1"]), odd);
    assert_eq!(exported(&["--reason", "terminal:*"]), odd);
    assert_eq!(exported(&["--since", "2026-11-30T12:03:00Z"]), [odd[1]]);
    assert_eq!(exported(&["--until", "2026-11-30T13:03:00+01:00"]), ["geofence-triggers/0/2", odd[0]]);
    assert!(node.ask(&["dlq", "list", "--device", "van-1"]).1.contains("no open dead letter is as the filter says"));
}

#[test]
fn a_time_without_a_zone_is_a_wrong_command_line() {
    let output = crate::run(&["dlq", "list", "--since", "2026-11-30T12:00:00", "--cluster", "127.0.0.1:1"]);

    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("says no time zone; hint: add Z"), "{}", stderr(&output));
}

#[test]
fn an_export_is_whole_envelopes_one_a_line() {
    let node = Node::start();
    node.put(DLQ, &[refused(1)]);

    let (exported, _) = node.ask(&["dlq", "export"]);

    let lines: Vec<_> = exported.lines().map(|line| Envelope::decode(line.as_bytes()).unwrap()).collect();
    assert_eq!(lines, [refused(1)]);
}

#[test]
fn groups_have_a_line_for_each_cause_the_commonest_first() {
    let node = Node::start();
    node.put(DLQ, &[exhausted(2), refused(1), refused(3)]);

    let (table, _) = node.ask(&["dlq", "groups"]);
    let (json, _) = node.ask(&["dlq", "groups", "--json"]);

    let rows: Vec<&str> = table.lines().skip(1).map(str::trim).collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert!(rows[0].starts_with("2      2026-11-30T12:01:00.000Z  2026-11-30T12:03:00.000Z  geofence-triggers/1/3"));
    assert!(rows[0].ends_with("terminal:rejected      deliver:terminal:422:no"), "{table}");
    assert!(rows[1].ends_with("exhausted:unavailable  deliver:transient:503:no"), "{table}");
    let groups: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&groups[0]["count"], &groups[0]["reasons"]["terminal:rejected"]), (&2.into(), &2.into()));
    let signature = groups[1]["signature"].as_str().unwrap();
    assert_eq!(ids(&node.ask(&["dlq", "export", "--signature", signature]).0), ["geofence-triggers/0/2"]);
}

/// Real triggers, because positions and builds are the host's.
#[test]
fn stats_set_the_dead_letters_against_the_records_that_were_processed() {
    let node = Node::start();
    let input = node.folder.path().join("input");
    std::fs::write(&input, "{oops\n{}\n{oops\n").unwrap();
    node.ask(&["produce", input.to_str().unwrap()]);
    let stats = || node.dev.ask(&["dlq", "stats", "--json"]);

    let all = ask_until(stats, |json| json.contains(r#""processed":3,"dead_letters":3"#));
    node.ask(&["dlq", "discard", "--reason", "terminal:missing_field", "--yes"]);
    let (text, _) = node.ask(&["dlq", "stats"]);
    let (hour, _) = node.ask(&["dlq", "stats", "--window", "1h", "--json"]);
    let (instant, _) = node.ask(&["dlq", "stats", "--window", "1ms", "--json"]);

    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!((&all["rate"], &all["level"], &all["open"]), (&1.0.into(), &"page".into(), &3.into()));
    assert_eq!((&all["top_reason"]["name"], &all["top_reason"]["count"]), (&"terminal:invalid_json".into(), &2.into()));
    let build = all["top_build"]["name"].as_str().unwrap();
    assert!(build.starts_with("geofence-triggers-validate sha256:"), "{build}");
    assert!(text.contains("processed     3\ndead letters  3, 2 of them open\n"), "{text}");
    assert!(text.contains("rate          100.0000 %  page: 0.1 % or more\n"), "{text}");
    assert!(hour.contains(r#""processed":3,"dead_letters":3"#), "{hour}");
    assert!(instant.contains(r#""processed":0,"dead_letters":0,"open":0,"level":"ok""#), "{instant}");
}

#[test]
fn a_letter_that_is_named_and_not_there_is_said() {
    let node = Node::start();
    let id = "geofence-triggers/0/99";

    assert_fails(&node.dev.ask(&["dlq", "repair", id, "--set", "lat=1"]), &["no dead letter `geofence-triggers/0/99`"]);
    assert_fails(&node.dev.ask(&["dlq", "discard", id, "--yes"]), &["there is no letter `geofence-triggers/0/99`"]);
    assert_fails(&node.dev.ask(&["parked", "show", id]), &["no parked letter", "\nhint: `eddy parked list`"]);
}
