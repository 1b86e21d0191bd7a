//! The ledger: claims, marks and generations, without a disk.

use super::*;

const INTAKE: Claimant = Claimant(1);
const TIER: Claimant = Claimant(2);
const CLAIM_TTL_MS: u64 = 1000;

fn ledger() -> Ledger {
    Ledger::new(CLAIM_TTL_MS, 2)
}

fn entry(key: u8) -> Entry {
    Entry { key: Key([key; 16]), fingerprint: Fingerprint([key; 8]) }
}

fn with_other_bytes(entry: Entry) -> Entry {
    Entry { fingerprint: Fingerprint([255; 8]), ..entry }
}

fn nothing_stored(_: Key) -> Result<Option<Fingerprint>, ()> {
    Ok(None)
}

fn claim(ledger: &mut Ledger, claimant: Claimant, entry: Entry, now_ms: u64) -> Claim {
    ledger.claim(claimant, entry, now_ms, nothing_stored)
}

#[test]
fn a_claim_holds_until_its_last_millisecond_and_not_longer() {
    let mut ledger = ledger();
    claim(&mut ledger, INTAKE, entry(1), 5);

    assert_eq!(claim(&mut ledger, TIER, entry(1), 5 + CLAIM_TTL_MS - 1), Claim::Busy);
    assert_eq!(claim(&mut ledger, TIER, entry(1), 5 + CLAIM_TTL_MS), Claim::Granted);
}

#[test]
fn a_release_that_comes_too_late_does_not_end_the_claim_of_the_next() {
    let mut ledger = ledger();
    claim(&mut ledger, INTAKE, entry(1), 0);
    claim(&mut ledger, TIER, entry(1), CLAIM_TTL_MS);

    ledger.release(INTAKE, entry(1).key);

    assert_eq!(claim(&mut ledger, INTAKE, entry(1), CLAIM_TTL_MS), Claim::Busy);
}

#[test]
fn a_mark_that_comes_after_its_claim_has_ended_still_counts() {
    let mut ledger = ledger();
    claim(&mut ledger, INTAKE, entry(1), 0);
    claim(&mut ledger, TIER, entry(1), CLAIM_TTL_MS);

    ledger.mark(entry(1), Horizon::Recent);

    assert_eq!(claim(&mut ledger, TIER, entry(1), CLAIM_TTL_MS), Claim::Done);
}

#[test]
fn what_only_the_durable_store_knows_is_done() {
    let mut ledger = ledger();
    let stored = |_| Ok::<_, ()>(Some(entry(1).fingerprint));

    assert_eq!(ledger.claim(INTAKE, entry(1), 0, stored), Claim::Done);
    assert_eq!(ledger.claim(INTAKE, with_other_bytes(entry(1)), 0, stored), Claim::Conflict);
}

#[test]
fn when_the_durable_store_cannot_answer_nothing_is_granted() {
    let mut ledger = ledger();

    assert_eq!(ledger.claim(INTAKE, entry(1), 0, |_| Err(())), Claim::Unavailable);
    assert_eq!(claim(&mut ledger, INTAKE, entry(1), 0), Claim::Granted);
}

#[test]
fn the_first_payload_of_a_key_stands() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);

    ledger.mark(with_other_bytes(entry(1)), Horizon::Recent);

    assert_eq!(claim(&mut ledger, INTAKE, entry(1), 0), Claim::Done);
    assert_eq!(ledger.take_group().recent, [entry(1)]);
}

#[test]
fn a_group_holds_what_was_marked_since_the_last() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);
    let group = ledger.take_group();
    ledger.group_stored(&group);

    ledger.mark(entry(2), Horizon::Recent);
    ledger.mark(entry(3), Horizon::Durable);

    let group = ledger.take_group();
    assert_eq!((group.recent, group.durable, group.last), (vec![entry(2)], vec![entry(3)], 3));
}

#[test]
fn a_refused_group_stays_done_and_comes_again_before_what_was_marked_later() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);
    ledger.mark(entry(2), Horizon::Durable);
    let group = ledger.take_group();
    ledger.mark(entry(3), Horizon::Recent);

    ledger.group_refused(group);

    assert_eq!(claim(&mut ledger, INTAKE, entry(1), 0), Claim::Done);
    assert_eq!(claim(&mut ledger, INTAKE, entry(2), 0), Claim::Done);
    let group = ledger.take_group();
    assert_eq!((group.recent, group.durable), (vec![entry(1), entry(3)], vec![entry(2)]));
}

#[test]
fn marks_that_are_made_again_while_the_disk_fails_take_no_more_memory() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);
    ledger.mark(entry(2), Horizon::Durable);
    let group = ledger.take_group();
    ledger.group_refused(group);

    ledger.mark(entry(1), Horizon::Recent);
    ledger.mark(entry(2), Horizon::Durable);

    let group = ledger.take_group();
    assert_eq!((group.recent, group.durable, group.last), (vec![entry(1)], vec![entry(2)], 4));
}

#[test]
fn an_effect_is_remembered_through_one_whole_generation_after_its_own() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);

    drop(ledger.rotate(Generation::new()));
    assert_eq!(claim(&mut ledger, INTAKE, entry(1), 0), Claim::Done);

    drop(ledger.rotate(Generation::new()));
    assert_eq!(claim(&mut ledger, INTAKE, entry(1), 0), Claim::Granted);
}

#[test]
fn an_effect_that_is_marked_again_in_a_later_generation_is_stored_again() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);
    let group = ledger.take_group();
    ledger.group_stored(&group);
    drop(ledger.rotate(Generation::new()));

    ledger.mark(entry(1), Horizon::Recent);

    assert_eq!(ledger.take_group().recent, [entry(1)]);
}

#[test]
fn a_generation_is_full_when_it_has_as_many_keys_as_it_may() {
    let mut ledger = ledger();
    ledger.mark(entry(1), Horizon::Recent);
    assert!(!ledger.generation_is_full());

    ledger.mark(entry(2), Horizon::Recent);

    assert!(ledger.generation_is_full());
}

#[test]
fn claims_that_nobody_ends_do_not_pile_up() {
    let mut ledger = ledger();
    claim(&mut ledger, INTAKE, entry(1), 0);
    claim(&mut ledger, INTAKE, entry(2), 1);

    ledger.forget_expired_claims(CLAIM_TTL_MS);

    assert_eq!(ledger.claims.len(), 1);
}
