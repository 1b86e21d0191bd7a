//! What the fold promises.

use eddy_contract::envelope::Origin;

use super::{sample::fold, *};

fn letter(offset: i64) -> Envelope {
    let origin = Origin { topic: "source".into(), partition: 0, offset, timestamp_ms: None, part: 0 };
    let mut envelope = Envelope::new(origin, b"payload".to_vec());
    envelope.reason = Some("terminal:invalid_json".into());
    envelope
}

fn resolution(of: &Envelope, how: Resolution) -> Envelope {
    Envelope { resolution: Some(how), payload_b64: None, actor: Some("maria".into()), ..of.clone() }
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

#[test]
fn who_names_a_letter_means_exactly_that_one() {
    let (a, b) = (letter(1), letter(2));
    let letters = fold([a.clone(), b.clone(), resolution(&b, Resolution::Discarded)]);

    let named = letters.named([&a.id, &a.id]).unwrap();

    assert_eq!(named.iter().map(|letter| &letter.envelope.id).collect::<Vec<_>>(), [&a.id]);
    assert_eq!(letters.named([&a.id, &b.id]), Err(NotOpen::Closed(b.id.clone(), Resolution::Discarded)));
    let unknown = letter(3).id;
    assert_eq!(letters.named([&unknown]), Err(NotOpen::Unknown(unknown.clone())));
}

#[test]
fn a_filter_means_open_letters_only() {
    let (a, b) = (letter(1), letter(2));

    let letters = fold([a.clone(), b.clone(), resolution(&b, Resolution::Discarded)]);

    assert_eq!(letters.matching(&Filter::default()).map(|letter| &letter.envelope.id).collect::<Vec<_>>(), [&a.id]);
}

#[test]
fn letters_that_have_waited_for_longer_than_allowed_are_counted_from_the_oldest() {
    let dead = |offset, since_ms: i64| Envelope { quarantined_at_ns: Some(since_ms * 1_000_000), ..letter(offset) };
    let closed = dead(4, 0);
    let letters = fold([
        dead(1, 20),
        dead(2, 10),
        dead(3, 30),
        closed.clone(),
        resolution(&closed, Resolution::Unparked),
        letter(5),
    ]);
    let after = |now_ms| letters.overdue(Timestamp(now_ms), Span::from_ms(100));

    assert_eq!(after(110), None);
    assert_eq!(after(121), Some(Overdue { count: 2, oldest_ms: 10 }));
}
