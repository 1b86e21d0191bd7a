//! When a failed trigger is tried again, on real tiers.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use crate::{
    downstream::{Received, Reply, contains},
    harness::{Road, devices},
};

/// The host reckons in milliseconds, so an instant may be one of them off.
const GRAIN: Duration = Duration::from_millis(1);

fn pauses(tries: &[Received]) -> Vec<Duration> {
    tries.windows(2).map(|pair| pair[1].at - pair[0].at + GRAIN).collect()
}

/// C1, C2: each retry waits for the delay of the tier that it enters, counted from the failure, and is never early.
#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_always_gets_503_among_healthy_ones_climbs_every_tier_never_early_and_is_exhausted() {
    let mut road = Road::start("", |body| if contains(body, "hopeless") { 503 } else { 200 }).await;

    road.triggers(devices(50)).await;
    let id = road.triggers(["hopeless"]).await.remove(0);
    road.triggers(devices(50)).await;
    road.until_resolved().await;

    let dead = road.dead_letter(&id).await;
    assert_eq!(dead.reason(), "exhausted:unavailable");
    assert_eq!(dead.envelope.attempts.delivery, 4);
    let failed_at: Vec<i64> = dead.envelope.failures.iter().map(|failure| failure.at).collect();
    let waits: Vec<i64> = failed_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.len() == 3 && waits[0] >= 200 && waits[1] >= 400 && waits[2] >= 800, "{waits:?}");
    let tries = road.received("hopeless");
    let attempts: Vec<&str> = tries.iter().map(|request| request.header("eddy-attempt")).collect();
    assert_eq!(attempts, ["1", "2", "3", "4"]);
    let early = pauses(&tries).into_iter().zip([200, 400, 800]).find(|(pause, ms)| *pause < Duration::from_millis(*ms));
    assert_eq!(early, None);
    road.assert_taken_once_each(100);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_gets_400_is_a_dead_letter_after_one_attempt() {
    let refused =
        |body: &[u8]| if contains(body, "refused") { Reply::from(400).body("no such fence") } else { 200.into() };
    let mut road = Road::start("", refused).await;

    let id = road.triggers(["refused"]).await.remove(0);
    road.triggers(devices(20)).await;
    road.until_resolved().await;

    let dead = road.dead_letter(&id).await;
    assert_eq!(dead.reason(), "terminal:rejected");
    assert_eq!(dead.envelope.attempts.delivery, 1);
    assert_eq!(dead.envelope.failures[0].message, "no such fence");
    assert_eq!(road.received("refused").len(), 1);
    road.assert_taken_once_each(20);
    road.finish().await;
}

/// C37: 429 is a wish for time and not a refusal.
#[tokio::test(flavor = "multi_thread")]
async fn a_429_waits_on_the_smallest_tier_that_is_as_long_as_retry_after() {
    let asked = AtomicUsize::new(0);
    let script = move |_: &[u8]| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::from(429).header("retry-after", "1"),
        _ => 200.into(),
    };
    let mut road = Road::start("retry.tiers = ['200ms', '1s', '2s']", script).await;

    road.triggers(["throttled"]).await;
    road.until_resolved().await;

    let tries = road.received("throttled");
    assert_eq!(tries.len(), 2);
    assert!(pauses(&tries)[0] >= Duration::from_secs(1), "{tries:?}");
    let tiers = road.names().tiers.clone();
    assert_eq!(road.records(&tiers[0]).await.len(), 0);
    assert_eq!(road.records(&tiers[1]).await.len(), 1);
    assert!(road.dead_letters().await.is_empty());
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_on_a_tier_that_a_new_definition_no_longer_has_is_delivered_all_the_same() {
    let mut road = Road::start("retry.tiers = ['3s', '4s', '5s']", |_: &[u8]| 503).await;
    let tier = road.names().tiers[0].clone();
    road.triggers(["healing"]).await;
    road.until("the trigger is on its tier", |road| road.counts().scheduled == 1).await;

    road.stop().await;
    road.downstream.answers(|_| 200);
    road.redefine("[retry]\ntiers = ['200ms', '400ms']\nceiling = 2");
    road.go_on().await;
    road.until_resolved().await;

    road.assert_taken_once_each(1);
    assert_eq!(road.records(&tier).await.len(), 1);
    let report = road.audit().await;
    assert!(report.conserved, "{report:?}");
    assert_eq!((report.delivered, report.on_tiers["3s"]), (1, 0));
    road.finish().await;
}
