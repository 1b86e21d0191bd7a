//! The guarded delivery, the same for intake and tiers: claim, deliver, mark; or hold, or hand over to the failures topic.
//!
//! It does not decide whose fault a failure is (the gate does) nor whether it can heal (`classify` does).

use eddy_contract::{Class, Code, SideEffect};

use super::{
    Engine, Road,
    flight::{Phase, Task},
};
use crate::{
    effect::{Claim, Delivery, Effect, Horizon, Note},
    gate::{FailedTry, Gate, Pass, Ruling},
    letter::{self, End},
    outcome::{Outcome, Refusal},
    time::{Span, Timestamp},
    watermark::Seat,
};

/// How soon the guard is asked again about an effect that another road is sending.
const BUSY_RECHECK_MS: i64 = 50;

/// How long an engine whose probe failed leaves others the next one: less by a millisecond for each probe since, so that
/// all take turns.
const PROBE_PATIENCE_MS: u64 = 50;

/// How long a tier, whose records all failed, leaves others the first probe.
const TIER_PATIENCE_MS: u64 = 25;

/// How many due records of a tier stand ready while the gate is shut: enough for probes to take turns.
const PROBE_CANDIDATES: usize = 8;

impl Engine {
    /// A record that can be delivered takes its place behind those of the same key.
    pub(super) fn enter_lane(&mut self, seat: Seat, task: Box<Task>) {
        let is_first = task.lane.clone().is_none_or(|lane| self.lanes.enter(lane, seat));
        self.flight(seat).task = Some(task);
        if is_first {
            self.ready.push_back(seat);
        }
    }

    fn leave_lane(&mut self, seat: Seat) {
        let lane = self.flight(seat).task().lane.take();
        self.ready.extend(lane.and_then(|lane| self.lanes.leave(&lane, seat)));
    }

    /// Begins the next delivery with a claim, if gate and limits allow one.
    pub(super) fn start_next(&mut self, gate: &mut Gate, now: Timestamp) -> Option<Effect> {
        if !self.may_start() {
            return None;
        }
        self.release_due(gate, now);
        self.ready.front()?;
        if !gate.is_flowing() && self.has_fresh() {
            gate.fresh_waits();
        }
        let pass = gate.admit(self.patience(gate), now)?;
        if pass == Pass::Probe {
            self.probed = Some(gate.probes());
        }
        let seat = self.ready.pop_front()?;
        self.flight(seat).task().pass = pass;
        self.again(seat);
        self.effects.pop_front()
    }

    /// Whether a record stands ready against which nothing was counted yet.
    fn has_fresh(&self) -> bool {
        let task = |seat: &Seat| self.flights.get(*seat).and_then(|flight| flight.task.as_ref());
        self.ready.iter().filter_map(task).any(|task| task.first_failed_at().is_none())
    }

    /// Whether a delivery may begin, as far as it depends on this engine.
    pub(super) fn may_start(&self) -> bool {
        !self.draining && !self.stall.is_stalled() && self.sending < self.topology.in_flight_max()
    }

    /// When the next delivery may begin that cannot begin now, unless something happens before.
    pub(super) fn start_at(&self, gate: &Gate) -> Option<Timestamp> {
        let may_release = self.ready.len() < ready_max(gate);
        let release = self.waiting.front().filter(|_| may_release).map(|(due, _)| self.release.at(*due));
        let probe = gate.wake_at().filter(|_| !self.ready.is_empty()).map(|at| at.plus(self.patience(gate)));
        release.into_iter().chain(probe).min()
    }

    /// How long the next probe is left to other engines: they may have a record that succeeds.
    fn patience(&self, gate: &Gate) -> Span {
        let after_probe = self.probed.map_or(0, |probed| PROBE_PATIENCE_MS.saturating_sub(gate.probes() - probed));
        let on_tier = if matches!(self.road, Road::Tier(_)) { TIER_PATIENCE_MS } else { 0 };
        Span::from_ms(after_probe.max(on_tier))
    }

    /// Lets records of a tier go that are due; never many more than can be sent now.
    fn release_due(&mut self, gate: &Gate, now: Timestamp) {
        while self.ready.len() < ready_max(gate)
            && let Some((due, seat)) = self.waiting.front().copied()
            && self.release.take(due, now)
        {
            self.waiting.pop_front();
            let task = self.flight(seat).task.take().expect("set when the record was read");
            self.enter_lane(seat, task);
        }
    }

    pub(super) fn claimed(&mut self, seat: Seat, claim: Claim, gate: &mut Gate, now: Timestamp) {
        self.sending -= 1;
        let task = self.flight(seat).task();
        let pass = task.pass;
        task.holds_claim = claim == Claim::Granted;
        if claim != Claim::Unavailable {
            self.stall.recovered(seat);
        }
        if claim == Claim::Granted && (pass == Pass::Probe || gate.is_flowing()) {
            self.deliver(seat);
            return;
        }
        gate.give_back(pass, now);
        match claim {
            Claim::Granted => self.hold(seat),
            Claim::Done => {
                self.leave_lane(seat);
                let flight = self.flight(seat);
                flight.note = Some(Note::Suppressed { id: flight.task().id.clone() });
                self.settle(seat);
            }
            Claim::Conflict => self.conflict(seat, now),
            Claim::Busy => {
                self.flight(seat).phase = Phase::Ready;
                self.busy.insert((now.plus_ms(BUSY_RECHECK_MS), seat));
            }
            Claim::Unavailable => {
                let flight = self.flight(seat);
                flight.phase = Phase::Ready;
                flight.task().pass = Pass::Free;
                self.stall.failed(seat, now);
            }
        }
    }

