//! The gate of a sink: whether anything may be sent to it now, and whom a failed delivery costs an attempt.
//!
//! One gate per sink, shared by all its engines; the host keeps it behind a mutex and hands it in. An outage must not
//! be paid for by the records that happened to be on their way: once it is known that the *sink* is at fault, failures
//! are not counted against records, which wait where they are.
//!
//! | state | sends | failures that may be the sink's | leaves it |
//! |---|---|---|---|
//! | flowing | everything | are counted, until [`failures_max`](BreakerDefinition::failures_max) in a row | |
//! | suspect | one probe after `blip_delay` | of the probe are counted while no other record failed | when a probe is answered |
//! | tripped | one probe at a time, ever more seldom | are not counted | when a probe is answered |
//! | suspended | nothing | are not counted | when an operator resumes it |
//!
//! A record that failed and has been outlived by a success is *known to fail*: the sink worked after it had failed, so
//! when it fails again that is its own doing. It neither trips anything nor keeps the gate shut: its failures are
//! counted against it even as a probe, and it leaves probes to others. Otherwise a handful of hopeless records, alone on
//! their tiers at the end of a busy day, would look like an outage for ever.
//!
//! A refused or reset connection makes a flowing sink *suspect*; many failures in a row, or a single one that no record
//! can help (credentials, certificate, redirect), *trip* it; 410 *suspends* it. An answer that blames the record proves
//! that the sink works. As soon as two records failed in a row, a suspect sink is taken to be the one at fault, and
//! probes cost their records nothing. So one record that always fails among healthy ones never trips anything, because their
//! successes break the row, while an outage trips after a handful. Where nothing succeeds at all, the two look alike; then
//! the records wait, because waiting loses nothing.
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
    /// Failures since the last answer that proved the sink to work.
    failures_in_row: u32,
    /// How many of them were the first failure of their record.
    records_in_row: u32,
    /// When an answer last proved the sink to work. It is taken to work when it is first asked.
    worked_at: Option<Timestamp>,
    epoch: u64,
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
            failures_in_row: 0,
            records_in_row: 0,
            worked_at: None,
            epoch: 0,
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

    pub(crate) const fn is_flowing(&self) -> bool {
        matches!(self.state, State::Flowing)
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
                self.state = State::Suspect(Probe::OutSince(now));
                Some(Pass::Probe)
            }
            State::Tripped { interval, .. } => {
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
            Blame::Perhaps | Blame::Blip if failed.beyond_tiers => {
                let wait = Span::from_ms(failed.refusal.retry_after_ms.unwrap_or_default());
                if self.state != State::Suspended {
                    self.enter(State::Tripped {
                        probe: Probe::At(now.plus(wait)),
                        interval: self.limits.probe_interval,
                    });
                }
                Ruling::Held
            }
            Blame::Perhaps | Blame::Blip => self.doubt(failed, now),
        }
    }

    /// A failure that may be the record's or the sink's.
    fn doubt(&mut self, failed: FailedTry<'_>, now: Timestamp) -> Ruling {
        let known_to_fail = self.is_known_to_fail(&failed);
        match (self.state, failed.pass) {
            (State::Suspended, _) | (State::Suspect(_) | State::Tripped { .. }, Pass::Free) => return Ruling::Held,
            (State::Flowing, _) if known_to_fail => return Ruling::Counted,
            (State::Suspect(_), Pass::Probe) if known_to_fail => {
                self.enter(State::Suspect(Probe::At(now.plus(self.limits.blip_delay))));
                return Ruling::Counted;
            }
            (State::Tripped { interval, .. }, Pass::Probe) if known_to_fail => {
                self.enter(State::Tripped { probe: Probe::At(now.plus(interval)), interval });
                return Ruling::Counted;
            }
            (State::Tripped { .. }, Pass::Probe) => {
                self.trip(Pass::Probe, now);
                return Ruling::Held;
            }
            (State::Flowing, _) | (State::Suspect(_), Pass::Probe) => {}
        }
        self.failures_in_row += 1;
        self.records_in_row += u32::from(failed.first_failed_at.is_none());
        if self.failures_in_row >= self.limits.failures_max {
            self.trip(failed.pass, now);
            return Ruling::Held;
        }
        let is_blip = Blame::of(failed.refusal.code) == Blame::Blip;
        let is_probe = !self.is_flowing();
        if is_blip || is_probe {
            self.enter(State::Suspect(Probe::At(now.plus(self.limits.blip_delay))));
        }
        if is_probe && self.records_in_row > 1 {
            return Ruling::Held;
        }
        if is_blip && failed.first_failed_at.is_none() { Ruling::AgainInPlace } else { Ruling::Counted }
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
        self.failures_in_row = 0;
        self.records_in_row = 0;
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
mod tests {
    use eddy_contract::{Code, SideEffect};

    use super::*;
    use crate::Definition;

    const NOW: Timestamp = Timestamp(1_000_000);
    const NO_PATIENCE: Span = Span::from_ms(0);

    fn refusal(code: Code) -> Refusal {
        let message = String::new();
        Refusal { code, status: None, retry_after_ms: None, message, effect: SideEffect::None, location: None }
    }

    fn fail(gate: &mut Gate, pass: Pass, code: Code, now: Timestamp) -> Ruling {
        gate.failed(FailedTry { pass, refusal: &refusal(code), first_failed_at: None, beyond_tiers: false }, now)
    }

    /// A record that first failed at `first_failed_at` fails again.
    fn fail_again(gate: &mut Gate, pass: Pass, first_failed_at: Timestamp) -> Ruling {
        let refusal = refusal(Code::Unavailable);
        let first_failed_at = Some(first_failed_at);
        gate.failed(FailedTry { pass, refusal: &refusal, first_failed_at, beyond_tiers: false }, NOW)
    }

    fn tripped() -> Gate {
        let mut gate = Gate::new(&Definition::default().sink);
        fail(&mut gate, Pass::Free, Code::Unauthorized, NOW);
        gate
    }

    #[test]
    fn one_probe_goes_out_at_a_time() {
        let mut gate = tripped();
        let probe_at = gate.wake_at().unwrap();

        assert_eq!(gate.admit(NO_PATIENCE, probe_at.plus_ms(-1)), None);
        assert_eq!(gate.admit(NO_PATIENCE, probe_at), Some(Pass::Probe));
        assert_eq!(gate.admit(NO_PATIENCE, probe_at), None);
    }

    #[test]
    fn a_probe_that_was_not_used_goes_to_the_next_who_asks() {
        let mut gate = tripped();
        let probe_at = gate.wake_at().unwrap();
        let pass = gate.admit(NO_PATIENCE, probe_at).unwrap();
        let epoch = gate.epoch();

        gate.give_back(pass, probe_at);

        assert_ne!(gate.epoch(), epoch, "those who wait look again");
        assert_eq!(gate.admit(NO_PATIENCE, probe_at), Some(Pass::Probe));
    }

    #[test]
    fn an_engine_that_went_away_with_the_probe_does_not_shut_the_gate_for_ever() {
        let mut gate = tripped();
        gate.admit(NO_PATIENCE, gate.wake_at().unwrap());

        let lost_at = gate.wake_at().unwrap();

        assert_eq!(gate.admit(NO_PATIENCE, lost_at), Some(Pass::Probe));
    }

    #[test]
    fn whoever_is_patient_leaves_the_probe_to_others() {
        let mut gate = tripped();
        let probe_at = gate.wake_at().unwrap();

        assert_eq!(gate.admit(Span::from_ms(50), probe_at), None);
        assert_eq!(gate.admit(Span::from_ms(50), probe_at.plus_ms(50)), Some(Pass::Probe));
    }

    #[test]
    fn a_success_that_was_sent_before_the_doubt_proves_nothing() {
        let mut gate = tripped();

        gate.succeeded(Pass::Free, NOW);

        assert_eq!(gate.status(), Status::Tripped);
    }

    #[test]
    fn an_answer_that_blames_the_record_proves_that_the_sink_works() {
        let mut gate = tripped();
        let pass = gate.admit(NO_PATIENCE, gate.wake_at().unwrap()).unwrap();

        assert_eq!(fail(&mut gate, pass, Code::Rejected, NOW), Ruling::Counted);

        assert_eq!(gate.status(), Status::Flowing);
    }

    #[test]
    fn successes_break_the_row_of_failures() {
        let mut gate = Gate::new(&Definition::default().sink);

        for _ in 0..100 {
            for _ in 0..9 {
                assert_eq!(fail(&mut gate, Pass::Free, Code::Unavailable, NOW), Ruling::Counted);
            }
            gate.succeeded(Pass::Free, NOW);
        }

        assert_eq!(gate.status(), Status::Flowing);
    }

    #[test]
    fn probes_of_a_suspect_sink_cost_nothing_once_a_second_record_has_failed() {
        let mut gate = Gate::new(&Definition::default().sink);
        let mut probe = |first_failed_at| {
            let pass = gate.admit(NO_PATIENCE, gate.wake_at().unwrap_or(NOW)).unwrap();
            let refusal = refusal(Code::Refused);
            gate.failed(FailedTry { pass, refusal: &refusal, first_failed_at, beyond_tiers: false }, NOW)
        };

        let alone = [probe(None), probe(Some(NOW))];
        let together = [probe(None), probe(Some(NOW)), probe(Some(NOW))];

        assert_eq!(alone, [Ruling::AgainInPlace, Ruling::Counted]);
        assert_eq!(together, [Ruling::Held; 3]);
    }

    #[test]
    fn records_known_to_fail_never_trip_the_gate() {
        let mut gate = Gate::new(&Definition::default().sink);
        gate.succeeded(Pass::Free, NOW);

        let rulings: Vec<Ruling> = (0..100).map(|_| fail_again(&mut gate, Pass::Free, NOW.plus_ms(-1))).collect();

        assert!(rulings.iter().all(|ruling| *ruling == Ruling::Counted));
        assert_eq!(gate.status(), Status::Flowing);
    }

    #[test]
    fn what_failed_before_this_gate_was_first_asked_is_known_to_fail() {
        let mut gate = Gate::new(&Definition::default().sink);
        gate.admit(NO_PATIENCE, NOW);

        (0..20).for_each(|_| assert_eq!(fail_again(&mut gate, Pass::Free, NOW.plus_ms(-1)), Ruling::Counted));
    }

    #[test]
    fn failures_of_records_that_no_success_has_outlived_trip_the_gate() {
        let mut gate = Gate::new(&Definition::default().sink);
        gate.succeeded(Pass::Free, NOW.plus_ms(-2));

        for _ in 0..10 {
            fail_again(&mut gate, Pass::Free, NOW.plus_ms(-1));
        }

        assert_eq!(gate.status(), Status::Tripped);
    }

    #[test]
    fn a_probe_that_is_known_to_fail_is_counted_and_does_not_make_the_next_one_wait_longer() {
        let mut gate = Gate::new(&Definition::default().sink);
        gate.succeeded(Pass::Free, NOW.plus_ms(-1));
        fail(&mut gate, Pass::Free, Code::Unauthorized, NOW);
        let waits: Vec<i64> = (0..3)
            .map(|_| {
                let pass = gate.admit(NO_PATIENCE, gate.wake_at().unwrap()).unwrap();
                assert_eq!(fail_again(&mut gate, pass, NOW.plus_ms(-2)), Ruling::Counted);
                gate.wake_at().unwrap().since_ms(NOW)
            })
            .collect();

        assert_eq!(waits, [1000, 1000, 1000]);
        assert_eq!(gate.status(), Status::Tripped);
    }
}
