//! Letters: how the envelope of a record is begun, how failures are noted in it, and how it becomes a dead letter.
//!
//! The contract crate owns the bytes of an envelope and keeps them within bounds; here is what the fields mean. Whether
//! a record becomes a dead letter is decided by [`engine`](crate::engine).

use eddy_contract::{
    Class, Code, Envelope, Failure, Header, RecordId, SideEffect, Verdict,
    envelope::{Origin, Payload},
    signature,
};
use serde::{Deserialize, Serialize};

use crate::{effect::Note, names::TopicName, outcome::Refusal, time::Timestamp};

/// Why a record is a dead letter: the part of its reason before the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The same bytes can never succeed.
    Terminal,
    /// They might have, but all retries are used up.
    Exhausted,
    /// Nobody knows, so it was not retried.
    Unclassified,
}

impl End {
    /// Every end.
    pub const ALL: [Self; 3] = [Self::Terminal, Self::Exhausted, Self::Unclassified];

    /// The word in a reason.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Exhausted => "exhausted",
            Self::Unclassified => "unclassified",
        }
    }
}

/// The envelope of a record of the source, as `validate` saw it.
pub(crate) fn of_trigger(
    id: &RecordId,
    header: &Header<'_>,
    original: &[u8],
    module: &TopicName,
    build: &str,
) -> Envelope {
    let origin = Origin {
        topic: id.topic.clone(),
        partition: id.partition,
        offset: id.offset,
        timestamp_ms: (header.timestamp_ms >= 0).then_some(header.timestamp_ms),
        part: id.part,
    };
    let mut envelope = Envelope::new(origin, original.to_vec());
    envelope.idempotency_key = present(header.idempotency_key);
    envelope.correlation_id = present(header.correlation_id);
    envelope.schema_version = present(header.schema_version);
    envelope.traceparent = present(header.traceparent);
    envelope.device = present(header.device);
    envelope.fence = present(header.fence);
    envelope.transition = present(header.transition);
    envelope.event_time_ns = (header.event_time_ns != 0).then_some(header.event_time_ns);
    envelope.modules.insert(module.to_string(), build.to_owned());
    envelope
}

/// The envelope of bytes that could not be read where they were found; that place stands for their origin.
pub(crate) fn of_bytes(id: &RecordId, timestamp_ms: Option<i64>, bytes: &[u8]) -> Envelope {
    let RecordId { topic, partition, offset, part } = id.clone();
    Envelope::new(Origin { topic, partition, offset, timestamp_ms, part }, bytes.to_vec())
}

/// A delivery that the downstream did not acknowledge. Its class is unknown until `classify` has judged it.
pub(crate) fn failed_delivery(refusal: Refusal, at: Timestamp) -> Failure {
    Failure {
        at: at.0,
        stage: "deliver".into(),
        class: None,
        code: refusal.code,
        signature: signature("deliver", None, refusal.status, &refusal.message),
        status: refusal.status,
        message: refusal.message,
        truncated: false,
        message_sha256: None,
        retry_after_ms: refusal.retry_after_ms,
        effect: refusal.effect,
        location: refusal.location,
    }
}

/// Something that eddy itself found wrong with a record.
pub(crate) fn finding(stage: &str, class: Class, code: Code, message: &str, at: Timestamp) -> Failure {
    Failure {
        at: at.0,
        stage: stage.into(),
        class: Some(class),
        code,
        signature: signature(stage, Some(class), None, message),
        status: None,
        message: message.to_owned(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: None,
        effect: SideEffect::None,
        location: None,
    }
}

/// The class that a verdict gives a failure.
pub(crate) const fn class_of(verdict: Verdict) -> Class {
    match verdict {
        Verdict::Terminal => Class::Terminal,
        Verdict::Transient => Class::Transient,
        // A module that calls a failure valid, or says what no module says yet, is not trusted with a retry.
        Verdict::Valid | Verdict::Ignored | Verdict::Unclassified => Class::Unclassified,
    }
}

/// Closes a letter: the value for the dead-letter topic, and what is said once that is acknowledged.
pub(crate) fn bury(mut envelope: Envelope, end: End, code: Code, now: Timestamp) -> (Vec<u8>, Note) {
    let reason = format!("{}:{code}", end.as_str());
    envelope.due_ms = None;
    envelope.reason = Some(reason.clone());
    envelope.quarantined_at_ns = Some(now.0.saturating_mul(1_000_000));
    let note = Note::DeadLettered { id: envelope.id.clone(), code, reason };
    (envelope.encode(), note)
}

/// Whether the payload had to be left out because it would not fit the broker's largest request.
pub(crate) const fn is_elided(envelope: &Envelope) -> bool {
    envelope.payload_elided.is_some()
}

/// The payload, moved out of the envelope.
pub(crate) fn take_payload(envelope: &mut Envelope) -> Option<Vec<u8>> {
    envelope.payload_b64.take().map(|Payload(bytes)| bytes)
}

fn present(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
