//! When a due record is let go: never early, and after an outage not all at once.
//!
//! `release = max(due, previous + gap)`. The gap spreads a full window of records that are due together over a part of
//! the tier's delay. A fixed gap would also be a fixed ceiling on the rate, and a tier that fills faster than it may
//! drain never empties; so the gap halves each time such a spread has passed with records still pushed back, and is
//! whole again as soon as one is let go at its own due time.
//!
//! The host's timers have a grain. Records may therefore follow each other within [`GRAIN_MS`] of a late wake-up, as they
//! would have done had it been on time.

use crate::time::{Span, Timestamp};

/// How much of the lateness of a wake-up may be made up for.
const GRAIN_MS: i64 = 10;

/// The pace of one tier in one partition.
#[derive(Debug)]
pub(crate) struct Release {
    gap_us: i64,
    spread_us: i64,
    /// Microseconds since 1970, because the gap is often less than a millisecond.
    previous_us: i64,
    /// Since when records are being pushed back, if they are.
    pushing_since_us: Option<i64>,
}

impl Release {
    /// Spreads `burst_max` records over `spread`.
    pub(crate) fn new(spread: Span, burst_max: usize) -> Self {
        let spread_us = spread.as_ms() * 1000;
        let burst_max = i64::try_from(burst_max.max(1)).unwrap_or(i64::MAX);
        Self { gap_us: spread_us / burst_max, spread_us, previous_us: i64::MIN / 2, pushing_since_us: None }
    }

    /// When the next record, due at `due`, may go.
    pub(crate) fn at(&self, due: Timestamp) -> Timestamp {
        Timestamp(self.at_us(due).div_euclid(1000) + i64::from(self.at_us(due).rem_euclid(1000) > 0))
    }

    /// Lets the next record go if it may; says whether.
    pub(crate) fn take(&mut self, due: Timestamp, now: Timestamp) -> bool {
        if self.at(due) > now {
            return false;
        }
        let release_us = self.at_us(due);
        let is_pushed = release_us > due.0 * 1000 || due.plus_ms(GRAIN_MS) < now;
        self.previous_us = release_us.max((now.0 - GRAIN_MS) * 1000);
        self.pushing_since_us = is_pushed.then(|| self.pushing_since_us.unwrap_or(self.previous_us));
        true
    }

    fn at_us(&self, due: Timestamp) -> i64 {
        (due.0 * 1000).max(self.previous_us + self.current_gap_us())
    }

    /// Halved for each spread that records have been pushed back.
    fn current_gap_us(&self) -> i64 {
        let pushing_us = self.pushing_since_us.map_or(0, |since| self.previous_us - since);
        let halvings = pushing_us.checked_div(self.spread_us).unwrap_or_default().clamp(0, 62);
        self.gap_us >> halvings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets `dues` go as soon as they may, and returns when each went.
    fn releases(release: &mut Release, start: Timestamp, dues: &[Timestamp]) -> Vec<i64> {
        let mut now = start;
        let mut released = Vec::new();
        for due in dues {
            now = now.max(release.at(*due));
            assert!(release.take(*due, now));
            released.push(now.0);
        }
        released
    }

    #[test]
    fn a_record_goes_when_it_is_due_and_not_before() {
        let mut release = Release::new(Span::from_ms(500), 1000);

        assert!(!release.take(Timestamp(5_000), Timestamp(4_999)));
        assert!(release.take(Timestamp(5_000), Timestamp(5_000)));
    }

    /// C2: lateness is bounded; a hundred records of one instant stay within a twentieth of the spread.
    #[test]
    fn records_that_are_due_together_are_spread_over_a_part_of_the_delay() {
        let mut release = Release::new(Span::from_ms(500), 1000);

        let released = releases(&mut release, Timestamp(0), &[Timestamp(5_000); 100]);

        assert_eq!(released.first(), Some(&5_000));
        assert_eq!(released.last(), Some(&5_050));
    }

    #[test]
    fn after_an_outage_the_backlog_does_not_go_all_at_once() {
        let mut release = Release::new(Span::from_secs(30), 1000);

        let released = releases(&mut release, Timestamp(3_600_000), &[Timestamp(5_000); 1000]);

        let in_first_second = released.iter().filter(|at| **at < 3_601_000).count();
        assert!((30..40).contains(&in_first_second), "{in_first_second}");
        assert!(released.last().unwrap() - 3_600_000 <= 30_000);
    }

    #[test]
    fn a_backlog_of_any_size_drains_at_a_growing_rate() {
        let mut release = Release::new(Span::from_secs(30), 1000);

        let released = releases(&mut release, Timestamp(0), &[Timestamp(0); 1_000_000]);

        assert!(*released.last().unwrap() < 11 * 30_000, "{}", released.last().unwrap());
    }

    #[test]
    fn a_late_wake_up_does_not_lower_the_rate() {
        let mut release = Release::new(Span::from_ms(1000), 10_000);
        let mut went = 0;

        for now in (0..1_000).step_by(5) {
            while release.take(Timestamp(0), Timestamp(now)) {
                went += 1;
            }
        }

        assert!(went >= 9_900, "{went}");
    }
}
