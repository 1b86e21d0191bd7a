//! One record between its reading and its settling.

use std::sync::Arc;

use bytes::Bytes;
use eddy_contract::{Class, Code, Envelope, Failure, Header, RecordId, envelope::Payload};

use crate::{
    effect::{GuardedEffect, Horizon, Note, Ticket, Write},
    gate::Pass,
    letter::{self, End},
    names::TopicName,
    time::Timestamp,
    topology::Topology,
    watermark::Seat,
};

/// What is to be done with a record that was just read.
#[derive(Debug)]
pub(super) enum Step {
    Deliver(Box<Task>),
    DeliverAt(Timestamp, Box<Task>),
    Write { topic: TopicName, value: Vec<u8>, note: Option<Note> },
}

/// Which answer a record waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// None: for its turn in a lane, on a tier, or at the gate.
    Ready,
    Claiming,
    Delivering,
    Marking(Horizon),
    Writing,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) key: Option<Bytes>,
    pub(super) bytes: usize,
    pub(super) seen: Timestamp,
    pub(super) phase: Phase,
    /// Of the last ticket; an answer to an older one is not for this phase.
    pub(super) step: u16,
    /// Of a record that can be delivered.
    pub(super) task: Option<Box<Task>>,
    /// Kept until it is acknowledged.
    pub(super) write: Option<Write>,
    /// Said when the record is settled.
    pub(super) note: Option<Note>,
}

/// What a delivery needs to know, and what it has been through.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: RecordId,
    pub(super) payload: Bytes,
    pub(super) effect: GuardedEffect,
    pub(super) traceparent: Option<Arc<str>>,
    /// Counted attempts, here and before.
    pub(super) attempts: u32,
    /// Failures that `basis` does not hold yet.
    pub(super) failures: Vec<Failure>,
    /// It failed before, or an outcome was unknown once: its mark must outlive dead letters.
    pub(super) doubtful: bool,
    /// The claim is ours and was not used up by a mark.
    pub(super) holds_claim: bool,
    pub(super) pass: Pass,
    /// Records of one lane go one after the other.
    pub(super) lane: Option<Bytes>,
    basis: Basis,
}

/// From what the envelope is made, should the record need one.
#[derive(Debug)]
pub(super) enum Basis {
    /// A module's output, known to decode.
    Trigger { output: Bytes, build: Arc<str>, module: TopicName },
    /// The envelope that a tier held, without its payload.
    Letter(Box<Envelope>),
}

impl Step {
    /// To the dead letters.
    pub(super) fn bury(topology: &Topology, envelope: Envelope, end: End, code: Code, now: Timestamp) -> Self {
        let (value, note) = letter::bury(envelope, end, code, now);
        Self::Write { topic: topology.names.dlq.clone(), value, note: Some(note) }
    }

    /// To the dead letters, with the bytes as they were found.
    pub(super) fn bury_unreadable(
        topology: &Topology,
        id: &RecordId,
        timestamp_ms: Option<i64>,
        bytes: &[u8],
        why: &str,
        now: Timestamp,
    ) -> Self {
        let mut envelope = letter::of_bytes(id, timestamp_ms, bytes);
        envelope.failures.push(letter::finding("read", Class::Terminal, Code::EnvelopeInvalid, why, now));
        Self::bury(topology, envelope, End::Terminal, Code::EnvelopeInvalid, now)
    }
}

impl Flight {
    pub(super) const fn new(key: Option<Bytes>, bytes: usize, seen: Timestamp) -> Self {
        Self { key, bytes, seen, phase: Phase::Ready, step: 0, task: None, write: None, note: None }
    }

    pub(super) const fn next_ticket(&mut self, seat: Seat) -> Ticket {
        self.step = self.step.wrapping_add(1);
        Ticket(seat << 16 | self.step as u64)
    }

    pub(super) fn task(&mut self) -> &mut Task {
        self.task.as_mut().expect("only records that can be delivered are claimed")
    }

    pub(super) fn take_claim(&mut self) -> Option<GuardedEffect> {
        let task = self.task.as_mut().filter(|task| task.holds_claim)?;
        task.holds_claim = false;
        Some(task.effect.clone())
    }
}

/// The seat and the step that a ticket was made of.
pub(super) const fn split(ticket: Ticket) -> (Seat, u16) {
    (ticket.0 >> 16, ticket.0 as u16)
}

impl Task {
    pub(super) const fn new(id: RecordId, payload: Bytes, effect: GuardedEffect, basis: Basis) -> Self {
        Self {
            id,
            payload,
            effect,
            traceparent: None,
            attempts: 0,
            failures: Vec::new(),
            doubtful: false,
            holds_claim: false,
            pass: Pass::Free,
            lane: None,
            basis,
        }
    }

    /// When something was first counted against the record, on this road or before.
    pub(super) fn first_failed_at(&self) -> Option<Timestamp> {
        let before = match &self.basis {
            Basis::Trigger { .. } => None,
            Basis::Letter(envelope) => envelope.failures.first(),
        };
        before.or_else(|| self.failures.first()).map(|failure| Timestamp(failure.at))
    }

    /// The envelope as of now.
    pub(super) fn to_envelope(&self) -> Envelope {
        let mut envelope = match &self.basis {
            Basis::Trigger { output, build, module } => {
                let (header, original) = Header::decode(output).expect("it decoded when the record was read");
                letter::of_trigger(&self.id, &header, original, module, build)
            }
            Basis::Letter(envelope) => envelope.as_ref().clone(),
        };
        envelope.payload_b64 = Some(Payload(self.payload.to_vec()));
        envelope.idempotency_key = Some(self.effect.idempotency_key.as_ref().to_owned());
        envelope.attempts.delivery = self.attempts;
        envelope.failures.extend(self.failures.iter().cloned());
        envelope.sink = Some(self.effect.sink.as_ref().to_owned());
        envelope.due_ms = None;
        envelope
    }
}
