//! The gate of a sink: whether anything may be sent to it now, and whom a failed delivery costs an attempt.
//!
//! One gate per sink, shared by all its engines; the host keeps it behind a mutex and hands it in. An outage must not
//! be paid for by the records that happened to be on their way: once it is known that the *sink* is at fault, failures
//! are not counted against records, which wait where they are.
//!
//! | state | sends | failures that may be the sink's | leaves it |
//! |---|---|---|---|
//! | flowing | everything | are counted, until a row is full | |
//! | suspect | one probe after `blip_delay` | of the probe are counted, until a row is full | when a probe is answered |
//! | tripped | one probe at a time, ever more seldom | are not counted while a row is full | when a probe is answered |
//! | suspended | nothing | are not counted | when an operator resumes it |
//!
//! **Two rows**, each full at [`failures_max`](BreakerDefinition::failures_max), both ended by a success or an answer that blames
//! the record. A failure that its record may have caused (503, a timeout, a reset) adds to the row of records, once a
//! record: however often a hopeless one fails, it is one sign of an outage and no more. A failure that no record can cause,
//! because nothing of it was sent (refused, DNS), adds to the row of missing connections, each time; any answer ends
//! that one. So one record that always fails among healthy ones never trips anything, nor do fewer than `failures_max`
//! hopeless records that are all that is left at the end of a busy day: they climb their tiers and end in bounded time. An
//! outage trips as soon as `failures_max` *different* records have met it, and all others wait uncounted.
//!
//! **The price.** An outage that answers, is met by fewer than `failures_max` records and outlasts all tiers looks exactly
//! like that many hopeless records: they are exhausted. And `failures_max` hopeless records in a row, with no success
//! among them, look exactly like an outage: they wait, because waiting loses nothing.
//!
//! A record that failed and has been outlived by a success is *known to fail*: the sink worked after it had failed, so
//! when it fails again that is its own doing. It adds to no row and is counted. While the gate is tripped every record that
//! failed before is counted as soon as no *fresh* one, against which nothing was counted yet, waits to be sent: nobody is
//! left whose success could tell. While one waits, probes cost nothing, and engines take turns with them.
//!
//! A refused or reset connection makes a flowing sink *suspect*; a full row, or a single failure that no record can help
//! (credentials, certificate, redirect), *trips* it; 410 *suspends* it. A downstream that refuses connections costs an attempt of
//! one record, however long it does so and however few records there are.
//!
//! The gate does not decide what becomes of a counted record (`classify` and [`schedule`](crate::schedule) do), and it
//! does not slow down: a downstream that is merely slow becomes lag in the log.

use crate::{
    definition::{BreakerDefinition, SinkDefinition},
    outcome::{Blame, Refusal},
    time::{Span, Timestamp},
};

/// See the module's documentation.
#[derive(Debug)]
pub struct Gate {
    state: State,
    /// Records that failed for the first time since an answer last proved the sink to work.
    records_in_row: u32,
    /// Connections that did not come about since any answer.
    unreached_in_row: u32,
    /// A record against which nothing was counted yet has asked since the last probe came back.
    fresh_waits: bool,
    /// When an answer last proved the sink to work. It is taken to work when it is first asked.
    worked_at: Option<Timestamp>,
    epoch: u64,
    /// How many have gone out, so that engines can take turns.
    probes: u64,
    limits: BreakerDefinition,
    /// A probe without an answer for this long is taken for lost, so that an engine that went away cannot shut the gate
    /// for ever.
    probe_answer_max: Span,
}

/// What the gate lets through, for logs, metrics and the progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Everything.
    Flowing,
    /// A probe, soon.
    Suspect,
    /// A probe now and then.
    Tripped,
    /// Nothing.
    Suspended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Flowing,
    Suspect(Probe),
    Tripped { probe: Probe, interval: Span },
    Suspended,
}

/// Whose turn it is to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// The first who asks at or after this time.
    At(Timestamp),
    /// Somebody's, since this time.
    OutSince(Timestamp),
}

/// The permission to send one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// One of many.
    Free,
    /// The one that finds out; its outcome must be reported, or the pass given back.
    Probe,
}

/// What a failed delivery costs its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// An attempt; the record leaves for the failures topic.
    Counted,
    /// An attempt; the record goes again in place.
    AgainInPlace,
    /// Nothing; the record waits for the gate.
    Held,
}

