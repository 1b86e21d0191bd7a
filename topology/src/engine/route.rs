//! Route: what `classify` said of a failure, turned into a tier or a dead letter.
//!
//! Can this ever succeed? The module alone says. How long to wait, and when to give up, is the schedule's.

use std::sync::Arc;

use bytes::Bytes;
use eddy_contract::{Class, Code, Envelope, Header};

use super::{Place, flight::Step};
use crate::{
    effect::Note,
    letter::{self, End},
    schedule::Next,
    time::Timestamp,
    topology::Topology,
};

/// Decides what becomes of a failure that was found at `place`.
pub(super) fn judged(topology: &Topology, place: Place, output: &Bytes, build: &Arc<str>, now: Timestamp) -> Step {
    let id = || place.id(&topology.names.failures, 0);
    let Ok((header, original)) = Header::decode(output) else {
        let mut envelope = letter::of_bytes(&id(), None, output);
        let message = "output of the module has no verdict header";
        envelope.failures.push(letter::finding("classify", Class::Unclassified, Code::Module, message, now));
        return Step::bury(topology, envelope, End::Unclassified, Code::Module, now);
    };
    let mut envelope = match Envelope::decode(original) {
        Ok(envelope) => envelope,
        Err(error) => return Step::bury_unreadable(topology, &id(), None, original, &error.to_string(), now),
    };
    envelope.modules.insert(topology.names.classify.to_string(), build.as_ref().to_owned());
    let class = letter::class_of(header.verdict);
    if let Some(failure) = envelope.failures.last_mut() {
        failure.class = Some(class);
        failure.signature = eddy_contract::signature(&failure.stage, Some(class), failure.status, &failure.message);
    }
    match class {
        Class::Terminal => Step::bury(topology, envelope, End::Terminal, header.code, now),
        Class::Unclassified => Step::bury(topology, envelope, End::Unclassified, header.code, now),
        Class::Transient if letter::is_elided(&envelope) => {
            Step::bury(topology, envelope, End::Terminal, Code::TooLarge, now)
        }
        Class::Transient => retry(topology, envelope, now),
    }
}

fn retry(topology: &Topology, mut envelope: Envelope, now: Timestamp) -> Step {
    let last = envelope.failures.last();
    let failed_at = last.map_or(now, |failure| Timestamp(failure.at));
    let retry_after_ms = last.and_then(|failure| failure.retry_after_ms);
    match topology.schedule.next(envelope.attempts.delivery, failed_at, retry_after_ms) {
        Next::Tier { tier, due } => {
            envelope.due_ms = Some(due.0);
            let note = Note::Scheduled { id: envelope.id.clone(), tier, due };
            Step::Write { topic: topology.names.tiers[tier].clone(), value: envelope.encode(), note: Some(note) }
        }
        Next::Exhausted => {
            let code = last.map_or(Code::Internal, |failure| failure.code);
            Step::bury(topology, envelope, End::Exhausted, code, now)
        }
    }
}
