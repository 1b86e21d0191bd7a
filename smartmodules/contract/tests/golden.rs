//! Golden files: bytes that a released version wrote, decoded for ever.
//!
//! A file is never changed once its version is released; a new version adds files.

use eddy_contract::envelope::{Envelope, Resolution};
use eddy_contract::{Class, Code, SideEffect};

const FAILED_V1: &str = include_str!("golden/v1_failed.json");
const DEAD_LETTER_V1: &str = include_str!("golden/v1_dead_letter.json");
const ELIDED_V1: &str = include_str!("golden/v1_elided.json");
const RESOLUTION_V1: &str = include_str!("golden/v1_resolution.json");
const UNPARKED_V1: &str = include_str!("golden/v1_unparked.json");
const REPAIRED_V1: &str = include_str!("golden/v1_repaired.json");
const MINIMAL_V1: &str = include_str!("golden/v1_minimal.json");

fn decoded(golden: &str) -> Envelope {
    Envelope::decode(golden.as_bytes()).expect("every version decodes")
}

#[test]
fn this_version_writes_the_golden_bytes_again() {
    for golden in [FAILED_V1, DEAD_LETTER_V1, ELIDED_V1, RESOLUTION_V1, UNPARKED_V1, REPAIRED_V1, MINIMAL_V1] {
        let encoded = String::from_utf8(decoded(golden).encode()).unwrap();

        assert_eq!(encoded, golden.trim_end());
    }
}

#[test]
fn a_failed_delivery_of_version_1_decodes() {
    let envelope = decoded(FAILED_V1);

    assert_eq!(envelope.id.to_string(), "geofence-triggers/3/4711");
    assert_eq!(envelope.payload(), Some(&b"{\"device_id\":\"truck-7\"}"[..]));
    assert_eq!(envelope.attempts.delivery, 1);
    assert_eq!(envelope.failures[0].class, None);
    assert_eq!(envelope.failures[0].code, Code::Throttled);
    assert_eq!(envelope.failures[0].retry_after_ms, Some(2000));
    assert_eq!(envelope.failures[0].effect, SideEffect::Refused);
}

#[test]
fn a_dead_letter_of_version_1_decodes() {
    let envelope = decoded(DEAD_LETTER_V1);

    assert_eq!(envelope.reason.as_deref(), Some("exhausted:unavailable"));
    assert_eq!(envelope.failures.len(), 4);
    assert_eq!(envelope.failures_omitted, 2);
    assert!(envelope.failures[3].truncated);
    assert_eq!(envelope.failures[3].class, Some(Class::Transient));
    assert_eq!(envelope.modules.len(), 2);
    assert_eq!((envelope.revision, envelope.attempts.replay), (1, 2));
    assert_eq!(envelope.event_time_ns, Some(1_796_000_000_000_000_000));
}

#[test]
fn an_elided_payload_of_version_1_decodes() {
    let envelope = decoded(ELIDED_V1);

    assert_eq!(envelope.payload(), None);
    assert_eq!(envelope.payload_elided.map(|elided| elided.size_bytes), Some(33_000_000));
}

#[test]
fn a_resolution_of_version_1_decodes() {
    let envelope = decoded(RESOLUTION_V1);

    assert_eq!(envelope.resolution, Some(Resolution::Discarded));
    assert_eq!(envelope.actor.as_deref(), Some("maria"));
}

#[test]
fn a_return_from_the_parked_of_version_1_decodes() {
    let envelope = decoded(UNPARKED_V1);

    assert_eq!(envelope.resolution, Some(Resolution::Unparked));
    assert_eq!(envelope.note.as_deref(), Some("the depot is known now"));
}

#[test]
fn a_repaired_dead_letter_of_version_1_decodes_with_what_the_producer_sent() {
    let envelope = decoded(REPAIRED_V1);

    assert_eq!(envelope.revision, 1);
    assert_eq!(envelope.payload(), Some(&b"{\"device_id\":\"truck-7\"}"[..]));
    assert_eq!(envelope.original_b64.map(|original| original.0), Some(b"{\"device_id\":7}".to_vec()));
}

#[test]
fn the_smallest_envelope_of_version_1_decodes() {
    let envelope = decoded(MINIMAL_V1);

    assert_eq!(envelope.id, envelope.origin.id());
    assert!(envelope.failures.is_empty());
}
