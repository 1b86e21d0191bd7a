//! The engine of one road through one partition: records and answers in, effects out.
//!
//! Four kinds of method and no fifth: getters (`wants`, `position`, `in_flight`, …), `handle_*`, `poll_*`, and the one
//! command `drain`. The host feeds records while the engine `wants` them, carries out what `poll_effect` gives, brings
//! back the answers in any order, and calls `handle_timeout` at the time that `poll_timeout` names. Same calls with the
//! same times give the same effects in the same order.
//!
//! A record's way through an engine is its phase; each but `Ready` waits for one answer:
//!
//! ```text
//!            ┌────────── lane or tier ──► Ready ──► Claiming ──► Delivering ──► Marking ──► settled
//!  record ───┤                              ▲           │             │                        ▲
//!            │                              └─ busy ────┴── held ─────┤ counted                │
//!            └─ cannot be delivered ────────────────────────────────► Writing ─────────────────┘
//! ```
//!
//! **Settle rule**, in one place, `Engine::settle`: a record is settled only when an answer said that everything it caused
//! is durable elsewhere. What was not acknowledged is kept and done again, see `engine/stall.rs`.

mod flight;
mod guarded;
mod intake;
mod route;
mod stall;
mod tier;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use eddy_contract::RecordId;

use crate::{
    effect::{Answer, Effect, Note, Ticket, Write},
    gate::Gate,
    lanes::Lanes,
    names::TopicName,
    release::Release,
    time::{Span, Timestamp},
    topology::Topology,
    watermark::{Seat, Watermark},
};
use flight::{Flight, Phase, Step};
use stall::Stall;

/// One record as the host read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Through a module: `output` is the verdict header and the original bytes; `build` the sha256 of the module.
    Judged {
        /// The record's own.
        offset: i64,
        /// The record's own; null is not empty.
        key: Option<Bytes>,
        /// Verdict header and original bytes.
        output: Bytes,
        /// sha256 of the module.
        build: Arc<str>,
    },
    /// Without a module: an envelope from a tier.
    Raw {
        /// The record's own.
        offset: i64,
        /// When it was written.
        timestamp_ms: i64,
        /// The record's own; null is not empty.
        key: Option<Bytes>,
        /// The encoded envelope.
        value: Bytes,
    },
    /// The log has no record at this offset, confirmed; the position may pass.
    Hole {
        /// The missing one.
        offset: i64,
    },
}

/// Which of a topology's roads an engine drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Road {
    /// The source through `validate` to the sink.
    Intake,
    /// The failures topic through `classify` to a tier or the dead letters.
    Route,
    /// The tier with this index in [`Topology::tiers`] to the sink, when due.
    Tier(usize),
}

impl Road {
    /// Every road of `topology`.
    pub fn all(topology: &Topology) -> impl Iterator<Item = Self> + use<> {
        let tiers = topology.tiers.len();
        [Self::Intake, Self::Route].into_iter().chain((0..tiers).map(Self::Tier))
    }

    /// The topic that this road reads.
    pub fn topic(self, topology: &Topology) -> &TopicName {
        match self {
            Self::Intake => &topology.names.source,
            Self::Route => &topology.names.failures,
            Self::Tier(tier) => &topology.tiers[tier].topic,
        }
    }

    /// Whether it drains a tier that the definition no longer has.
    pub fn is_leftover(self, topology: &Topology) -> bool {
        matches!(self, Self::Tier(tier) if tier >= topology.schedule.tiers().len())
    }

    /// Under which consumer id the positions of this road are stored.
    pub fn consumer_id(self, topology: &Topology) -> String {
        topology.names.consumer_id(self.topic(topology))
    }
}

/// Where in its topic a record was found.
#[derive(Debug, Clone, Copy)]
struct Place {
    partition: u32,
    offset: i64,
}

impl Place {
    fn id(self, topic: &TopicName, part: u16) -> RecordId {
        let Self { partition, offset } = self;
        RecordId { topic: topic.as_str().to_owned(), partition, offset, part }
    }
}

/// Settled records behind an unsettled one for each record of the window. They hold a few bytes each, so that one slow
/// record does not stop its partition.
const SETTLED_PER_UNSETTLED_MAX: usize = 16;

