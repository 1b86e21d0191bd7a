//! The retry schedule: on which tier a failed record waits next, until when, and when it has waited often enough.
//!
//! Indexed by the attempts of *this* record, so fresh and old records may be mixed at will, and the delay is that of the
//! tier being *entered*, counted from the failure. All records of a tier wait equally long, so their due order is their
//! offset order and one timer per tier is enough; jitter would cost that, and bursts are smoothed by
//! `release.rs` instead.
//!
//! Whether a failure can heal at all is not decided here: `classify` says that.

use crate::time::{Span, Timestamp};

/// How often and how late records are tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    ceiling: u32,
    tiers: Vec<Span>,
}

/// What comes after a counted failure that may heal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The record waits on `tier` until `due`.
    Tier {
        /// Index of the tier.
        tier: usize,
        /// Never earlier than this.
        due: Timestamp,
    },
    /// All retries are used up.
    Exhausted,
}

impl Schedule {
    /// `ceiling` retries, the n-th after waiting on the n-th tier. The builder has checked that there are as many.
    pub(crate) const fn new(ceiling: u32, tiers: Vec<Span>) -> Self {
        Self { ceiling, tiers }
    }

    /// The tiers, from the shortest to the longest.
    pub fn tiers(&self) -> &[Span] {
        &self.tiers
    }

    /// Retries after the first attempt, in place and on tiers together.
    pub const fn ceiling(&self) -> u32 {
        self.ceiling
    }

    /// The longest wait.
    pub fn longest(&self) -> Span {
        self.tiers.last().copied().unwrap_or_default()
    }

    /// What comes after the failure of attempt number `attempts`, counted from 1.
    ///
    /// A downstream that asks for a time gets the smallest tier that is at least as long, whatever the record's turn.
    pub fn next(&self, attempts: u32, failed_at: Timestamp, retry_after_ms: Option<u64>) -> Next {
        let retries_done = attempts.saturating_sub(1);
        if retries_done >= self.ceiling {
            return Next::Exhausted;
        }
        let last = self.tiers.len() - 1;
        let tier = match retry_after_ms {
            Some(ms) => self.tiers.iter().position(|tier| *tier >= Span::from_ms(ms)).unwrap_or(last),
            None => last.min(retries_done as usize),
        };
        Next::Tier { tier, due: failed_at.plus(self.tiers[tier]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED_AT: Timestamp = Timestamp(1_000_000);

    fn schedule() -> Schedule {
        Schedule::new(3, ["5s", "30s", "5m"].map(|tier| tier.parse().unwrap()).to_vec())
    }

    fn tier(tier: usize, delay_ms: i64) -> Next {
        Next::Tier { tier, due: FAILED_AT.plus_ms(delay_ms) }
    }

    /// C1: the delay is that of the tier entered. C6: chosen by this record's attempts, not by those of its neighbours.
    #[test]
    fn each_retry_waits_on_the_next_tier_for_the_delay_of_that_tier() {
        let after_attempts = [1, 2, 3, 4].map(|attempts| schedule().next(attempts, FAILED_AT, None));

        assert_eq!(after_attempts, [tier(0, 5_000), tier(1, 30_000), tier(2, 300_000), Next::Exhausted]);
    }

    #[test]
    fn a_downstream_that_asks_for_a_time_gets_the_smallest_tier_at_least_as_long() {
        let asked = [0, 5_000, 5_001, 30_000, 31_000].map(|ms| schedule().next(1, FAILED_AT, Some(ms)));

        assert_eq!(asked, [tier(0, 5_000), tier(0, 5_000), tier(1, 30_000), tier(1, 30_000), tier(2, 300_000)]);
    }

    #[test]
    fn asking_for_a_time_buys_no_retry_beyond_the_ceiling() {
        assert_eq!(schedule().next(4, FAILED_AT, Some(1)), Next::Exhausted);
    }
}