/// A failed delivery, as far as the gate must know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedTry<'a> {
    pub(crate) pass: Pass,
    pub(crate) refusal: &'a Refusal,
    /// When something was first counted against the record, if ever.
    pub(crate) first_failed_at: Option<Timestamp>,
    /// What the downstream asked for is longer than any tier.
    pub(crate) beyond_tiers: bool,
}

impl Gate {
    /// The gate of a sink that is taken to work.
    pub fn new(sink: &SinkDefinition) -> Self {
        Self {
            state: State::Flowing,
            records_in_row: 0,
            unreached_in_row: 0,
            fresh_waits: false,
            worked_at: None,
            epoch: 0,
            probes: 0,
            limits: sink.breaker.clone(),
            probe_answer_max: Span::from_ms(2 * sink.timeout.as_ms().unsigned_abs() + 1000),
        }
    }

    /// Changes whenever waiting engines should look again.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// When waiting engines should look again although nothing was reported; `None` when only a report can change
    /// anything.
    pub fn wake_at(&self) -> Option<Timestamp> {
        match self.state {
            State::Flowing | State::Suspended => None,
            State::Suspect(probe) | State::Tripped { probe, .. } => Some(self.probe_free_at(probe)),
        }
    }

    /// What is let through now.
    pub const fn status(&self) -> Status {
        match self.state {
            State::Flowing => Status::Flowing,
            State::Suspect(_) => Status::Suspect,
            State::Tripped { .. } => Status::Tripped,
            State::Suspended => Status::Suspended,
        }
    }

    /// Lets everything through again: an operator's word, the only way out of a suspension.
    pub fn resume(&mut self) {
        self.flow();
    }

    /// How many probes have gone out.
    pub(crate) const fn probes(&self) -> u64 {
        self.probes
    }

    pub(crate) const fn is_flowing(&self) -> bool {
        matches!(self.state, State::Flowing)
    }

    /// Somebody has a record to send against which nothing was counted yet. To be said before asking with
    /// [`Gate::admit`], and whenever the gate is shut and one looks again.
    pub(crate) const fn fresh_waits(&mut self) {
        self.fresh_waits = true;
    }

    /// Asks to send one record, leaving others `patience` to take the probe first.
    pub(crate) fn admit(&mut self, patience: Span, now: Timestamp) -> Option<Pass> {
        self.worked_at.get_or_insert(now);
        match self.state {
            State::Flowing => Some(Pass::Free),
            State::Suspended => None,
            State::Suspect(probe) | State::Tripped { probe, .. } if now < self.probe_free_at(probe).plus(patience) => {
                None
            }
            State::Suspect(_) => {
                self.probes += 1;
                self.state = State::Suspect(Probe::OutSince(now));
                Some(Pass::Probe)
            }
            State::Tripped { interval, .. } => {
                self.probes += 1;
                self.state = State::Tripped { probe: Probe::OutSince(now), interval };
                Some(Pass::Probe)
            }
        }
    }

    /// Takes a pass back that was not used; a probe's turn goes to the next who asks.
    pub(crate) fn give_back(&mut self, pass: Pass, now: Timestamp) {
        if pass == Pass::Free {
            return;
        }
        match self.state {
            State::Flowing | State::Suspended => {}
            State::Suspect(_) => self.enter(State::Suspect(Probe::At(now))),
            State::Tripped { interval, .. } => self.enter(State::Tripped { probe: Probe::At(now), interval }),
        }
    }

    /// The downstream acknowledged.
    pub(crate) fn succeeded(&mut self, pass: Pass, now: Timestamp) {
        match (self.state, pass) {
            (State::Flowing, _) => {
                self.end_row();
                self.worked_at = Some(now);
            }
            (State::Suspect(_) | State::Tripped { .. }, Pass::Probe) => {
                self.worked_at = Some(now);
                self.flow();
            }
            // Sent before the sink was in doubt: proves nothing about now.
            (State::Suspect(_) | State::Tripped { .. }, Pass::Free) | (State::Suspended, _) => {}
        }
    }

    /// The downstream did not acknowledge; says what that costs the record.
    pub(crate) fn failed(&mut self, failed: FailedTry<'_>, now: Timestamp) -> Ruling {
        match Blame::of(failed.refusal.code) {
            Blame::Record => {
                self.succeeded(failed.pass, now);
                Ruling::Counted
            }
            Blame::Stop => {
                self.enter(State::Suspended);
                Ruling::Held
            }
            Blame::Sink => {
                self.trip(failed.pass, now);
                Ruling::Held
            }
            Blame::Perhaps | Blame::Blip | Blame::Unreached if failed.beyond_tiers => {
                let wait = Span::from_ms(failed.refusal.retry_after_ms.unwrap_or_default());
                if self.state != State::Suspended {
                    self.enter(State::Tripped {
                        probe: Probe::At(now.plus(wait)),
                        interval: self.limits.probe_interval,
                    });
                }
                Ruling::Held
            }
            Blame::Perhaps | Blame::Blip | Blame::Unreached => self.doubt(failed, now),
        }
    }

