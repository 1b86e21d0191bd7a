//! The dead letters as they stand: the fold of the dead-letter log by id.
//!
//! The log holds facts. A dead letter, a repaired revision, a requeue after a failed replay and a resolution are records of
//! the same id, key and partition; the open letters are the newest per id that no resolution closed. So a requeued letter
//! replaces its older self, discarding one is a recorded decision, and a copy that a crash wrote twice counts once, even
//! when it comes after the resolution.
//!
//! Payloads are not kept, only where they are: a fold over millions of letters fits in memory.

pub mod groups;
pub mod repair;
pub mod resolve;
#[cfg(test)]
mod sample;
pub mod set;
pub mod stats;

use std::collections::BTreeMap;

use eddy_contract::{Code, Envelope, RecordId, envelope::Resolution};

use crate::letter::End;

/// One dead letter, without its payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// Of the dead-letter topic; the payload is there.
    pub partition: u32,
    /// Of the newest record of this letter that is no resolution.
    pub offset: i64,
    /// Length of the payload, bytes.
    pub payload_bytes: u64,
    /// Everything else. Of a closed letter, actor and note are those of who closed it.
    pub envelope: Envelope,
    /// How it was closed, if it was.
    pub resolution: Option<Resolution>,
}

/// All dead letters, by id.
#[derive(Debug, Default)]
pub struct Letters {
    by_id: BTreeMap<RecordId, Letter>,
    copies: u64,
    /// Resolutions whose letter is gone, by retention or because it was never here.
    orphans: u64,
}

impl Letter {
    /// The code that made it a dead letter: what its reason says after the colon.
    pub fn code(&self) -> Option<Code> {
        let (_, code) = self.envelope.reason.as_deref()?.split_once(':')?;
        code.parse().ok()
    }

    /// Its class: what its reason says before the colon.
    pub fn end(&self) -> Option<End> {
        let (word, _) = self.envelope.reason.as_deref()?.split_once(':')?;
        End::ALL.into_iter().find(|end| end.as_str() == word)
    }

    /// Whether nothing closed it.
    pub const fn is_open(&self) -> bool {
        self.resolution.is_none()
    }

    /// What makes it newer than another record of the same id: a repair, or another replay.
    const fn rank(&self) -> (u32, u32) {
        (self.envelope.revision, self.envelope.attempts.replay)
    }
}

impl Letters {
    /// Takes one record of the dead-letter topic; those of a partition in the order of their offsets.
    pub fn add(&mut self, partition: u32, offset: i64, mut envelope: Envelope) {
        if let Some(resolution) = envelope.resolution {
            match self.by_id.get_mut(&envelope.id) {
                Some(letter) => {
                    letter.resolution = Some(resolution);
                    letter.envelope.actor = envelope.actor;
                    letter.envelope.note = envelope.note;
                }
                None => self.orphans += 1,
            }
            return;
        }
        envelope.original_b64 = None;
        let elided = envelope.payload_elided.as_ref().map_or(0, |elided| elided.size_bytes);
        let payload_bytes = envelope.payload_b64.take().map_or(elided, |payload| payload.0.len() as u64);
        let new = Letter { partition, offset, payload_bytes, envelope, resolution: None };
        match self.by_id.get_mut(&new.envelope.id) {
            Some(old) if new.rank() <= old.rank() => self.copies += 1,
            _ => {
                self.by_id.insert(new.envelope.id.clone(), new);
            }
        }
    }

    /// The letter with this id, open or closed.
    pub fn get(&self, id: &RecordId) -> Option<&Letter> {
        self.by_id.get(id)
    }

    /// Every letter, open or closed, in the order of ids.
    pub fn all(&self) -> impl Iterator<Item = &Letter> {
        self.by_id.values()
    }

    /// The open letters, in the order of ids.
    pub fn open(&self) -> impl Iterator<Item = &Letter> {
        self.all().filter(|letter| letter.is_open())
    }

    /// Records that said again what another one had said.
    pub const fn copies(&self) -> u64 {
        self.copies
    }

    /// Resolutions without a letter.
    pub const fn orphans(&self) -> u64 {
        self.orphans
    }
}

#[cfg(test)]
mod tests {
    use eddy_contract::envelope::Origin;

    use super::*;

    fn letter(offset: i64) -> Envelope {
        let origin = Origin { topic: "source".into(), partition: 0, offset, timestamp_ms: None, part: 0 };
        let mut envelope = Envelope::new(origin, b"payload".to_vec());
        envelope.reason = Some("terminal:invalid_json".into());
        envelope
    }

    fn resolution(of: &Envelope, how: Resolution) -> Envelope {
        Envelope { resolution: Some(how), payload_b64: None, actor: Some("maria".into()), ..of.clone() }
    }

    fn fold(records: impl IntoIterator<Item = Envelope>) -> Letters {
        let mut letters = Letters::default();
        for (offset, envelope) in (0..).zip(records) {
            letters.add(0, offset, envelope);
        }
        letters
    }

    #[test]
    fn a_letter_is_open_until_something_closes_it() {
        let (a, b) = (letter(1), letter(2));

        let letters = fold([a.clone(), b.clone(), resolution(&a, Resolution::Discarded)]);

        assert_eq!(letters.open().map(|letter| &letter.envelope.id).collect::<Vec<_>>(), [&b.id]);
        assert_eq!(letters.get(&a.id).unwrap().resolution, Some(Resolution::Discarded));
        assert_eq!(letters.get(&a.id).unwrap().envelope.actor.as_deref(), Some("maria"));
        assert_eq!(letters.get(&b.id).unwrap().code(), Some(Code::InvalidJson));
    }

    /// C29: two physical records, one letter.
    #[test]
    fn a_copy_written_twice_by_a_crash_counts_once() {
        let letters = fold([letter(1), letter(1)]);

        assert_eq!((letters.open().count(), letters.copies()), (1, 1));
    }

    #[test]
    fn a_copy_that_comes_after_the_resolution_does_not_open_the_letter_again() {
        let a = letter(1);

        let letters = fold([a.clone(), resolution(&a, Resolution::Replayed), a]);

        assert_eq!((letters.open().count(), letters.copies()), (0, 1));
    }

    #[test]
    fn a_requeued_letter_replaces_its_older_self_and_is_open_again() {
        let a = letter(1);
        let mut requeued = a.clone();
        requeued.attempts.replay = 1;

        let letters = fold([a.clone(), resolution(&a, Resolution::Replayed), requeued]);

        assert_eq!(letters.open().count(), 1);
        assert_eq!(letters.get(&a.id).unwrap().offset, 2);
    }

    #[test]
    fn a_repaired_revision_replaces_the_bytes() {
        let a = letter(1);
        let mut repaired = Envelope::new(a.origin.clone(), b"repaired payload".to_vec());
        repaired.revision = 1;
        repaired.original_b64.clone_from(&a.payload_b64);

        let letters = fold([a.clone(), repaired]);

        assert_eq!(letters.open().map(|letter| letter.payload_bytes).collect::<Vec<_>>(), [16]);
        assert_eq!(letters.get(&a.id).unwrap().envelope.original_b64, None, "payloads are not kept");
    }

    #[test]
    fn a_resolution_of_a_letter_that_is_gone_is_counted_and_harmless() {
        let letters = fold([resolution(&letter(1), Resolution::Expired)]);

        assert_eq!((letters.all().count(), letters.orphans()), (0, 1));
    }
}
