//! Letters for the tests of this folder.

use eddy_contract::{Class, Code, Envelope, Failure, SideEffect, envelope::Origin};

use super::{Letter, Letters};

/// The letter of offset `at_ms` of `source/0`, dead since `at_ms`.
pub(super) fn letter(at_ms: i64, signature: &str, reason: &str) -> Letter {
    let origin = Origin { topic: "source".into(), partition: 0, offset: at_ms, timestamp_ms: Some(at_ms), part: 0 };
    let mut envelope = Envelope::new(origin, br#"{"device_id":"van-17"}"#.to_vec());
    envelope.reason = Some(reason.to_owned());
    envelope.quarantined_at_ns = Some(at_ms * 1_000_000);
    envelope.failures.push(failure(at_ms, signature));
    Letter { partition: 0, offset: at_ms, payload_bytes: 22, envelope, resolution: None }
}

/// What a topic with these records, in one partition from offset 0 on, says.
pub(super) fn fold(records: impl IntoIterator<Item = Envelope>) -> Letters {
    let mut letters = Letters::default();
    for (offset, envelope) in (0..).zip(records) {
        letters.add(0, offset, envelope);
    }
    letters
}

fn failure(at: i64, signature: &str) -> Failure {
    Failure {
        at,
        stage: "deliver".into(),
        class: Some(Class::Terminal),
        code: Code::Rejected,
        signature: signature.to_owned(),
        status: Some(422),
        message: String::new(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: None,
        effect: SideEffect::Refused,
        location: None,
    }
}
