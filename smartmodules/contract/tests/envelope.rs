//! The envelope: readable by every later version, bounded whatever went into it.

use eddy_contract::envelope::{
    ENCODED_BYTES_MAX, Envelope, FAILURES_MAX, Failure, MESSAGE_BYTES_MAX, OVERHEAD_BYTES_MAX, Origin, Payload,
    Resolution,
};
use eddy_contract::idempotency::sha256_hex;
use eddy_contract::{Class, Code, SideEffect, signature};
use proptest::prelude::*;

const TOPIC_BYTES_MAX: usize = 63;

fn origin() -> Origin {
    Origin {
        topic: "geofence-triggers".into(),
        partition: 3,
        offset: 4711,
        timestamp_ms: Some(1_796_000_000_123),
        part: 0,
    }
}

fn failure(message: &str) -> Failure {
    Failure {
        at: 1_796_000_001_000,
        stage: "deliver".into(),
        class: Some(Class::Transient),
        code: Code::Unavailable,
        signature: signature("deliver", Some(Class::Transient), Some(503), message),
        status: Some(503),
        message: message.into(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: Some(1500),
        effect: SideEffect::Refused,
        location: None,
    }
}

fn envelope_with(messages: &[&str]) -> Envelope {
    Envelope {
        failures: messages.iter().map(|message| failure(message)).collect(),
        ..Envelope::new(origin(), b"\x00\xff bytes".to_vec())
    }
}

fn round_trip(envelope: &Envelope) -> Envelope {
    Envelope::decode(&envelope.encode()).expect("what was encoded decodes")
}

#[test]
fn an_envelope_comes_back_as_it_was_written() {
    let written = envelope_with(&["busy"]);

    assert_eq!(round_trip(&written), written);
}

#[test]
fn the_payload_is_standard_base64_so_that_jq_and_base64_give_the_bytes_back() {
    let json = String::from_utf8(envelope_with(&[]).encode()).unwrap();

    assert!(json.contains(r#""payload_b64":"AP8gYnl0ZXM=""#), "{json}");
}

#[test]
fn what_is_empty_is_absent() {
    let json = String::from_utf8(Envelope::new(origin(), vec![]).encode()).unwrap();

    let expected = concat!(
        r#"{"v":1,"id":"geofence-triggers/3/4711","#,
        r#""origin":{"topic":"geofence-triggers","partition":3,"offset":4711,"timestamp_ms":1796000000123},"#,
        r#""payload_b64":"","attempts":{"delivery":0}}"#
    );
    assert_eq!(json, expected);
}

#[test]
fn an_envelope_of_a_later_version_decodes_as_long_as_its_known_fields_do() {
    let later = br#"{"v":7,"id":"t/0/1","origin":{"topic":"t","partition":0,"offset":1,"shard":"x"},
        "attempts":{"delivery":2,"shadow":1},"colour":{"deep":["new"]}}"#;

    let envelope = Envelope::decode(later).unwrap();

    assert_eq!(envelope.v, 7);
    assert_eq!(envelope.attempts.delivery, 2);
    assert_eq!(envelope.payload(), None);
}

#[test]
fn bytes_that_are_no_envelope_are_an_error_that_says_so() {
    for bytes in [&b""[..], b"{}", b"null", b"[]", b"\xff", br#"{"v":1,"id":"nonsense","origin":{}}"#, &[b'['; 200_000]]
    {
        let error = Envelope::decode(bytes).unwrap_err();

        assert!(error.to_string().starts_with("not an envelope: "), "{error}");
    }
}

#[test]
fn a_long_message_is_cut_at_a_character_and_keeps_the_hash_of_the_whole() {
    let message = "ü".repeat(MESSAGE_BYTES_MAX);

    let kept = round_trip(&envelope_with(&[&message])).failures.remove(0);

    assert!(kept.truncated);
    assert_eq!(kept.message, "ü".repeat(MESSAGE_BYTES_MAX / 2));
    assert_eq!(kept.message_sha256, Some(sha256_hex(message.as_bytes())));
}

#[test]
fn a_short_message_is_neither_cut_nor_hashed() {
    let kept = round_trip(&envelope_with(&["busy"])).failures.remove(0);

    assert_eq!((kept.truncated, kept.message_sha256), (false, None));
}

#[test]
fn of_many_failures_the_first_and_the_last_three_stay_and_the_rest_are_counted() {
    let envelope = Envelope { failures_omitted: 10, ..envelope_with(&["a", "b", "c", "d", "e", "f"]) };

    let kept = round_trip(&envelope);

    let messages: Vec<_> = kept.failures.iter().map(|failure| failure.message.as_str()).collect();
    assert_eq!(messages, ["a", "d", "e", "f"]);
    assert_eq!(kept.failures_omitted, 12);
}

#[test]
fn a_payload_that_the_broker_would_refuse_gives_way_to_its_size_and_hash() {
    let payload = vec![b'x'; ENCODED_BYTES_MAX / 4 * 3];
    let hash = sha256_hex(&payload);

    let kept = round_trip(&Envelope::new(origin(), payload.clone()));

    let elided = kept.payload_elided.clone().unwrap();
    assert_eq!(kept.payload(), None);
    assert_eq!((elided.size_bytes, elided.sha256), (payload.len() as u64, hash));
}

#[test]
fn the_largest_payload_that_fits_stays_and_the_record_is_within_the_brokers_limit() {
    let payload = vec![b'x'; (ENCODED_BYTES_MAX - OVERHEAD_BYTES_MAX) / 4 * 3];

    let encoded = Envelope::new(origin(), payload.clone()).encode();

    assert!(encoded.len() <= ENCODED_BYTES_MAX);
    assert_eq!(Envelope::decode(&encoded).unwrap().payload(), Some(payload.as_slice()));
}

#[test]
fn an_original_that_does_not_fit_beside_its_repair_gives_way_to_it() {
    let large = vec![b'x'; (ENCODED_BYTES_MAX - OVERHEAD_BYTES_MAX) / 4 * 3];
    let beside = |repaired: &[u8], original: &[u8]| Envelope {
        original_b64: Some(Payload(original.to_vec())),
        ..Envelope::new(origin(), repaired.to_vec())
    };

    let kept = round_trip(&beside(b"repaired", &large[12..]));
    let too_much = round_trip(&beside(b"repaired", &large));

    assert_eq!(kept.original_b64, Some(Payload(large[12..].to_vec())));
    assert_eq!((too_much.payload(), too_much.original_b64.as_ref()), (Some(&b"repaired"[..]), None));
    assert!(kept.encode().len() <= ENCODED_BYTES_MAX);
}

/// The most expensive envelope: every field is there, and every text is longer than any cap.
fn worst(text: &str, payload: Vec<u8>) -> Envelope {
    let topic = "t".repeat(TOPIC_BYTES_MAX);
    let text = text.repeat(2000);
    let failures = vec![
        Failure {
            at: i64::MIN,
            stage: text.clone(),
            class: Some(Class::Unclassified),
            code: Code::InvalidIdempotencyKey,
            signature: text.clone(),
            status: Some(u16::MAX),
            message: text.clone(),
            truncated: false,
            message_sha256: None,
            retry_after_ms: Some(u64::MAX),
            effect: SideEffect::Refused,
            location: Some(text.clone()),
        };
        20
    ];
    let origin = Origin { topic, partition: u32::MAX, offset: i64::MAX, timestamp_ms: Some(i64::MIN), part: u16::MAX };
    let mut envelope = Envelope::new(origin, payload);
    envelope.v = u16::MAX;
    envelope.idempotency_key = Some(text.clone());
    envelope.attempts.delivery = u32::MAX;
    envelope.attempts.replay = u32::MAX;
    envelope.due_ms = Some(i64::MIN);
    envelope.failures = failures;
    envelope.failures_omitted = u32::MAX;
    envelope.quarantined_at_ns = Some(i64::MIN);
    envelope.event_time_ns = Some(i64::MIN);
    envelope.revision = u32::MAX;
    envelope.resolution = Some(Resolution::Discarded);
    envelope.modules = (0..9).map(|n| (format!("{n}{}", "m".repeat(TOPIC_BYTES_MAX - 1)), text.clone())).collect();
    for field in [
        &mut envelope.reason,
        &mut envelope.correlation_id,
        &mut envelope.schema_version,
        &mut envelope.traceparent,
        &mut envelope.sink,
        &mut envelope.job,
        &mut envelope.actor,
        &mut envelope.note,
        &mut envelope.device,
        &mut envelope.fence,
        &mut envelope.transition,
    ] {
        *field = Some(text.clone());
    }
    envelope
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_overhead_is_bounded_whatever_producers_and_downstreams_send(
        text in prop_oneof![
            prop::collection::vec(any::<char>(), 1..8).prop_map(String::from_iter),
            "[\u{0}-\u{1f}\"\\\\]{1,8}",
            Just("\u{1}".to_owned()),
            Just("\u{10ffff}".to_owned()),
        ],
        payload in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let base64 = 2 * Payload::base64_length(payload.len());
        let original_b64 = Some(Payload(payload.clone()));

        let encoded = Envelope { original_b64, ..worst(&text, payload) }.encode();

        prop_assert!(encoded.len() <= base64 + OVERHEAD_BYTES_MAX, "{} bytes", encoded.len() - base64);
        let decoded = Envelope::decode(&encoded).unwrap();
        prop_assert_eq!(decoded.failures.len(), FAILURES_MAX);
        prop_assert_eq!(decoded.encode(), encoded, "encoding again changes nothing");
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _decoded_or_refused = Envelope::decode(&bytes);
    }
}