/// See the module's documentation.
#[derive(Debug)]
pub struct Engine {
    topology: Arc<Topology>,
    road: Road,
    partition: u32,
    /// Of the tier; no time at all on the other roads.
    delay: Span,
    flights: Watermark<Flight>,
    /// Bytes of the records in `flights`.
    bytes: usize,
    lanes: Lanes,
    /// May be claimed as soon as gate and limits allow.
    ready: VecDeque<Seat>,
    /// On a tier: not due yet, in the order of due times.
    waiting: VecDeque<(Timestamp, Seat)>,
    release: Release,
    /// Ask the guard again at that time.
    busy: BTreeSet<(Timestamp, Seat)>,
    effects: VecDeque<Effect>,
    /// Claims and deliveries without an answer.
    sending: usize,
    /// Effects without an answer, of all kinds.
    unanswered: usize,
    /// Which of the gate's probes was the last of ours.
    probed: Option<u64>,
    stall: Stall,
    draining: bool,
}

impl Engine {
    /// An engine for `road` through `partition`, whose first record has the offset `start` or a larger one.
    pub fn new(topology: Arc<Topology>, road: Road, partition: u32, start: i64) -> Self {
        let delay = match road {
            Road::Tier(tier) => topology.tiers[tier].delay,
            Road::Intake | Road::Route => Span::default(),
        };
        let release = Release::new(topology.spread_of(delay), topology.limits.window_max);
        Self {
            topology,
            road,
            partition,
            delay,
            flights: Watermark::new(start),
            bytes: 0,
            lanes: Lanes::default(),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            release,
            busy: BTreeSet::new(),
            effects: VecDeque::new(),
            sending: 0,
            unanswered: 0,
            probed: None,
            stall: Stall::default(),
            draining: false,
        }
    }

    /// How many more records it takes now; 0 means pause reading.
    pub fn wants(&self, gate: &Gate) -> usize {
        let limits = &self.topology.limits;
        if self.draining || self.stall.is_stalled() || self.bytes >= limits.window_bytes_max {
            return 0;
        }
        if !gate.is_flowing() && self.ready.len() >= self.topology.in_flight_max() {
            return 0;
        }
        let unsettled = limits.window_max.saturating_sub(self.flights.unsettled());
        let span = (limits.window_max * SETTLED_PER_UNSETTLED_MAX).saturating_sub(self.flights.span());
        unsettled.min(span)
    }

    /// Takes one record. Offsets ascend; one that was seen already is ignored.
    pub fn handle_input(&mut self, input: Input, now: Timestamp) {
        match input {
            Input::Hole { offset } => self.flights.pass(offset),
            Input::Judged { offset, .. } | Input::Raw { offset, .. } if offset < self.flights.next() => {}
            Input::Judged { offset, key, output, build } => {
                let place = Place { partition: self.partition, offset };
                let step = if self.road == Road::Route {
                    route::judged(&self.topology, place, &output, &build, now)
                } else {
                    intake::judged(&self.topology, place, key.as_ref(), &output, &build, now)
                };
                self.take(offset, key, output.len(), step, now);
            }
            Input::Raw { offset, timestamp_ms, key, value } => {
                let record = tier::Waiting {
                    topic: self.road.topic(&self.topology),
                    delay: self.delay,
                    place: Place { partition: self.partition, offset },
                    timestamp_ms,
                    key: key.as_ref(),
                    value: &value,
                };
                let step = tier::read(&self.topology, &record, now);
                self.take(offset, key, value.len(), step, now);
            }
        }
    }

    /// Takes the answer to the effect with this ticket.
    pub fn handle_answer(&mut self, ticket: Ticket, answer: Answer, gate: &mut Gate, now: Timestamp) {
        let (seat, step) = flight::split(ticket);
        let Some(flight) = self.flights.get_mut(seat).filter(|flight| flight.step == step) else {
            debug_assert!(false, "answer {answer:?} to an effect that was answered");
            return;
        };
        self.unanswered -= 1;
        match (flight.phase, answer) {
            (Phase::Claiming, Answer::Claim(claim)) => self.claimed(seat, claim, gate, now),
            (Phase::Delivering, Answer::Outcome(outcome)) => self.delivered(seat, outcome, gate, now),
            (Phase::Marking(_), Answer::Marked(true)) | (Phase::Writing, Answer::Written(true)) => self.settle(seat),
            (Phase::Marking(_), Answer::Marked(false)) | (Phase::Writing, Answer::Written(false)) => {
                self.stall.failed(seat, now);
            }
            (phase, answer) => debug_assert!(false, "answer {answer:?} in phase {phase:?}"),
        }
    }

