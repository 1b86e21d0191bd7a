//! What became of the letters of a job, counted where the cursor passes them.
//!
//! A letter is counted once, when the cursor passes it, and never before: so cursor and counters of a checkpoint belong
//! together, and a worker that goes on from one counts nothing twice.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// How one letter of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The target acknowledged.
    Succeeded,
    /// It was sent, failed, and is open again.
    Failed,
    /// Its effect had taken place already, so it was not sent.
    Suppressed,
    /// Somebody else closed it after the snapshot.
    Skipped,
    /// It is older than the guard's memory, so nobody can say whether sending it would repeat an effect.
    Expired,
    /// It was sent, cannot succeed, and is set aside for a person.
    Parked,
    /// It could not be sent at all, and is set aside for a person.
    ParkedUnsent,
}

/// How many letters ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Sent.
    pub submitted: u64,
    /// Acknowledged.
    pub succeeded: u64,
    /// Sent, failed, and open again.
    pub failed: u64,
    /// Not sent: the effect had taken place.
    pub suppressed: u64,
    /// Not sent: closed by somebody else.
    pub skipped: u64,
    /// Not sent: older than the guard's memory.
    pub expired: u64,
    /// Not there any more: retention removed them before they were read.
    pub evicted: u64,
    /// Set aside for a person, sent or not.
    pub parked: u64,
}

impl Tally {
    /// Counts one letter.
    pub const fn count(&mut self, end: End) {
        let (counter, submitted) = match end {
            End::Succeeded => (&mut self.succeeded, true),
            End::Failed => (&mut self.failed, true),
            End::Suppressed => (&mut self.suppressed, false),
            End::Skipped => (&mut self.skipped, false),
            End::Expired => (&mut self.expired, false),
            End::Parked => (&mut self.parked, true),
            End::ParkedUnsent => (&mut self.parked, false),
        };
        *counter += 1;
        self.submitted += submitted as u64;
    }

    /// Letters that have ended, one way or another.
    pub const fn ended(&self) -> u64 {
        self.succeeded + self.failed + self.suppressed + self.skipped + self.expired + self.evicted + self.parked
    }

    /// Letters that were attempted: sent, or set aside because they could not be.
    pub const fn attempted(&self) -> u64 {
        self.succeeded + self.failed + self.parked
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.submitted += other.submitted;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.suppressed += other.suppressed;
        self.skipped += other.skipped;
        self.expired += other.expired;
        self.evicted += other.evicted;
        self.parked += other.parked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_counted_once_and_only_what_was_sent_as_submitted() {
        let mut tally = Tally::default();
        let ends =
            [End::Succeeded, End::Failed, End::Suppressed, End::Skipped, End::Expired, End::Parked, End::ParkedUnsent];

        ends.into_iter().for_each(|end| tally.count(end));

        assert_eq!((tally.ended(), tally.submitted, tally.attempted()), (7, 3, 4));
    }
}
