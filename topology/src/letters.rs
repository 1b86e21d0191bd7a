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

use std::collections::{BTreeMap, BTreeSet};

use eddy_contract::{Code, Envelope, RecordId, envelope::Resolution};

use crate::{
    filter::{Filter, TimeField},
    letter::End,
    time::{Span, Timestamp},
};

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

/// Why a letter that was named cannot be dealt with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOpen {
    /// Retention removed it, or it was never here.
    #[error("there is no letter `{0}`")]
    Unknown(RecordId),
    /// Somebody has decided about it.
    #[error("letter `{id}` is closed: {how}", id = .0, how = .1.as_str())]
    Closed(RecordId, Resolution),
}

/// Letters that have waited for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// How many.
    pub count: usize,
    /// Since when the first of them is dead, milliseconds since 1970.
    pub oldest_ms: i64,
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

/// Letters as they lie in their topic, partition by partition.
pub fn in_log_order<'a>(letters: impl IntoIterator<Item = &'a Letter>) -> Vec<&'a Letter> {
    let mut letters: Vec<&Letter> = letters.into_iter().collect();
    letters.sort_by_key(|letter| (letter.partition, letter.offset));
    letters
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

    /// The open letters that a filter means, in the order of ids.
    pub fn matching<'a, 'f>(&'a self, filter: &'f Filter) -> impl Iterator<Item = &'a Letter> + use<'a, 'f> {
        self.open().filter(|letter| filter.matches(letter))
    }

    /// The open letters with these ids, each once, in the order of ids.
    ///
    /// # Errors
    /// When one of them does not exist or is closed: who names a letter means exactly that one.
    pub fn named<'i>(&self, ids: impl IntoIterator<Item = &'i RecordId>) -> Result<Vec<&Letter>, NotOpen> {
        let ids: BTreeSet<&'i RecordId> = ids.into_iter().collect();
        ids.into_iter()
            .map(|id| match self.get(id) {
                None => Err(NotOpen::Unknown(id.clone())),
                Some(Letter { resolution: Some(how), .. }) => Err(NotOpen::Closed(id.clone(), *how)),
                Some(letter) => Ok(letter),
            })
            .collect()
    }

    /// The open letters that have been dead for longer than `age_max`, if there are any.
    pub fn overdue(&self, now: Timestamp, age_max: Span) -> Option<Overdue> {
        let since = self.open().filter_map(|letter| TimeField::Quarantined.of(&letter.envelope));
        let overdue = since.filter(|since_ms| now.since_ms(Timestamp(*since_ms)) > age_max.as_ms());
        overdue.fold(None, |found: Option<Overdue>, since_ms| {
            let Overdue { count, oldest_ms } = found.unwrap_or(Overdue { count: 0, oldest_ms: since_ms });
            Some(Overdue { count: count + 1, oldest_ms: oldest_ms.min(since_ms) })
        })
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
mod tests;
