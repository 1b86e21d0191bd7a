//! Repairs: a new revision with other bytes, checked before it is written.

use super::*;
use crate::{eddy, places::assert_fails};

const ID: &str = "geofence-triggers/1/1";

/// A letter whose latitude is out of range.
fn broken() -> Envelope {
    let payload = GOOD.replace("52.50", "152.50");
    Envelope { payload_b64: Envelope::new(refused(1).origin, payload.into_bytes()).payload_b64, ..refused(1) }
}

#[test]
fn a_repaired_letter_is_a_new_revision_that_keeps_what_the_producer_sent() {
    let node = Node::start();
    node.put(DLQ, &[broken()]);

    let (_, said) = node.ask(&["dlq", "repair", ID, "--set", "lat=52.5", "--actor", "maria", "--note", "INC-7"]);
    let (page, _) = node.ask(&["dlq", "show", ID]);

    let log = node.log(DLQ);
    let repaired = &log[1];
    let expected = GOOD.replace("52.50", "52.5");
    assert_eq!(said, format!("{ID} is at revision 1 now, by maria\n"));
    assert_eq!((repaired.partition, &repaired.key), (log[0].partition, &log[0].key));
    assert_eq!(repaired.envelope.payload(), Some(expected.as_bytes()), "only the value changed");
    assert_eq!(repaired.envelope.original_b64, broken().payload_b64);
    assert_eq!(repaired.envelope.note.as_deref(), Some("INC-7"));
    assert!(page.contains("revision     1\nactor        maria\nnote         INC-7\n"), "{page}");
    assert!(page.contains("\nbefore it was repaired, 122 bytes\n"), "{page}");
    assert_eq!(node.open("dlq"), [ID]);
}

#[test]
fn a_repair_that_would_be_a_dead_letter_again_is_refused_unless_forced() {
    let node = Node::start();
    node.put(DLQ, &[broken()]);
    let repair = ["dlq", "repair", ID, "--set", "lat=-200"];

    let refused = node.dev.ask(&repair);
    let (json, _) = node.ask(&[&repair[..], &["--force", "--json"]].concat());

    assert_fails(&refused, &["cannot repair", "latitude_out_of_range", "\nhint: --force takes it as it is"]);
    assert_eq!(Envelope::decode(json.trim().as_bytes()).unwrap().revision, 1);
    assert_eq!(node.log(DLQ).len(), 2, "what was refused is not written");
}

#[test]
fn a_payload_that_is_no_json_is_repaired_in_an_editor() {
    let node = Node::start();
    let oops = GOOD.replace('{', "");
    node.put(DLQ, &[Envelope { payload_b64: Envelope::new(refused(1).origin, oops.into()).payload_b64, ..refused(1) }]);
    let edit = |editor: &str| {
        let args = ["dlq", "repair", ID, "--edit", "--cluster", &node.dev.address];
        eddy().args(args).env("EDITOR", editor).env_remove("VISUAL").output().unwrap()
    };

    let set = node.dev.ask(&["dlq", "repair", ID, "--set", "lat=1"]);
    let unchanged = edit("true");
    let failed = edit("false");
    let edited = edit("sed -i -e '1s/^/{/' -e '$a\\'");

    assert_fails(&set, &["cannot set `lat`: the payload is no JSON", "\nhint: --edit"]);
    assert_fails(&unchanged, &["nothing would change"]);
    assert_fails(&failed, &["`false` ended with", "nothing was changed"]);
    assert!(edited.status.success(), "{}", stderr(&edited));
    assert_eq!(node.log(DLQ)[1].envelope.payload(), Some(GOOD.as_bytes()), "without the editor's line break");
    assert!(node.log(DLQ)[1].envelope.actor.as_deref().unwrap().contains('@'));
}

#[test]
fn a_closed_letter_is_not_repaired() {
    let node = Node::start();
    node.put(DLQ, &[broken()]);
    node.ask(&["dlq", "discard", ID, "--yes"]);

    let output = node.dev.ask(&["dlq", "repair", ID, "--set", "lat=1"]);

    assert_fails(&output, &["cannot repair", "it is closed: discarded", "\nhint: only open letters"]);
}
