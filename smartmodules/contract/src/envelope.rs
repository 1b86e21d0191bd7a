//! The envelope: the value of every record in the failures, tier, dead-letter and parked topics.
//!
//! One JSON object, readable with `jq`, versioned, decoded by every later version (golden files under `tests/` prove
//! it). Absent when empty. It adds at most [`OVERHEAD_BYTES_MAX`] to the base64 of the payload, because what producers
//! and downstreams control is capped when the envelope is encoded.
//!
//! Versions: fields are only ever added. A decoder ignores fields that it does not know and fills absent ones with
//! their defaults, so every version is read, older or newer, as long as its known fields have their known types.

mod bounds;
mod payload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Class, Code, RecordId};

pub use bounds::{ENCODED_BYTES_MAX, FAILURES_MAX, MESSAGE_BYTES_MAX, NOTE_BYTES_MAX, OVERHEAD_BYTES_MAX};
pub(crate) use bounds::{SIGNATURE_BYTES_MAX, prefix};
pub use payload::Payload;

/// The version that this build writes.
pub const VERSION: u16 = 1;

/// Everything known about a record that left the straight road.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    pub v: u16,
    pub id: RecordId,
    pub origin: Origin,
    /// Absent only for records that are no triggers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The original bytes, untouched; in a repaired revision, what stands in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_b64: Option<Payload>,
    /// Stands in for the payload of a record that would not fit the broker's largest request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_elided: Option<Elided>,
    /// What the producer sent, where an operator has repaired the payload since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_b64: Option<Payload>,
    #[serde(default)]
    pub attempts: Attempts,
    /// When a record on a tier may run again, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Failures left out between the first and the last few.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures_omitted: u32,
    /// Of a dead letter: `terminal:`, `exhausted:` or `unclassified:` and the code that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined_at_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Module name to the sha256 of the build that judged this record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// The replay job that wrote this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Counts what operators did to have it tried anew, repairs and returns from the parked; 0 is what the producer sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revision: u32,
    /// Who repaired or resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Why, in the words of the actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Set on the record that closes a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// What the trigger said, for filters and tables; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_time_ns: Option<i64>,
}

/// Why bytes are not an envelope.
#[derive(Debug, thiserror::Error)]
#[error("not an envelope: {0}")]
pub struct DecodeError(#[from] serde_json::Error);

impl Envelope {
    /// The envelope of a record that was never tried: where it is from and what it holds.
    pub fn new(origin: Origin, payload: Vec<u8>) -> Self {
        Self {
            v: VERSION,
            id: origin.id(),
            origin,
            idempotency_key: None,
            payload_b64: Some(Payload(payload)),
            payload_elided: None,
            original_b64: None,
            attempts: Attempts::default(),
            due_ms: None,
            failures: Vec::new(),
            failures_omitted: 0,
            reason: None,
            quarantined_at_ns: None,
            correlation_id: None,
            schema_version: None,
            traceparent: None,
            modules: BTreeMap::new(),
            sink: None,
            job: None,
            revision: 0,
            actor: None,
            note: None,
            resolution: None,
            device: None,
            fence: None,
            transition: None,
            event_time_ns: None,
        }
    }

    /// One line of JSON, kept within the bounds of this format.
    pub fn encode(&self) -> Vec<u8> {
        bounds::encode(self.clone())
    }

    /// Reads an envelope of any version.
    ///
    /// # Errors
    /// When the bytes are not one JSON object with the fields that every version has, or a known field has an
    /// unknown type or value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// The bytes to deliver; `None` when they were elided or the record only closes a dead letter.
    pub fn payload(&self) -> Option<&[u8]> {
        self.payload_b64.as_ref().map(|payload| payload.0.as_slice())
    }
}

/// Where a record came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub topic: String,
    pub partition: u32,
    pub offset: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "is_zero_part")]
    pub part: u16,
}

impl Origin {
    /// The id that this origin gives its record.
    pub fn id(&self) -> RecordId {
        RecordId { topic: self.topic.clone(), partition: self.partition, offset: self.offset, part: self.part }
    }
}

/// How often the record was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// Deliveries from intake and tiers together.
    pub delivery: u32,
    /// Replays.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replay: u32,
}

/// Size and hash of a payload that was too large to carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elided {
    pub size_bytes: u64,
    pub sha256: String,
}

/// One failed try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Milliseconds since 1970.
    pub at: i64,
    /// `validate`, `deliver`, `classify`, `guard`, `tier`, `replay`.
    pub stage: String,
    /// Unknown until `classify` has judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    pub code: Code,
    /// Groups failures of one cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The message was cut; [`Failure::message_sha256`] is the hash of the whole.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default)]
    pub effect: SideEffect,
    /// Where a redirect pointed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// Whether the failed try may have had its effect downstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    /// Nothing was sent.
    #[default]
    None,
    /// The downstream said no.
    Refused,
    /// It was sent and no answer came.
    Unknown,
}

/// How a dead letter was closed, where it was: in the dead-letter topic or in the parked one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    Replayed,
    Parked,
    Discarded,
    Expired,
    /// Taken back from the parked to the dead letters.
    Unparked,
}

impl Resolution {
    /// The word in envelopes and the CLI.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::Parked => "parked",
            Self::Discarded => "discarded",
            Self::Expired => "expired",
            Self::Unparked => "unparked",
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_zero_part(part: &u16) -> bool {
    *part == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}
