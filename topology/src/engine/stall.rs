//! Something of ours does not work: the log takes no writes, or the guard has no answer.
//!
//! The records concerned are kept and their step is done again after 100 ms to 1 s; until every one of them got through
//! the partition takes nothing new. So nothing is dropped and nothing spins.

use std::collections::BTreeSet;

use crate::{time::Timestamp, watermark::Seat};

const BACKOFF_MS_MIN: i64 = 100;
const BACKOFF_MS_MAX: i64 = 1000;

/// The records whose last step failed for reasons of ours.
#[derive(Debug, Default)]
pub(super) struct Stall {
    /// Failed and not through yet.
    concerned: BTreeSet<Seat>,
    /// Those of them that wait for the next try.
    waiting: BTreeSet<Seat>,
    until: Option<Timestamp>,
    rounds: u32,
}

impl Stall {
    pub(super) fn is_stalled(&self) -> bool {
        !self.concerned.is_empty()
    }

    /// When the next try is.
    pub(super) const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The step of the record on `seat` failed.
    pub(super) fn failed(&mut self, seat: Seat, now: Timestamp) {
        self.concerned.insert(seat);
        self.waiting.insert(seat);
        if self.until.is_none() {
            let backoff_ms = (BACKOFF_MS_MIN << self.rounds.min(8)).min(BACKOFF_MS_MAX);
            self.until = Some(now.plus_ms(backoff_ms));
            self.rounds += 1;
        }
    }

    /// The step of the record on `seat` got through.
    pub(super) fn recovered(&mut self, seat: Seat) {
        if self.concerned.remove(&seat) && self.concerned.is_empty() {
            self.rounds = 0;
        }
    }

    /// Who is to try again now.
    pub(super) fn take_due(&mut self, now: Timestamp) -> BTreeSet<Seat> {
        if self.until.is_none_or(|until| until > now) {
            return BTreeSet::new();
        }
        self.until = None;
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_waits_longer_up_to_a_second() {
        let mut stall = Stall::default();
        let mut now = Timestamp(0);
        let mut waits = Vec::new();

        for _ in 0..6 {
            stall.failed(1, now);
            let until = stall.until().unwrap();
            waits.push(until.since_ms(now));
            now = until;
            assert_eq!(stall.take_due(now), BTreeSet::from([1]));
        }

        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn it_is_over_when_the_last_record_concerned_got_through() {
        let mut stall = Stall::default();
        stall.failed(1, Timestamp(0));
        stall.failed(2, Timestamp(0));
        stall.take_due(Timestamp(100));

        stall.recovered(1);
        assert!(stall.is_stalled());
        stall.recovered(2);
        assert!(!stall.is_stalled());
    }
}