    /// A failure that may be the record's or the sink's.
    fn doubt(&mut self, failed: FailedTry<'_>, now: Timestamp) -> Ruling {
        if self.state == State::Suspended || failed.pass == Pass::Free && !self.is_flowing() {
            return Ruling::Held;
        }
        let blame = Blame::of(failed.refusal.code);
        let is_tripped = matches!(self.state, State::Tripped { .. });
        let fresh_waits = std::mem::take(&mut self.fresh_waits);
        let is_known = if is_tripped { !fresh_waits } else { self.is_known_to_fail(&failed) };
        let is_fresh = failed.first_failed_at.is_none();
        self.extend_rows(blame, is_fresh);
        if blame != Blame::Unreached && !is_fresh && is_known {
            self.probe_again(now);
            return Ruling::Counted;
        }
        let may_count = is_fresh || !is_tripped;
        if self.is_row_full() || !may_count {
            self.trip(failed.pass, now);
            return Ruling::Held;
        }
        self.count(blame, is_fresh, now)
    }

    /// What a failure costs that is counted unless it is one of many missing connections.
    fn count(&mut self, blame: Blame, is_fresh: bool, now: Timestamp) -> Ruling {
        let goes_in_place = matches!(blame, Blame::Blip | Blame::Unreached);
        if goes_in_place && self.is_flowing() {
            self.enter(State::Suspect(Probe::At(now.plus(self.limits.blip_delay))));
        } else {
            self.probe_again(now);
        }
        if blame == Blame::Unreached && self.unreached_in_row > 1 {
            Ruling::Held
        } else if goes_in_place && is_fresh {
            Ruling::AgainInPlace
        } else {
            Ruling::Counted
        }
    }

    fn extend_rows(&mut self, blame: Blame, is_fresh: bool) {
        if blame == Blame::Unreached {
            self.unreached_in_row = self.unreached_in_row.saturating_add(1);
        } else {
            self.unreached_in_row = 0;
            self.records_in_row = self.records_in_row.saturating_add(u32::from(is_fresh));
        }
    }

    fn is_row_full(&self) -> bool {
        self.records_in_row.max(self.unreached_in_row) >= self.limits.failures_max
    }

    /// After a probe that told nothing about the sink, the next one is due as soon as the last one was.
    fn probe_again(&mut self, now: Timestamp) {
        match self.state {
            State::Flowing | State::Suspended => {}
            State::Suspect(_) => self.enter(State::Suspect(Probe::At(now.plus(self.limits.blip_delay)))),
            State::Tripped { interval, .. } => {
                self.enter(State::Tripped { probe: Probe::At(now.plus(interval)), interval });
            }
        }
    }

    /// Whether the sink has worked since the record first failed.
    fn is_known_to_fail(&self, failed: &FailedTry<'_>) -> bool {
        failed.first_failed_at.is_some_and(|failed_at| self.worked_at.is_some_and(|worked_at| worked_at > failed_at))
    }

    /// Stops all sending; a failed probe makes the next one wait longer.
    fn trip(&mut self, pass: Pass, now: Timestamp) {
        let interval = match (self.state, pass) {
            (State::Suspended, _) | (State::Tripped { .. }, Pass::Free) => return,
            (State::Tripped { interval, .. }, Pass::Probe) => {
                let doubled = Span::from_ms(2 * interval.as_ms().unsigned_abs());
                doubled.min(self.limits.probe_interval_max)
            }
            (State::Flowing | State::Suspect(_), _) => self.limits.probe_interval,
        };
        self.enter(State::Tripped { probe: Probe::At(now.plus(interval)), interval });
    }

    fn flow(&mut self) {
        self.end_row();
        self.enter(State::Flowing);
    }

    const fn end_row(&mut self) {
        self.records_in_row = 0;
        self.unreached_in_row = 0;
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }

    fn probe_free_at(&self, probe: Probe) -> Timestamp {
        match probe {
            Probe::At(at) => at,
            Probe::OutSince(since) => since.plus(self.probe_answer_max),
        }
    }
}

#[cfg(test)]
mod tests;