    /// Does what became due. Call it at the time that [`Engine::poll_timeout`] names, or at any other.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        for seat in self.stall.take_due(now) {
            if self.draining && self.flight(seat).phase == Phase::Ready {
                self.stall.recovered(seat);
            } else {
                self.again(seat);
            }
        }
        while let Some((at, seat)) = self.busy.first().copied()
            && at <= now
        {
            self.busy.pop_first();
            self.ready.push_front(seat);
        }
    }

    /// The next thing to do, if there is any.
    pub fn poll_effect(&mut self, gate: &mut Gate, now: Timestamp) -> Option<Effect> {
        if let Some(effect) = self.effects.pop_front() {
            return Some(effect);
        }
        self.start_next(gate, now)
    }

    /// When to call [`Engine::handle_timeout`] and look for effects again, unless something happens before.
    pub fn poll_timeout(&self, gate: &Gate) -> Option<Timestamp> {
        let busy = self.busy.first().map(|(at, _)| *at);
        let start = if self.may_start() { self.start_at(gate) } else { None };
        [busy, start, self.stall.until()].into_iter().flatten().min()
    }

    /// Low-watermark: the next offset to read after a restart.
    pub fn position(&self) -> i64 {
        self.flights.position()
    }

    /// The next offset that it takes; smaller ones it has seen.
    pub const fn next_offset(&self) -> i64 {
        self.flights.next()
    }

    /// Effects that were not answered, or have to be done again.
    pub fn in_flight(&self) -> usize {
        self.unanswered + self.stall.waiting()
    }

    /// Nothing is unsettled.
    pub fn is_idle(&self) -> bool {
        self.flights.unsettled() == 0 && self.effects.is_empty()
    }

    /// Stops gracefully: no delivery is started any more; what is in flight may finish.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    fn take(&mut self, offset: i64, key: Option<Bytes>, bytes: usize, step: Step, now: Timestamp) {
        let flight = Flight::new(key, bytes, now);
        let seat = self.flights.push(offset, flight);
        self.bytes += bytes;
        match step {
            Step::Deliver(task) => self.enter_lane(seat, task),
            Step::DeliverAt(due, task) => {
                self.flight(seat).task = Some(task);
                self.waiting.push_back((due, seat));
            }
            Step::Write { topic, value, note } => self.write(seat, topic, value, note),
        }
    }

    fn write(&mut self, seat: Seat, topic: TopicName, value: Vec<u8>, note: Option<Note>) {
        let partition = self.partition;
        let flight = self.flight(seat);
        let write = Write { topic, partition, key: flight.key.clone(), value: value.into() };
        flight.write = Some(write);
        flight.note = note;
        flight.phase = Phase::Writing;
        self.again(seat);
    }

    /// Asks for the durable step that the record is in, for the first time or once more.
    fn again(&mut self, seat: Seat) {
        let flight = self.flights.get_mut(seat).expect("a record that waits for an answer is unsettled");
        let ticket = flight.next_ticket(seat);
        let effect = match flight.phase {
            Phase::Writing => Effect::Write { ticket, write: flight.write.clone().expect("set with the phase") },
            Phase::Marking(horizon) => {
                let effect = flight.task().effect.clone();
                Effect::Mark { ticket, effect, horizon }
            }
            Phase::Ready | Phase::Claiming | Phase::Delivering => {
                flight.phase = Phase::Claiming;
                self.sending += 1;
                Effect::Claim { ticket, effect: flight.task().effect.clone() }
            }
        };
        self.unanswered += 1;
        self.effects.push_back(effect);
    }

    /// The one place where a record is done with: everything it caused is durable elsewhere.
    fn settle(&mut self, seat: Seat) {
        let mut flight = self.flights.settle(seat).expect("an answer belongs to an unsettled record");
        self.stall.recovered(seat);
        self.bytes -= flight.bytes;
        self.effects.extend(flight.take_claim().map(|effect| Effect::Release { effect }));
        self.effects.extend(flight.note.map(Effect::Note));
    }

    fn flight(&mut self, seat: Seat) -> &mut Flight {
        self.flights.get_mut(seat).expect("only settling ends a flight")
    }
}
