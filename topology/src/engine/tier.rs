//! Tier: an envelope that waits for its due time, turned into a delivery.
//!
//! What cannot be read or sent does not go round again: it is a dead letter at once, and its neighbours go on.

use bytes::Bytes;
use eddy_contract::{Code, Envelope};

use super::{
    Place,
    flight::{Basis, Step, Task},
};
use crate::{
    letter::{self, End},
    names::TopicName,
    time::{Span, Timestamp},
    topology::Topology,
};

/// A record as it lies in a tier's topic.
pub(super) struct Waiting<'a> {
    pub(super) topic: &'a TopicName,
    pub(super) delay: Span,
    pub(super) place: Place,
    pub(super) timestamp_ms: i64,
    pub(super) key: Option<&'a Bytes>,
    pub(super) value: &'a Bytes,
}

/// Decides what becomes of a record on a tier.
pub(super) fn read(topology: &Topology, record: &Waiting<'_>, now: Timestamp) -> Step {
    let written = Timestamp(record.timestamp_ms);
    let unreadable = |why: &str| {
        let id = record.place.id(record.topic, 0);
        Step::bury_unreadable(topology, &id, Some(record.timestamp_ms), record.value, why, now)
    };
    let mut envelope = match Envelope::decode(record.value) {
        Ok(envelope) => envelope,
        Err(error) => return unreadable(&error.to_string()),
    };
    if letter::is_elided(&envelope) {
        return Step::bury(topology, envelope, End::Terminal, Code::TooLarge, now);
    }
    let Some(idempotency_key) = envelope.idempotency_key.as_deref().map(Into::into) else {
        return unreadable("the envelope has no idempotency key");
    };
    let Some(payload) = letter::take_payload(&mut envelope) else {
        return unreadable("the envelope has no payload");
    };
    // A due time further off than the delay of its tier comes from a clock that is ahead; waiting for it would hold up
    // everything behind it, and waiting the whole delay from now is never early.
    let due = envelope.due_ms.map_or_else(|| written.plus(record.delay), Timestamp).min(now.plus(record.delay));
    let device = || envelope.device.clone().map(Bytes::from);
    let lane = record.key.cloned().or_else(device);
    let traceparent = envelope.traceparent.as_deref().map(Into::into);
    let (id, attempts) = (envelope.id.clone(), envelope.attempts.delivery);
    let basis = Basis::Letter(Box::new(envelope));
    let effect = topology.guarded(idempotency_key, &payload);
    let mut task = Task::new(id, payload.into(), effect, basis);
    task.traceparent = traceparent;
    task.attempts = attempts;
    task.doubtful = true;
    task.lane = lane;
    Step::DeliverAt(due, Box::new(task))
}
