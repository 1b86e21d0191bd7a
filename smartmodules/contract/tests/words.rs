//! Ids, codes, idempotency keys and signatures: small words that must never change their meaning.

use std::collections::BTreeSet;

use eddy_contract::idempotency::{DEFAULT_BUCKET_NS, KEY_BYTES_MAX, derive, is_valid};
use eddy_contract::{Class, Code, RecordId, Verdict, signature};
use proptest::prelude::*;

#[test]
fn an_id_is_topic_partition_offset_and_a_part_only_when_there_is_one() {
    let first = RecordId { topic: "geofence-triggers".into(), partition: 3, offset: 42, part: 0 };
    let second = RecordId { part: 1, ..first.clone() };

    assert_eq!(first.to_string(), "geofence-triggers/3/42");
    assert_eq!(second.to_string(), "geofence-triggers/3/42/1");
    assert_eq!("geofence-triggers/3/42".parse(), Ok(first));
    assert_eq!("geofence-triggers/3/42/1".parse(), Ok(second));
}

#[test]
fn a_text_that_is_no_id_is_refused_by_name() {
    for text in ["", "t", "t/0", "/0/1", "t/x/1", "t/0/x", "t/0/-1", "t/0/1/0", "t/0/1/x", "t/0/1/1/1", "t/-1/1"] {
        let error = text.parse::<RecordId>().unwrap_err();

        assert_eq!(error.to_string(), format!("`{text}` is not an id of the form topic/partition/offset"));
    }
}

#[test]
fn every_code_has_its_own_word_and_number_and_both_lead_back_to_it() {
    let words: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();

    assert_eq!(words.len(), Code::ALL.len());
    for code in Code::ALL {
        assert_eq!(Code::from_number(code.number()), Some(*code));
        assert_eq!(code.as_str().parse(), Ok(*code));
        assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{code}\""));
    }
}

#[test]
fn the_numbers_of_codes_and_verdicts_are_those_on_the_wire() {
    let codes: Vec<_> = Code::ALL.iter().map(|code| (code.number(), code.as_str())).collect();
    let verdicts: Vec<_> = Verdict::ALL.iter().map(|verdict| (verdict.number(), verdict.as_str())).collect();

    assert_eq!(
        codes,
        [
            (0, "ok"),
            (1, "empty_payload"),
            (2, "not_utf8"),
            (3, "invalid_json"),
            (4, "not_an_object"),
            (5, "too_deep"),
            (6, "duplicate_key"),
            (7, "too_large"),
            (8, "missing_field"),
            (9, "wrong_type"),
            (10, "invalid_field"),
            (11, "unknown_transition"),
            (12, "latitude_out_of_range"),
            (13, "longitude_out_of_range"),
            (14, "axes_swapped"),
            (15, "implausible_time"),
            (16, "invalid_idempotency_key"),
            (17, "unknown_fence"),
            (18, "unknown_schema_version"),
            (40, "key_conflict"),
            (41, "envelope_invalid"),
            (42, "module"),
            (43, "internal"),
            (60, "rejected"),
            (61, "rejected_other"),
            (62, "throttled"),
            (63, "try_again"),
            (64, "unavailable"),
            (65, "timeout"),
            (66, "refused"),
            (67, "reset"),
            (68, "dns"),
            (69, "unauthorized"),
            (70, "redirect"),
            (71, "tls"),
            (72, "blocked_target"),
            (73, "gone"),
            (74, "invalid_answer"),
        ]
    );
    assert_eq!(verdicts, [(1, "valid"), (2, "terminal"), (3, "transient"), (4, "unclassified"), (5, "ignored")]);
}

#[test]
fn a_word_that_is_no_code_is_refused_by_name() {
    assert_eq!("Timeout".parse::<Code>().unwrap_err().to_string(), "`Timeout` is not a code");
}

#[test]
fn faults_of_the_sink_blame_no_record() {
    let faults: Vec<_> = Code::ALL.iter().filter(|code| code.is_fault_of_sink()).map(|code| code.as_str()).collect();

    assert_eq!(faults, ["unauthorized", "redirect", "tls", "blocked_target", "gone"]);
}

#[test]
fn a_derived_key_is_the_sha256_of_the_length_prefixed_fields_and_the_bucket() {
    let key = derive("truck-7", "depot", "ENTER", 1_796_000_000_999_999_999, DEFAULT_BUCKET_NS);

    // Computed with another implementation: sha256 of be64(7) "truck-7" be64(5) "depot" be64(5) "ENTER" be64(8) be64(1796000000).
    assert_eq!(key, "18314548c6e495310298bd3dfcd531d44d16f2e0257234eaa68ccb2e2f57ca7a");
}

#[test]
fn a_derived_key_tells_fields_apart_that_would_read_the_same_when_joined() {
    let joined = derive("ab", "c", "ENTER", 0, DEFAULT_BUCKET_NS);

    assert_ne!(derive("a", "bc", "ENTER", 0, DEFAULT_BUCKET_NS), joined);
}

#[test]
fn events_of_one_bucket_share_a_derived_key_and_buckets_round_down_before_1970_too() {
    let key = |event_time_ns| derive("d", "f", "EXIT", event_time_ns, DEFAULT_BUCKET_NS);

    assert_eq!(key(5_000_000_000), key(5_999_999_999));
    assert_ne!(key(5_999_999_999), key(6_000_000_000));
    assert_ne!(key(-1), key(0));
}

#[test]
fn an_idempotency_key_is_visible_ascii_of_1_to_256_characters() {
    assert!(is_valid("~!order-7/\"quoted\""));
    assert!(is_valid(&"k".repeat(KEY_BYTES_MAX)));
    for bad in ["", " ", "a b", "a\nb", "a\0", "ä", "\u{7f}", &"k".repeat(KEY_BYTES_MAX + 1)] {
        assert!(!is_valid(bad), "{bad:?}");
    }
}

fn deliver_503(message: &str) -> String {
    signature("deliver", Some(Class::Transient), Some(503), message)
}

#[test]
fn failures_of_one_cause_share_a_signature() {
    let first = deliver_503("device truck-7 (id 6f1e0000-0000-4000-8000-000000000001) at 10.0.0.7:8080 took  1500 ms");
    let second = deliver_503("device truck-12 (id 00000000-aaaa-4000-8000-00000000ffff) at [::1] took 3.5 ms");

    assert_eq!(first, "deliver:transient:503:device # (id #) at # took # ms");
    assert_eq!(second, "deliver:transient:503:device # (id #) at [#] took # ms");
}

#[test]
fn a_signature_blanks_hexadecimal_words_and_mail_addresses_but_no_plain_words() {
    assert_eq!(
        deliver_503("request deadbeefcafe of max@example.org faded"),
        "deliver:transient:503:request # of # faded"
    );
}

#[test]
fn a_signature_leaves_out_what_is_not_known() {
    assert_eq!(signature("validate", None, None, ""), "validate:::");
}

proptest! {
    #[test]
    fn a_signature_is_bounded_as_json(message in any::<String>(), repeat in 0_usize..200) {
        let text = signature("deliver", None, Some(599), &message.repeat(repeat));

        prop_assert!(serde_json::to_string(&text).unwrap().len() <= 96 + 2);
    }

    #[test]
    fn every_id_makes_the_round_trip(topic in "[a-z0-9-]{1,63}", partition: u32, offset in 0..=i64::MAX, part: u16) {
        let id = RecordId { topic, partition, offset, part };

        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn no_text_makes_the_id_parser_panic(text in any::<String>()) {
        let _parsed_or_refused = text.parse::<RecordId>();
    }
}
