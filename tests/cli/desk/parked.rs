//! The parked letters: listed with an alarm, and taken back.

use eddy_contract::envelope::Resolution;

use super::*;
use crate::{places::ask_until, run};

const ID: &str = "geofence-triggers/1/1";

/// A letter as a replay parks it: closed among the dead ones, and here with its attempts.
fn park(node: &Node, letter: &Envelope) {
    let closed = Envelope { resolution: Some(Resolution::Parked), payload_b64: None, ..letter.clone() };
    let parked =
        Envelope { attempts: Attempts { replay: 3, ..letter.attempts }, job: Some("job-1".into()), ..letter.clone() };
    node.put(PARKED, &[parked]);
    node.put(DLQ, &[closed]);
}

#[test]
fn parked_letters_are_listed_with_a_warning_when_they_have_waited_for_too_long() {
    let node = Node::start();
    let now_ms = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let old = Envelope { quarantined_at_ns: Some((now_ms - 8 * 86_400_000) * 1_000_000), ..refused(1) };
    node.put(PARKED, &[old, Envelope { quarantined_at_ns: Some(now_ms * 1_000_000), ..refused(2) }]);

    let (table, warned) = node.ask(&["parked", "list"]);
    let (json, silent) = node.ask(&["parked", "list", "--age-alarm", "9d", "--json", "--device", "van-17"]);

    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(warned.starts_with("warning: 1 parked letter dead for more than 7d, the oldest since 20"), "{warned}");
    assert_eq!((ids(&json).len(), silent.as_str()), (2, ""));
    assert!(node.ask(&["parked", "show", ID]).0.starts_with("id           geofence-triggers/1/1\n"));
}

#[test]
fn an_unparked_letter_is_open_among_the_dead_ones_and_closed_among_the_parked() {
    let node = Node::start();
    node.put(DLQ, &[refused(1)]);
    park(&node, &refused(1));
    assert_eq!(node.open("dlq"), [""; 0]);

    let (json, said) = node.ask(&["parked", "unpark", ID, "--actor", "maria", "--json"]);

    let back = Envelope::decode(json.trim().as_bytes()).unwrap();
    assert_eq!(said, "1 parked letter back among the dead letters, by maria\n");
    assert_eq!((back.attempts.replay, back.payload()), (0, Some(GOOD.as_bytes())));
    assert_eq!(node.open("dlq"), [ID]);
    assert_eq!(node.open("parked"), [""; 0]);
    let parked = node.log(PARKED);
    assert_eq!(parked[1].envelope.resolution, Some(Resolution::Unparked));
    assert_eq!((parked[1].partition, &parked[1].key), (parked[0].partition, &parked[0].key));
}

#[test]
fn a_letter_that_went_to_the_parked_and_back_is_accounted_for_once() {
    let node = Node::start();
    let input = node.folder.path().join("input");
    std::fs::write(&input, "{oops\n").unwrap();
    node.ask(&["produce", input.to_str().unwrap()]);
    let listed = ask_until(|| node.dev.ask(&["dlq", "export"]), |json| json.contains("invalid_json"));
    park(&node, &Envelope::decode(listed.trim().as_bytes()).unwrap());

    node.ask(&["parked", "unpark", "--all"]);

    let Node { dev, folder, .. } = node;
    let (code, said) = dev.stop();
    assert_eq!(code, Some(0), "{said}");
    std::fs::write(&input, "{oops\n").unwrap();
    let audited =
        ["dev", "--until-resolved", "--set", "source.partitions=2", "--data-dir", folder.path().to_str().unwrap()];
    let output = run(&[&audited[..], &["--input", input.to_str().unwrap()]].concat());
    let report = stdout(&output);
    assert!(report.contains("dead-lettered                     2\n"), "{report}{}", stderr(&output));
    assert!(report.contains("\ncopies                            0"), "{report}");
    assert!(report.ends_with("conserved: yes\n"), "{report}");
}
