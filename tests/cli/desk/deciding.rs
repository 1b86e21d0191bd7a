//! Discarding and expiring: decisions that are recorded, counted before, and never deletions.

use eddy_contract::envelope::Resolution;

use super::*;
use crate::places::assert_fails;

#[test]
fn a_discarded_letter_has_a_record_of_its_key_and_partition_that_closes_it() {
    let node = Node::start();
    let (null, empty) = (Envelope { device: None, ..refused(1) }, refused(2));
    node.put_with_key(DLQ, None, &null);
    node.put_with_key(DLQ, Some(Bytes::new()), &empty);
    node.put(DLQ, &[exhausted(3), refused(4)]);

    let (data, said) =
        node.ask(&["dlq", "discard", "--class", "terminal", "--yes", "--actor", "maria", "--note", "test"]);

    assert_eq!((data.as_str(), said.as_str()), ("", "3 dead letters discarded by maria\n"));
    assert_eq!(node.open("dlq"), ["geofence-triggers/1/3"]);
    let log = node.log(DLQ);
    let closing: Vec<_> = log.iter().filter(|record| record.envelope.resolution.is_some()).collect();
    let keys: Vec<_> = closing.iter().map(|record| (record.partition, record.key.as_deref())).collect();
    assert_eq!(keys, [(0, Some(&b""[..])), (0, Some(b"van-17")), (1, None)]);
    assert_eq!(log.len(), 7, "nothing is deleted");
    assert!(closing.iter().all(|record| record.envelope.note.as_deref() == Some("test")));
}

#[test]
fn nothing_is_discarded_without_a_yes() {
    let node = Node::start();
    node.put(DLQ, &[refused(1), refused(2)]);

    let asked = node.dev.ask(&["dlq", "discard", "--all"]);
    let (_, counted) = node.ask(&["dlq", "discard", "--all", "--dry-run"]);
    let unnamed = node.dev.ask(&["dlq", "discard", "--yes"]);

    assert_fails(&asked, &["cannot ask whether to discard 2 dead letters", "\nhint: without a terminal, say --yes"]);
    assert_eq!(counted, "would discard 2 dead letters\n");
    assert_fails(&unnamed, &["no letters are named", "--all"]);
    assert_eq!(node.log(DLQ).len(), 2);
}

#[test]
fn a_letter_is_named_by_id_and_closed_once() {
    let node = Node::start();
    node.put(DLQ, &[refused(1), refused(2)]);
    let discard = ["dlq", "discard", "geofence-triggers/1/1", "--yes", "--json"];

    let (json, said) = node.ask(&discard);
    let again = node.dev.ask(&discard);

    let record = Envelope::decode(json.trim().as_bytes()).unwrap();
    assert_eq!((record.resolution, record.payload()), (Some(Resolution::Discarded), None));
    assert!(said.starts_with("1 dead letter discarded by "), "{said}");
    assert_fails(&again, &["letter `geofence-triggers/1/1` is closed: discarded", "\nhint: `list`"]);
    let (page, _) = node.ask(&["dlq", "show", "geofence-triggers/1/1", "--json"]);
    assert_eq!(Envelope::decode(page.trim().as_bytes()).unwrap().resolution, Some(Resolution::Discarded));
}

#[test]
fn old_letters_expire_and_young_ones_do_not() {
    let node = Node::start();
    let now_ms = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let dead_for = |offset, ms| Envelope { quarantined_at_ns: Some((now_ms - ms) * 1_000_000), ..refused(offset) };
    node.put(DLQ, &[dead_for(1, 3_600_000), dead_for(2, 7_300_000)]);

    let (json, said) = node.ask(&["dlq", "expire", "--older-than", "2h", "--yes", "--json"]);
    let (_, none) = node.ask(&["dlq", "expire", "--older-than", "2h", "--yes"]);

    assert_eq!(ids(&json), ["geofence-triggers/0/2"]);
    assert!(said.starts_with("1 dead letter expired by "), "{said}");
    assert_eq!(none, "no open dead letter is meant\n");
    assert_eq!(node.open("dlq"), ["geofence-triggers/1/1"]);
}