    fn deliver(&mut self, seat: Seat) {
        let flight = self.flight(seat);
        flight.phase = Phase::Delivering;
        let ticket = flight.next_ticket(seat);
        let key = flight.key.clone();
        let task = flight.task();
        let delivery = Delivery {
            id: task.id.clone(),
            key,
            payload: task.payload.clone(),
            idempotency_key: task.effect.idempotency_key.clone(),
            traceparent: task.traceparent.clone(),
            attempt: task.attempts + 1,
            replayed: false,
        };
        self.sending += 1;
        self.unanswered += 1;
        self.effects.push_back(Effect::Deliver { ticket, delivery });
    }

    pub(super) fn delivered(&mut self, seat: Seat, outcome: Outcome, gate: &mut Gate, now: Timestamp) {
        self.sending -= 1;
        match outcome {
            Outcome::Delivered => self.acknowledged(seat, gate, now),
            Outcome::Failed(refusal) => self.refused(seat, refusal, gate, now),
        }
    }

    fn acknowledged(&mut self, seat: Seat, gate: &mut Gate, now: Timestamp) {
        let is_tier = matches!(self.road, Road::Tier(_));
        let flight = self.flight(seat);
        let since_ms = now.since_ms(flight.seen);
        let task = flight.task();
        gate.succeeded(task.pass, now);
        task.holds_claim = false;
        let horizon = if task.doubtful || is_tier { Horizon::Durable } else { Horizon::Recent };
        let note = Note::Delivered { id: task.id.clone(), attempt: task.attempts + 1, since_ms };
        flight.phase = Phase::Marking(horizon);
        self.effects.push_back(Effect::Note(note));
        self.leave_lane(seat);
        self.again(seat);
    }

    fn refused(&mut self, seat: Seat, refusal: Refusal, gate: &mut Gate, now: Timestamp) {
        let longest_ms = self.topology.schedule.longest().as_ms().unsigned_abs();
        let pass = self.flight(seat).task().pass;
        let task = self.flight(seat).task();
        task.doubtful |= refusal.effect == SideEffect::Unknown;
        let ruling = gate.failed(
            FailedTry {
                pass,
                refusal: &refusal,
                first_failed_at: task.first_failed_at(),
                beyond_tiers: refusal.retry_after_ms.is_some_and(|ms| ms > longest_ms),
            },
            now,
        );
        if ruling == Ruling::Held {
            let note = Note::Held { id: task.id.clone(), code: refusal.code };
            self.effects.push_back(Effect::Note(note));
            self.hold(seat);
            return;
        }
        task.attempts += 1;
        task.doubtful = true;
        let note = Note::Failed { id: task.id.clone(), attempt: task.attempts, code: refusal.code };
        task.failures.push(letter::failed_delivery(refusal, now));
        self.effects.push_back(Effect::Note(note));
        if ruling == Ruling::AgainInPlace {
            self.again_in_place(seat);
        } else {
            self.hand_over(seat);
        }
    }

    /// Waits for the gate, behind the others so that probes take turns. Keeps its lane; the claim is given back because
    /// nobody knows for how long.
    fn hold(&mut self, seat: Seat) {
        self.release_claim(seat);
        self.ready.push_back(seat);
    }

    /// Goes again as soon as the gate lets anybody through.
    fn again_in_place(&mut self, seat: Seat) {
        self.release_claim(seat);
        self.ready.push_front(seat);
    }

    fn release_claim(&mut self, seat: Seat) {
        let flight = self.flight(seat);
        flight.phase = Phase::Ready;
        let released = flight.take_claim();
        self.effects.extend(released.map(|effect| Effect::Release { effect }));
    }

    /// Leaves lane and road for the failures topic, where `classify` judges it.
    fn hand_over(&mut self, seat: Seat) {
        self.leave_lane(seat);
        let value = self.flight(seat).task().to_envelope().encode();
        let topic = self.topology.names.failures.clone();
        self.write(seat, topic, value, None);
    }

    fn conflict(&mut self, seat: Seat, now: Timestamp) {
        self.leave_lane(seat);
        let task = self.flight(seat).task();
        let mut envelope = task.to_envelope();
        let message = "another payload was delivered with this idempotency key";
        envelope.failures.push(letter::finding("guard", Class::Terminal, Code::KeyConflict, message, now));
        let (value, note) = letter::bury(envelope, End::Terminal, Code::KeyConflict, now);
        let topic = self.topology.names.dlq.clone();
        self.write(seat, topic, value, Some(note));
    }
}

/// How many due records of a tier may stand ready.
const fn ready_max(gate: &Gate) -> usize {
    if gate.is_flowing() { 1 } else { PROBE_CANDIDATES }
}
