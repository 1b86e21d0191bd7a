//! How fast a job sends: a token bucket whose rate follows what the downstream can take.
//!
//! The bucket holds a tenth of a second of the rate and starts empty, also after a restart: whatever happens to workers, in
//! any window a job sends at most that much more than rate × window. The rate goes up by a constant each good second and
//! is halved, at most once a second, when sends fail or live traffic suffers (AIMD; live traffic comes first). Failing at
//! the floor for a while is for a person to look at: then the pace asks for a pause.
//!
//! It knows no job and no record, and it does not decide whose fault a failure is.

use super::PaceSpec;
use crate::time::{Span, Timestamp};

/// How much of a second of the rate may be sent at once.
const BURST_SECONDS: f64 = 0.1;

/// At most one step of the rate in this time.
const STEP: Span = Span::from_secs(1);

/// Halvings asked for at the floor, in a row, that pause a job.
const FLOOR_FAILURES_MAX: u32 = 5;

/// What a failure at the floor leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Continue,
    /// Slower than the floor would be needed: pause.
    Pause,
}

/// See the module's documentation. One per worker, with the worker's share of the job's rate.
#[derive(Debug, Clone)]
pub struct Pace {
    rate: f64,
    floor: f64,
    ceiling: f64,
    probe: f64,
    tokens: f64,
    filled: Timestamp,
    stepped: Timestamp,
    failures_at_floor: u32,
}

impl Pace {
    /// The pace of one of `workers` workers.
    pub fn new(spec: &PaceSpec, workers: u32, now: Timestamp) -> Self {
        let share = f64::from(workers.max(1));
        Self {
            rate: spec.rate.clamp(spec.floor, spec.ceiling) / share,
            floor: spec.floor / share,
            ceiling: spec.ceiling / share,
            probe: spec.probe / share,
            tokens: 0.0,
            filled: now,
            stepped: now,
            failures_at_floor: 0,
        }
    }

    /// Triggers per second now.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Takes the token that a send costs, if there is one.
    pub fn take(&mut self, now: Timestamp) -> bool {
        self.fill(now);
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }

    /// Gives a token back: nothing was sent for it.
    pub fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst());
    }

    /// When the next token is there. Never early.
    pub fn next_at(&self) -> Timestamp {
        let missing = (1.0 - self.tokens).max(0.0);
        // A token costs at least 0.1 ms at any rate that a definition takes, so this fits.
        self.filled.plus_ms((missing / self.rate * 1000.0).ceil() as i64)
    }

    /// A send was acknowledged.
    pub fn succeeded(&mut self, now: Timestamp) {
        self.failures_at_floor = 0;
        if now.since_ms(self.stepped) >= STEP.as_ms() {
            self.fill(now);
            self.stepped = now;
            self.rate = (self.rate + self.probe).min(self.ceiling);
        }
    }

    /// A send failed for a reason that may be load, or live traffic suffers.
    pub fn failed(&mut self, now: Timestamp) -> Verdict {
        if now.since_ms(self.stepped) < STEP.as_ms() {
            return Verdict::Continue;
        }
        self.fill(now);
        self.stepped = now;
        if self.rate <= self.floor {
            self.failures_at_floor += 1;
        }
        self.rate = (self.rate / 2.0).max(self.floor);
        if self.failures_at_floor >= FLOOR_FAILURES_MAX { Verdict::Pause } else { Verdict::Continue }
    }

    fn burst(&self) -> f64 {
        (self.rate * BURST_SECONDS).max(1.0)
    }

    fn fill(&mut self, now: Timestamp) {
        let elapsed_ms = now.since_ms(self.filled).max(0);
        self.filled = self.filled.max(now);
        self.tokens = (self.tokens + self.rate * elapsed_ms as f64 / 1000.0).min(self.burst());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(pace: &mut Pace, from: i64, to: i64, step: i64) -> u64 {
        (from..to)
            .step_by(step as usize)
            .map(|now| std::iter::from_fn(|| pace.take(Timestamp(now)).then_some(())).count() as u64)
            .sum()
    }

    proptest! {
        /// However irregularly it is asked, and however often it is begun anew, the bound holds.
        #[test]
        fn in_any_window_at_most_burst_and_rate_times_window_is_sent(
            rate in 1_u32..20_000,
            steps in proptest::collection::vec((1_i64..700, any::<bool>()), 1..60),
        ) {
            let spec = PaceSpec { probe: 0.0, ..PaceSpec::constant(f64::from(rate)) };
            let mut pace = Pace::new(&spec, 1, Timestamp(0));
            let (mut now, mut sent) = (0, 0_u64);
            for (wait, restart) in steps {
                now += wait;
                if restart {
                    pace = Pace::new(&spec, 1, Timestamp(now));
                }
                while pace.take(Timestamp(now)) {
                    sent += 1;
                }
            }
            let burst = (f64::from(rate) * BURST_SECONDS).max(1.0);
            prop_assert!(sent as f64 <= burst + f64::from(rate) * now as f64 / 1000.0 + 1e-6);
        }
    }

    #[test]
    fn the_rate_is_kept_over_a_minute() {
        let mut pace = Pace::new(&PaceSpec::constant(500.0), 1, Timestamp(0));

        let sent = sent(&mut pace, 0, 60_000, 5);

        assert!((29_900..=30_050).contains(&sent), "{sent}");
    }

    #[test]
    fn the_next_token_is_never_announced_early() {
        let mut pace = Pace::new(&PaceSpec::constant(3.0), 1, Timestamp(0));
        for _ in 0..10 {
            let at = pace.next_at();
            assert!(!pace.clone().take(at.plus_ms(-1)));
            assert!(pace.take(at));
        }
    }

    #[test]
    fn failures_halve_the_rate_once_a_second_down_to_the_floor() {
        let spec = PaceSpec { rate: 800.0, floor: 100.0, ceiling: 1_000.0, probe: 50.0, live_p99_max: None };
        let mut pace = Pace::new(&spec, 1, Timestamp(0));

        let rates: Vec<f64> = (0..50)
            .map(|tenth| {
                pace.failed(Timestamp(tenth * 100));
                pace.rate()
            })
            .collect();

        assert_eq!((rates[9], rates[10], rates[20], rates[49]), (800.0, 400.0, 200.0, 100.0));
    }

    #[test]
    fn while_all_goes_well_the_rate_climbs_to_the_ceiling_and_no_further() {
        let spec = PaceSpec { rate: 100.0, floor: 10.0, ceiling: 130.0, probe: 20.0, live_p99_max: None };
        let mut pace = Pace::new(&spec, 1, Timestamp(0));

        (0..50).for_each(|tenth| pace.succeeded(Timestamp(tenth * 100)));

        assert_eq!(pace.rate(), 130.0);
    }

    #[test]
    fn failing_at_the_floor_asks_for_a_pause_and_one_success_forgets_it() {
        let spec = PaceSpec { rate: 10.0, floor: 10.0, ceiling: 10.0, probe: 1.0, live_p99_max: None };
        let mut pace = Pace::new(&spec, 1, Timestamp(0));

        let verdicts: Vec<Verdict> = (1..=5).map(|second| pace.failed(Timestamp(second * 1_000))).collect();
        pace.succeeded(Timestamp(6_000));

        assert_eq!(verdicts[3..], [Verdict::Continue, Verdict::Pause]);
        assert_eq!(pace.failed(Timestamp(7_000)), Verdict::Continue);
    }
}
