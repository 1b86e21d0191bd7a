//! A repair: the same letter with other bytes, as a revision of its own.
//!
//! What the producer sent stays in the envelope, whatever number of repairs follows. The copies of what the trigger says
//! and the key of its effect follow the new bytes, because these are what will be delivered; the failures stay, they
//! are why somebody had to look. Bytes that `validate` would dead-letter again are refused unless they are forced: the
//! judge is the caller's, its verdict is given here.

use eddy_contract::{
    Code, Envelope, Header, Verdict,
    envelope::{ENCODED_BYTES_MAX, OVERHEAD_BYTES_MAX, Payload, Resolution, VERSION},
};

use super::resolve::By;
use crate::topology::Topology;

/// Why a letter is not repaired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Somebody has decided about it.
    #[error("it is closed: {}", .0.as_str())]
    Closed(Resolution),
    /// There are no bytes to repair.
    #[error("its payload was too large to be kept")]
    Elided,
    /// The bytes are the same.
    #[error("nothing would change")]
    Unchanged,
    /// It would be a dead letter again.
    #[error("the repaired payload is not valid: {code}{}", in_brackets(.detail))]
    Invalid {
        /// What `validate` finds.
        code: Code,
        /// What exactly; may be empty.
        detail: String,
    },
    /// The broker takes no record with both in it.
    #[error("original and repaired payload together have {bytes} bytes of base64, {max} fit a record", max = payloads_max())]
    TooLarge {
        /// Of both, as base64.
        bytes: usize,
    },
}

