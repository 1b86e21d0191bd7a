//! What every implementation of [`Guard`] promises. `conformance_tests!` makes one test of each promise.

use std::time::Duration;

use eddy_topology::effect::{Claim, GuardedEffect, Horizon};

use super::{Claimant, Guard};

pub(super) const INTAKE: Claimant = Claimant(1);
pub(super) const TIER: Claimant = Claimant(2);

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// One place that guards can be opened on, one after the other.
pub(super) trait Subject {
    type Guard: Guard;

    fn open(&self, claim_ttl: Duration) -> Self::Guard;

    fn open_with_long_claims(&self) -> Self::Guard {
        self.open(Duration::from_secs(3600))
    }
}

pub(super) fn effect(idempotency_key: &str) -> GuardedEffect {
    GuardedEffect {
        source: "geofence-triggers".into(),
        sink: "webhook".into(),
        idempotency_key: idempotency_key.into(),
        payload_hash: [1; 16],
    }
}

pub(super) fn with_other_bytes(effect: &GuardedEffect) -> GuardedEffect {
    GuardedEffect { payload_hash: [2; 16], ..effect.clone() }
}

pub(super) async fn claim(guard: &impl Guard, claimant: Claimant, effect: &GuardedEffect) -> Claim {
    guard.claim(claimant, std::slice::from_ref(effect)).await[0]
}

pub(super) async fn lookup(guard: &impl Guard, effect: &GuardedEffect) -> Claim {
    guard.lookup(std::slice::from_ref(effect)).await[0]
}

/// Waits until the mark is answered.
pub(super) async fn answer(guard: &impl Guard, sequence: u64) -> bool {
    guard.hurry();
    let mut progress = guard.progress();
    let answered = progress.wait_for(|progress| progress.answer(sequence).is_some());
    let progress = tokio::time::timeout(PATIENCE, answered).await.expect("an answer in time").expect("a guard");
    progress.answer(sequence).expect("it was waited for")
}

