//! What an operator decides about a letter, as the record that says so.
//!
//! Nothing is ever taken out of a log: to discard is to append a record of the same id, key and partition that closes
//! the letter, with who and why.

use eddy_contract::{
    Envelope,
    envelope::{Attempts, Resolution, VERSION},
};

/// Who decides, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// A person, `maria@host`.
    pub actor: String,
    /// In their words, at most [`NOTE_BYTES_MAX`](eddy_contract::envelope::NOTE_BYTES_MAX) bytes of it are kept.
    pub note: Option<String>,
}

/// The record that closes a letter. It keeps what a reader of the log asks for (the reason, the key of the effect) and
/// neither payload nor failures: the letter has those.
pub fn resolution(letter: &Envelope, how: Resolution, by: &By) -> Envelope {
    Envelope {
        v: VERSION,
        payload_b64: None,
        attempts: letter.attempts,
        idempotency_key: letter.idempotency_key.clone(),
        reason: letter.reason.clone(),
        revision: letter.revision,
        resolution: Some(how),
        actor: Some(by.actor.clone()),
        note: by.note.clone(),
        ..Envelope::new(letter.origin.clone(), Vec::new())
    }
}

/// A parked letter as it goes back to the dead letters: open, and as if it had never been replayed. It is a revision of
/// its own, or the dead letters would take it for a copy of what they have closed.
#[must_use]
pub fn unparked(parked: Envelope, by: &By) -> Envelope {
    Envelope {
        v: VERSION,
        attempts: Attempts { replay: 0, ..parked.attempts },
        revision: parked.revision.saturating_add(1),
        job: None,
        resolution: None,
        actor: Some(by.actor.clone()),
        note: by.note.clone(),
        ..parked
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{self, fold},
        *,
    };

    fn by() -> By {
        By { actor: "maria".into(), note: Some("INC-7".into()) }
    }

    /// A letter that was replayed three times.
    fn replayed() -> Envelope {
        let mut letter = sample::letter(7, "s", "terminal:rejected").envelope;
        letter.attempts = Attempts { delivery: 4, replay: 3 };
        letter
    }

    #[test]
    fn a_resolution_closes_its_letter_and_says_who_and_why() {
        let record = resolution(&replayed(), Resolution::Discarded, &by());

        let letters = fold([replayed(), record.clone()]);

        assert_eq!(letters.get(&record.id).unwrap().resolution, Some(Resolution::Discarded));
        assert_eq!((record.actor.as_deref(), record.note.as_deref()), (Some("maria"), Some("INC-7")));
        assert_eq!(record.reason.as_deref(), Some("terminal:rejected"));
    }

    #[test]
    fn a_resolution_carries_neither_payload_nor_failures() {
        let record = resolution(&replayed(), Resolution::Expired, &by());

        assert_eq!((record.payload(), record.failures.len()), (None, 0));
    }

    #[test]
    fn an_unparked_letter_is_open_again_among_the_dead_ones_with_a_fresh_replay_count() {
        let parked = resolution(&replayed(), Resolution::Parked, &by());

        let letters = fold([replayed(), parked, unparked(replayed(), &by())]);

        let letter = letters.open().next().unwrap();
        assert_eq!(letter.envelope.attempts, Attempts { delivery: 4, replay: 0 });
        assert_eq!(letter.payload_bytes, 22);
    }

    #[test]
    fn unparking_twice_because_of_a_crash_is_unparking_once() {
        let letters = fold([replayed(), unparked(replayed(), &by()), unparked(replayed(), &by())]);

        assert_eq!((letters.open().count(), letters.copies()), (1, 1));
    }

    #[test]
    fn a_letter_that_is_parked_anew_is_open_among_the_parked() {
        let unparked = unparked(replayed(), &by());
        let closed = resolution(&replayed(), Resolution::Unparked, &by());

        let letters = fold([replayed(), closed.clone(), Envelope { job: Some("job-2".into()), ..unparked }]);

        assert_eq!(letters.open().count(), 1);
        assert_eq!(fold([replayed(), closed]).open().count(), 0);
    }
}