fn in_brackets(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

const fn payloads_max() -> usize {
    ENCODED_BYTES_MAX - OVERHEAD_BYTES_MAX
}

/// The next revision of a letter, with `payload` in place of its own. `judged` is what `validate` says of `payload`.
///
/// # Errors
/// See [`Error`]. `force` takes a payload that is not valid.
pub fn repair(
    letter: Envelope,
    payload: Vec<u8>,
    judged: &Header<'_>,
    topology: &Topology,
    by: &By,
    force: bool,
) -> Result<Envelope, Error> {
    if let Some(how) = letter.resolution {
        return Err(Error::Closed(how));
    }
    let before = letter.payload_b64.clone().ok_or(Error::Elided)?;
    if before.0 == payload {
        return Err(Error::Unchanged);
    }
    let is_valid = judged.verdict == Verdict::Valid;
    if !is_valid && !force {
        return Err(Error::Invalid { code: judged.code, detail: judged.detail.to_owned() });
    }
    let original = letter.original_b64.clone().unwrap_or(before);
    let bytes = Payload::base64_length(original.0.len()) + Payload::base64_length(payload.len());
    if bytes > payloads_max() {
        return Err(Error::TooLarge { bytes });
    }
    let key = is_valid.then(|| topology.effect_of(judged, &payload).idempotency_key.to_string());
    let mut repaired = Envelope {
        v: VERSION,
        payload_b64: Some(Payload(payload)),
        original_b64: Some(original),
        idempotency_key: key.or_else(|| letter.idempotency_key.clone()),
        revision: letter.revision.saturating_add(1),
        job: None,
        actor: Some(by.actor.clone()),
        note: by.note.clone(),
        ..letter
    };
    // These bytes have never been replayed.
    repaired.attempts.replay = 0;
    copy(judged, &mut repaired, is_valid);
    Ok(repaired)
}

/// Copies what the trigger says. Of bytes that are not valid only what could be read replaces what was known.
fn copy(said: &Header<'_>, letter: &mut Envelope, is_valid: bool) {
    let fields = [
        (&mut letter.device, said.device),
        (&mut letter.fence, said.fence),
        (&mut letter.transition, said.transition),
        (&mut letter.traceparent, said.traceparent),
        (&mut letter.correlation_id, said.correlation_id),
        (&mut letter.schema_version, said.schema_version),
    ];
    for (copy, said) in fields {
        if !said.is_empty() {
            *copy = Some(said.to_owned());
        } else if is_valid {
            *copy = None;
        }
    }
    if said.event_time_ns != 0 {
        letter.event_time_ns = Some(said.event_time_ns);
    }
}

#[cfg(test)]
mod tests {
    use eddy_contract::{RecordView, envelope::Attempts};

    use super::{
        super::{Letters, sample},
        *,
    };
    use crate::Definition;

    const GOOD: &str = r#"{"device_id":"van-17","fence_id":"depot","transition":"ENTER","event_time_ns":1796000000000000000,"lat":1,"lon":2}"#;

    fn by() -> By {
        By { actor: "maria".into(), note: None }
    }

    /// A letter whose replay failed twice.
    fn letter() -> Envelope {
        let mut letter = sample::letter(1_796_000_000_000, "s", "terminal:missing_field").envelope;
        letter.attempts = Attempts { delivery: 0, replay: 2 };
        letter.correlation_id = Some("of the old bytes".into());
        letter
    }

    fn repaired(letter: Envelope, payload: &str, force: bool) -> Result<Envelope, Error> {
        judged(payload, |header, topology| repair(letter, payload.into(), header, topology, &by(), force))
    }

    fn judged<T>(payload: &str, then: impl FnOnce(&Header<'_>, &Topology) -> T) -> T {
        let view = RecordView { key: None, value: payload.as_bytes(), offset: 1, timestamp_ms: 1_796_000_000_000 };
        let mut output = Vec::new();
        eddy_validate::judge(view, &eddy_validate::Params::default(), &mut output);
        let (header, _) = Header::decode(&output).unwrap();
        then(&header, &Topology::try_new(&Definition::default()).unwrap())
    }

    #[test]
    fn a_repair_is_a_new_revision_that_keeps_what_the_producer_sent() {
        let once = repaired(letter(), GOOD, false).unwrap();
        let twice = repaired(once.clone(), &GOOD.replace("depot", "yard"), false).unwrap();

        assert_eq!((once.revision, once.payload()), (1, Some(GOOD.as_bytes())));
        assert_eq!((twice.revision, &twice.original_b64), (2, &letter().payload_b64));
        assert_eq!(once.actor.as_deref(), Some("maria"));
        assert_eq!((&once.id, &once.failures), (&letter().id, &letter().failures));
    }

    #[test]
    fn a_repaired_letter_stands_in_place_of_the_broken_one_and_has_never_been_replayed() {
        let mut letters = Letters::default();
        letters.add(0, 0, letter());

        letters.add(0, 1, repaired(letter(), GOOD, false).unwrap());

        let open: Vec<_> = letters.open().map(|letter| (letter.offset, letter.envelope.attempts.replay)).collect();
        assert_eq!(open, [(1, 0)]);
    }

    #[test]
    fn what_the_letter_says_of_its_trigger_follows_the_bytes() {
        let repaired = repaired(letter(), GOOD, false).unwrap();

        assert_eq!((repaired.device.as_deref(), repaired.fence.as_deref()), (Some("van-17"), Some("depot")));
        assert_eq!(repaired.event_time_ns, Some(1_796_000_000_000_000_000));
        assert_eq!(repaired.correlation_id, None);
    }

    #[test]
    fn the_key_is_the_one_that_a_delivery_of_these_bytes_has() {
        let own = GOOD.replace("\"lat\"", "\"idempotency_key\":\"own\",\"lat\"");

        let derived = repaired(letter(), GOOD, false).unwrap().idempotency_key;

        assert_eq!(repaired(letter(), &own, false).unwrap().idempotency_key.as_deref(), Some("own"));
        assert_eq!(derived.map(|key| key.len()), Some(64));
    }

    #[test]
    fn bytes_that_would_be_a_dead_letter_again_are_refused_unless_forced() {
        let bad = GOOD.replace("\"lat\":1", "\"lat\":200");
        let known = Envelope { idempotency_key: Some("as it was".into()), ..letter() };

        let refused = repaired(known.clone(), &bad, false).unwrap_err();
        let forced = repaired(known, &bad, true).unwrap();

        assert!(refused.to_string().starts_with("the repaired payload is not valid: latitude_out_of_range ("));
        assert_eq!((forced.payload(), forced.idempotency_key.as_deref()), (Some(bad.as_bytes()), Some("as it was")));
    }

    #[test]
    fn a_closed_letter_an_elided_one_and_the_same_bytes_are_not_repaired() {
        let closed = Envelope { resolution: Some(Resolution::Discarded), ..letter() };
        let elided = Envelope { payload_b64: None, ..letter() };

        assert_eq!(repaired(closed, GOOD, true), Err(Error::Closed(Resolution::Discarded)));
        assert_eq!(repaired(elided, GOOD, true), Err(Error::Elided));
        assert_eq!(repaired(letter(), r#"{"device_id":"van-17"}"#, true), Err(Error::Unchanged));
    }

    #[test]
    fn two_payloads_that_fit_no_record_together_are_refused() {
        let large = Envelope { payload_b64: Some(Payload(vec![b'x'; payloads_max() / 4 * 3])), ..letter() };

        let error = repaired(large, GOOD, false).unwrap_err();

        assert!(matches!(error, Error::TooLarge { bytes } if bytes > payloads_max()), "{error}");
    }
}
