//! What is no trigger costs one dead letter: its bytes and its key intact, its neighbours delivered.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{
    downstream::Reply,
    harness::{Road, trigger, trigger_text},
};

/// A valid trigger with one piece of its text exchanged.
fn spoilt(piece: &str, by: &str) -> Bytes {
    let text = trigger_text("spoilt");
    assert!(text.contains(piece), "{text}");
    text.replacen(piece, by, 1).into()
}

fn with_member(member: &str) -> Bytes {
    spoilt("{\"device_id\"", &format!("{{{member},\"device_id\""))
}

/// Everything that is no trigger, with the code of its dead letter.
fn bad_values() -> Vec<(Bytes, &'static str)> {
    let deep = format!("\"deep\":{}{}", "[".repeat(65), "]".repeat(65));
    let long = format!("\"note\":\"{}\"", "x".repeat(900_000));
    let event_time = "\"event_time_ns\":";
    vec![
        (Bytes::from_static(b"device=truck-1 transition=ENTER"), "invalid_json"),
        (Bytes::from_static(b"{\"device_id\":"), "invalid_json"),
        (spoilt("47.37", "NaN"), "invalid_json"),
        (spoilt("\"lat\":47.37,\"lon\":8.54", "\"lat\":91.0,\"lon\":144.96"), "latitude_out_of_range"),
        (spoilt("8.54", "181.0"), "longitude_out_of_range"),
        (spoilt("\"lat\":47.37,\"lon\":8.54", "\"lat\":151.2,\"lon\":-33.8"), "axes_swapped"),
        (spoilt("\"fence_id\"", "\"fence\""), "missing_field"),
        (spoilt("47.37", "\"47.37\""), "wrong_type"),
        (spoilt("\"spoilt\"", "4711"), "wrong_type"),
        (spoilt("ENTER", "LEAVE"), "unknown_transition"),
        (spoilt(event_time, "\"event_time_ns\":-"), "implausible_time"),
        (spoilt("000000,\"lat", ",\"lat"), "implausible_time"),
        (Bytes::new(), "empty_payload"),
        (Bytes::from_static(b"null"), "empty_payload"),
        (Bytes::from_static(&[0xFF; 64]), "not_utf8"),
        (with_member(&long), "too_large"),
        (with_member(&deep), "too_deep"),
        (with_member("\"fence_id\":\"elsewhere\""), "duplicate_key"),
        (spoilt("\"spoilt\"", "\"truck-1\\ntruck-2\""), "invalid_field"),
        (with_member("\"idempotency_key\":\"one\\ntwo\""), "invalid_idempotency_key"),
        (Bytes::from_static(b"[{}]"), "not_an_object"),
    ]
}

/// Record keys that are easily mistaken for another, or mangled.
fn awkward_keys() -> [Option<Bytes>; 5] {
    let key = |bytes: &'static [u8]| Some(Bytes::from_static(bytes));
    [None, key(b""), key(b"line\nbreak"), key(b"\xFF\x00"), key(&[b'k'; 1024])]
}

/// C18, C19, C21, C26, C35: the record is judged and not its batch; nothing of it is lost, and null is not empty.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_no_trigger_is_one_dead_letter_with_its_bytes_and_its_key_and_its_neighbours_are_delivered() {
    let mut road = Road::start("source.partitions = 2", |_: &[u8]| 200).await;
    let keys = awkward_keys();
    let mut records = Vec::new();
    let mut expected = Vec::new();
    for (number, (value, code)) in bad_values().into_iter().enumerate() {
        let partition = u32::from(number % 2 == 1);
        let key = keys[number % keys.len()].clone();
        records.push((partition, (key.clone(), value.clone())));
        records.push((partition, trigger(&format!("neighbour-{number}"))));
        expected.push((partition, key, value, format!("terminal:{code}")));
    }
    let neighbours = expected.len();

    let ids = road.produce(records).await;
    road.until_resolved().await;

    let mut letters: BTreeMap<_, _> =
        road.dead_letters().await.into_iter().map(|letter| (letter.envelope.id.clone(), letter)).collect();
    assert_eq!(letters.len(), expected.len());
    let found: Vec<_> = ids
        .iter()
        .step_by(2)
        .map(|id| {
            let letter = letters.remove(id).unwrap_or_else(|| panic!("{id} has no dead letter"));
            let payload = Bytes::copy_from_slice(letter.envelope.payload().unwrap());
            (letter.partition, letter.key.clone(), payload, letter.reason().to_owned())
        })
        .collect();
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(found == expected, "{:?} instead of {:?}", found.3, expected.3);
    }
    road.assert_taken_once_each(neighbours);
    let report = road.audit().await;
    assert!(report.conserved, "{report:?}");
    assert_eq!(report.copies, 0);
    road.finish().await;
}

/// C18: a key is the same bytes after a failed delivery, too, in the same partition.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_byte_identical_on_the_dead_letter_of_a_trigger_that_was_refused() {
    let mut road = Road::start("source.partitions = 2", |_: &[u8]| 422).await;
    let triggers = awkward_keys().map(|key| (1, (key, trigger_text("refused").into())));

    let ids = road.produce(triggers.clone()).await;
    road.until_resolved().await;

    for (id, (partition, (key, value))) in ids.iter().zip(triggers) {
        let letter = road.dead_letter(id).await;
        assert_eq!((letter.partition, letter.key.as_ref()), (partition, key.as_ref()));
        assert_eq!(letter.envelope.payload(), Some(&value[..]));
    }
    road.finish().await;
}

/// C16: the error text is the downstream's, and does not make the dead letter unwritable.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_body_of_a_megabyte_becomes_one_dead_letter_with_a_truncated_message() {
    let body = "🦀".repeat(1 << 18);
    let mut road = Road::start("", move |_: &[u8]| Reply::from(400).body(body.clone())).await;

    let id = road.triggers(["refused"]).await.remove(0);
    road.until_resolved().await;

    let dead = road.dead_letter(&id).await;
    let failure = &dead.envelope.failures[0];
    assert!(failure.truncated && failure.message_sha256.is_some(), "{failure:?}");
    assert!(failure.message.starts_with('🦀') && failure.message.len() <= 1024, "{failure:?}");
    assert!(!failure.message.contains(char::REPLACEMENT_CHARACTER), "cut inside a character: {failure:?}");
    road.finish().await;
}
