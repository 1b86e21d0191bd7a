//! What `classify` says of every status and every code.

use eddy_classify::{Params, judge};
use eddy_contract::envelope::{Envelope, Failure, Origin};
use eddy_contract::{Code, Header, RecordView, SideEffect, Verdict};
use proptest::prelude::*;

fn envelope(failures: &[(Code, Option<u16>)]) -> Envelope {
    let origin = Origin { topic: "triggers".into(), partition: 0, offset: 7, timestamp_ms: None, part: 0 };
    let failure = |&(code, status): &(Code, Option<u16>)| Failure {
        at: 1_796_000_000_000,
        stage: "deliver".into(),
        class: None,
        code,
        signature: String::new(),
        status,
        message: String::new(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: None,
        effect: SideEffect::Refused,
        location: None,
    };
    Envelope { failures: failures.iter().map(failure).collect(), ..Envelope::new(origin, b"{}".to_vec()) }
}

/// Verdict, code and detail; whatever they are, the record comes through untouched.
fn judged_with(value: &[u8], params: &Params) -> (Verdict, Code, String) {
    let mut output = Vec::new();
    judge(RecordView { key: None, value, offset: 3, timestamp_ms: 1000 }, params, &mut output);
    let (header, original) = Header::decode(&output).expect("every output starts with a header");
    assert_eq!(original, value);
    assert_eq!((header.offset, header.timestamp_ms), (3, 1000));
    (header.verdict, header.code, header.detail.to_owned())
}

fn judged(code: Code, status: Option<u16>) -> (Verdict, Code, String) {
    judged_with(&envelope(&[(code, status)]).encode(), &Params::default())
}

fn of_status(status: u16) -> Verdict {
    judged(Code::RejectedOther, Some(status)).0
}

#[test]
fn every_status_has_its_place_in_the_table() {
    let expected = |status: u16| match status {
        400 | 413 | 415 | 422 => Verdict::Terminal,
        408 | 409 | 425 | 429 => Verdict::Transient,
        401 | 403 | 407 | 410 | 300..=399 => Verdict::Transient,
        501 | 505 => Verdict::Unclassified,
        500..=599 => Verdict::Transient,
        _ => Verdict::Unclassified,
    };

    for status in 100..=599 {
        assert_eq!(of_status(status), expected(status), "{status}");
    }
}

#[test]
fn every_code_without_a_status_has_its_place_in_the_table() {
    let words = |verdict| {
        let of_verdict = |code: &&Code| judged(**code, None).0 == verdict;
        Code::ALL.iter().filter(of_verdict).map(|code| code.as_str()).collect::<Vec<_>>()
    };

    assert_eq!(words(Verdict::Unclassified), ["ok", "module", "internal", "rejected_other", "invalid_answer"]);
    assert_eq!(
        words(Verdict::Transient),
        [
            "throttled",
            "try_again",
            "unavailable",
            "timeout",
            "refused",
            "reset",
            "dns",
            "unauthorized",
            "redirect",
            "tls",
            "blocked_target",
            "gone"
        ]
    );
    assert_eq!(words(Verdict::Terminal).len(), Code::ALL.len() - 5 - 12);
}

#[test]
fn no_fault_of_the_sink_condemns_a_record() {
    for code in Code::ALL.iter().filter(|code| code.is_fault_of_sink()) {
        assert_eq!(judged(*code, None).0, Verdict::Transient, "{code}");
    }
}

#[test]
fn a_status_that_says_nothing_leaves_the_decision_to_the_code() {
    let broken_off = judged(Code::Reset, Some(200));

    assert_eq!(broken_off, (Verdict::Transient, Code::Reset, "status 200 with code reset is transient".into()));
}

#[test]
fn the_last_failure_decides() {
    let failures = [(Code::Rejected, Some(400)), (Code::Unavailable, Some(503))];

    let judged = judged_with(&envelope(&failures).encode(), &Params::default());

    assert_eq!(judged, (Verdict::Transient, Code::Unavailable, "status 503 is transient".into()));
}

#[test]
fn the_operators_lists_come_before_the_table() {
    let params = Params::parse([("transient", "404, 400"), ("terminal", "503")]).unwrap();
    let of = |status| judged_with(&envelope(&[(Code::RejectedOther, Some(status))]).encode(), &params);

    assert_eq!(of(404), (Verdict::Transient, Code::RejectedOther, "status 404 is set to transient".into()));
    assert_eq!(of(400).0, Verdict::Transient);
    assert_eq!(of(503).0, Verdict::Terminal);
    assert_eq!(of(502).0, Verdict::Transient);
}

#[test]
fn a_record_that_is_no_envelope_is_terminal() {
    for value in [&b""[..], b"{}", b"null", br#"{"device_id":"d1"}"#, b"\xff", &[b'['; 100_000]] {
        let (verdict, code, detail) = judged_with(value, &Params::default());

        assert_eq!((verdict, code), (Verdict::Terminal, Code::EnvelopeInvalid));
        assert!(detail.starts_with("not an envelope: "), "{detail}");
    }
}

#[test]
fn an_envelope_without_a_failure_is_terminal() {
    let judged = judged_with(&envelope(&[]).encode(), &Params::default());

    assert_eq!(judged, (Verdict::Terminal, Code::EnvelopeInvalid, "the envelope holds no failure".into()));
}

#[test]
fn the_header_says_what_the_envelope_knows_of_its_trigger() {
    let mut envelope = envelope(&[(Code::Timeout, None)]);
    envelope.idempotency_key = Some("k-1".into());
    envelope.device = Some("truck-7".into());
    envelope.event_time_ns = Some(5);
    let value = envelope.encode();
    let mut output = Vec::new();

    judge(RecordView { key: None, value: &value, offset: 3, timestamp_ms: -1 }, &Params::default(), &mut output);

    let (header, _) = Header::decode(&output).unwrap();
    assert_eq!((header.idempotency_key, header.device, header.event_time_ns), ("k-1", "truck-7", 5));
}

#[test]
fn a_parameter_that_makes_no_sense_is_refused_by_name() {
    let refused =
        |params: &[(&'static str, &'static str)]| Params::parse(params.iter().copied()).unwrap_err().to_string();

    assert_eq!(refused(&[("retry", "404")]), "parameter `retry` is not known");
    assert_eq!(
        refused(&[("transient", "404,many")]),
        "parameter `transient` is `many`, not a list of statuses from 100 to 599"
    );
    assert_eq!(
        refused(&[("terminal", "600")]),
        "parameter `terminal` is `600`, not a list of statuses from 100 to 599"
    );
    assert_eq!(refused(&[("terminal", "404"), ("transient", "404")]), "status 404 stands in both lists");
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail(value in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(judged_with(&value, &Params::default()).0, Verdict::Terminal);
    }
}