/// Waits until the claim is answered with `wanted`.
async fn becomes(guard: &impl Guard, claimant: Claimant, effect: &GuardedEffect, wanted: Claim) {
    let asked = async {
        while claim(guard, claimant, effect).await != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.expect("the wanted answer in time");
}

pub(super) async fn an_effect_is_granted_to_the_first_that_claims_it_and_to_nobody_else(subject: impl Subject) {
    let guard = subject.open_with_long_claims();

    assert_eq!(claim(&guard, INTAKE, &effect("k")).await, Claim::Granted);

    assert_eq!(claim(&guard, TIER, &effect("k")).await, Claim::Busy);
    assert_eq!(claim(&guard, INTAKE, &effect("k")).await, Claim::Busy);
}

pub(super) async fn one_batch_grants_a_key_once(subject: impl Subject) {
    let guard = subject.open_with_long_claims();

    let answers = guard.claim(INTAKE, &[effect("k"), effect("l"), effect("k")]).await;

    assert_eq!(answers, [Claim::Granted, Claim::Granted, Claim::Busy]);
}

pub(super) async fn a_released_effect_can_be_claimed_again(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    claim(&guard, INTAKE, &effect("k")).await;

    guard.release(INTAKE, &effect("k"));

    becomes(&guard, TIER, &effect("k"), Claim::Granted).await;
}

pub(super) async fn only_the_claimant_can_release(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    claim(&guard, INTAKE, &effect("k")).await;

    guard.release(TIER, &effect("k"));

    assert_eq!(claim(&guard, TIER, &effect("k")).await, Claim::Busy);
}

pub(super) async fn a_claim_ends_by_itself(subject: impl Subject) {
    let guard = subject.open(Duration::from_millis(20));
    claim(&guard, INTAKE, &effect("k")).await;

    becomes(&guard, TIER, &effect("k"), Claim::Granted).await;
}

pub(super) async fn a_marked_effect_is_done_at_once(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    claim(&guard, INTAKE, &effect("recent")).await;
    claim(&guard, INTAKE, &effect("durable")).await;

    guard.mark(&effect("recent"), Horizon::Recent);
    guard.mark(&effect("durable"), Horizon::Durable);

    let answers = guard.claim(TIER, &[effect("recent"), effect("durable")]).await;
    assert_eq!(answers, [Claim::Done, Claim::Done]);
}

pub(super) async fn a_done_key_with_other_bytes_is_a_conflict_and_never_done(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    guard.mark(&effect("recent"), Horizon::Recent);
    guard.mark(&effect("durable"), Horizon::Durable);

    let others = [with_other_bytes(&effect("recent")), with_other_bytes(&effect("durable"))];

    assert_eq!(guard.claim(TIER, &others).await, [Claim::Conflict, Claim::Conflict]);
}

pub(super) async fn a_claimed_key_is_busy_whatever_the_bytes(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    claim(&guard, INTAKE, &effect("k")).await;

    assert_eq!(claim(&guard, TIER, &with_other_bytes(&effect("k"))).await, Claim::Busy);
}

pub(super) async fn sources_and_sinks_do_not_share_keys(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    guard.mark(&effect("k"), Horizon::Recent);

    let elsewhere = [
        GuardedEffect { source: "other".into(), ..effect("k") },
        GuardedEffect { sink: "other".into(), ..effect("k") },
    ];

    assert_eq!(guard.claim(INTAKE, &elsewhere).await, [Claim::Granted, Claim::Granted]);
}

pub(super) async fn a_lookup_claims_nothing(subject: impl Subject) {
    let guard = subject.open_with_long_claims();

    assert_eq!(lookup(&guard, &effect("k")).await, Claim::Granted);
    assert_eq!(claim(&guard, INTAKE, &effect("k")).await, Claim::Granted);
    assert_eq!(lookup(&guard, &effect("k")).await, Claim::Busy);
    guard.mark(&effect("k"), Horizon::Recent);
    assert_eq!(lookup(&guard, &effect("k")).await, Claim::Done);
    assert_eq!(lookup(&guard, &with_other_bytes(&effect("k"))).await, Claim::Conflict);
}

pub(super) async fn every_mark_is_answered_also_when_it_was_made_before(subject: impl Subject) {
    let guard = subject.open_with_long_claims();

    let first = guard.mark(&effect("k"), Horizon::Recent);
    let again = guard.mark(&effect("k"), Horizon::Recent);
    let durable = guard.mark(&effect("k"), Horizon::Durable);

    assert!(first < again && again < durable);
    assert!(answer(&guard, durable).await);
    assert!(answer(&guard, first).await);
}

pub(super) async fn stored_marks_outlive_the_guard_and_claims_do_not(subject: impl Subject) {
    let guard = subject.open_with_long_claims();
    claim(&guard, INTAKE, &effect("claimed")).await;
    guard.mark(&effect("recent"), Horizon::Recent);
    let last = guard.mark(&effect("durable"), Horizon::Durable);
    assert!(answer(&guard, last).await);
    drop(guard);

    let guard = subject.open_with_long_claims();

    let answers = guard.claim(TIER, &[effect("recent"), effect("durable")]).await;
    assert_eq!(answers, [Claim::Done, Claim::Done]);
    becomes(&guard, TIER, &effect("claimed"), Claim::Granted).await;
}

macro_rules! conformance_tests {
    ($subject:expr) => {
        $crate::guard::conformance::conformance_tests!($subject;
            an_effect_is_granted_to_the_first_that_claims_it_and_to_nobody_else
            one_batch_grants_a_key_once
            a_released_effect_can_be_claimed_again
            only_the_claimant_can_release
            a_claim_ends_by_itself
            a_marked_effect_is_done_at_once
            a_done_key_with_other_bytes_is_a_conflict_and_never_done
            a_claimed_key_is_busy_whatever_the_bytes
            sources_and_sinks_do_not_share_keys
            a_lookup_claims_nothing
            every_mark_is_answered_also_when_it_was_made_before
            stored_marks_outlive_the_guard_and_claims_do_not
        );
    };
    ($subject:expr; $($promise:ident)+) => {
        $(#[tokio::test] async fn $promise() {
            $crate::guard::conformance::$promise($subject).await;
        })+
    };
}
pub(super) use conformance_tests;
