//! Effects: what the host must do, and the answers that it brings back.
//!
//! The host may answer in any order. An effect that could not be carried out is answered as failed, and the engine
//! decides what that means; the host never retries by itself.

use std::sync::Arc;

use bytes::Bytes;
use eddy_contract::{Code, RecordId};

use crate::{names::TopicName, outcome::Outcome, time::Timestamp};

/// Connects an effect with its answer; unique within one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Something the host must do. Every effect but [`Effect::Release`] and [`Effect::Note`] is answered once.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the guard for the right to send; answered by [`Answer::Claim`].
    Claim {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What would be sent.
        effect: GuardedEffect,
    },
    /// Send; answered by [`Answer::Outcome`].
    Deliver {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What to send.
        delivery: Delivery,
    },
    /// Record that the effect has happened; answered by [`Answer::Marked`] once that is on disk.
    Mark {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What has happened.
        effect: GuardedEffect,
        /// For how long it is to be remembered.
        horizon: Horizon,
    },
    /// Give a claim back, unused. Not answered.
    Release {
        /// What was not sent.
        effect: GuardedEffect,
    },
    /// Append to a topic; answered by [`Answer::Written`].
    Write {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What to append.
        write: Write,
    },
    /// A decision worth counting. Not answered.
    Note(Note),
}

/// The answer to an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// What the guard says.
    Claim(Claim),
    /// What the sink saw.
    Outcome(Outcome),
    /// `false`: the guard could not store it.
    Marked(bool),
    /// `false`: not acknowledged; the record may or may not be in the log.
    Written(bool),
}

/// What the guard says to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nobody sent this yet: go ahead.
    Granted,
    /// The effect has happened.
    Done,
    /// Another road is sending it right now.
    Busy,
    /// The same key was used with other bytes.
    Conflict,
    /// The guard cannot answer now.
    Unavailable,
}

/// An effect downstream, as the guard knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GuardedEffect {
    /// The source topic's name.
    pub source: Arc<str>,
    /// The sink's name.
    pub sink: Arc<str>,
    /// What makes two deliveries one effect.
    pub idempotency_key: Arc<str>,
    /// The first 16 bytes of the payload's SHA-256.
    pub payload_hash: [u8; 16],
}

/// How long a mark is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Horizon {
    /// First-try successes: an hour or a number of keys.
    Recent,
    /// Keys that failed before, had an unknown outcome or were replayed: as long as dead letters are kept.
    Durable,
}

/// One record on its way to a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where it came from.
    pub id: RecordId,
    /// The record's key; null is not empty.
    pub key: Option<Bytes>,
    /// The original bytes.
    pub payload: Bytes,
    /// Sent on every attempt.
    pub idempotency_key: Arc<str>,
    /// The trigger's own, if it carries one.
    pub traceparent: Option<Arc<str>>,
    /// 1 for the first try.
    pub attempt: u32,
    /// Whether a replay sends it.
    pub replayed: bool,
}

/// One record to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Where to.
    pub topic: TopicName,
    /// The record's own partition.
    pub partition: u32,
    /// The record's own key; null is not empty.
    pub key: Option<Bytes>,
    /// An encoded envelope.
    pub value: Bytes,
}

/// What was decided, for counters, logs and the audit.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// The downstream acknowledged.
    Delivered {
        /// Which record.
        id: RecordId,
        /// 1 for the first try.
        attempt: u32,
        /// Since the engine saw the record.
        since_ms: i64,
    },
    /// The guard knew that the effect had happened.
    Suppressed {
        /// Which record.
        id: RecordId,
    },
    /// An attempt failed and was counted.
    Failed {
        /// Which record.
        id: RecordId,
        /// 1 for the first try.
        attempt: u32,
        /// Why.
        code: Code,
    },
    /// An attempt failed for reasons of the sink; the record is held and the attempt not counted.
    Held {
        /// Which record.
        id: RecordId,
        /// Why.
        code: Code,
    },
    /// The record waits on a tier.
    Scheduled {
        /// Which record.
        id: RecordId,
        /// Index of the tier.
        tier: usize,
        /// Never earlier than this.
        due: Timestamp,
    },
    /// The record is in the dead-letter topic.
    DeadLettered {
        /// Which record.
        id: RecordId,
        /// What decided.
        code: Code,
        /// As in the envelope.
        reason: String,
    },
}
