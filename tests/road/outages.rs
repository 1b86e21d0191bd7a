//! An outage costs lag, never a dead letter.

use std::{collections::BTreeSet, time::Duration};

use eddy::dev::resolved::End;
use eddy_topology::gate::Status;

use crate::{
    downstream::{Reply, contains},
    harness::{Road, devices},
};

/// C34: the breaker opens before an outage is dead-lettered, and everything is delivered when it is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_downstream_that_answers_503_under_load_gets_everything_afterwards_and_nothing_is_dead_lettered() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    road.triggers(devices(100)).await;
    road.until("some are delivered", |road| road.counts().delivered > 0).await;

    road.downstream.answers(|_| 503);
    road.triggers(devices(200)).await;
    road.until("the breaker is open", |road| road.sink_status() == Status::Tripped).await;
    road.triggers(devices(100)).await;
    let failed = road.downstream.received().iter().filter(|request| !request.was_taken()).count();
    road.until("probes went out", |road| {
        road.downstream.received().iter().filter(|request| !request.was_taken()).count() >= failed + 3
    })
    .await;
    road.downstream.answers(|_| 200);
    road.until_resolved().await;

    assert_eq!(road.dead_letters().await.len(), 0);
    road.assert_taken_once_each(400);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_downstream_that_goes_away_and_comes_back_gets_everything_and_nothing_is_dead_lettered() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    road.triggers(devices(100)).await;
    road.until_resolved().await;

    road.downstream.go_away().await;
    road.triggers(devices(200)).await;
    road.until("the breaker is open", |road| road.sink_status() == Status::Tripped).await;
    road.downstream.come_back().await;
    road.until_resolved().await;

    assert_eq!(road.dead_letters().await.len(), 0);
    road.assert_taken_once_each(300);
    road.finish().await;
}

/// C7: a blip costs one attempt of one record at most, and nothing leaves its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_downstream_that_is_away_for_200ms_under_load_costs_nothing_but_the_wait() {
    const BLIP: Duration = Duration::from_millis(200);
    let mut road = Road::start("sink.breaker.blip_delay = '1s'", |_: &[u8]| 200).await;
    road.triggers(["before"]).await;
    road.until_resolved().await;

    road.downstream.go_away().await;
    road.triggers(devices(100)).await;
    road.until("a connection was refused", |road| road.sink_status() != Status::Flowing).await;
    tokio::time::sleep(BLIP).await;
    road.downstream.come_back().await;
    road.until_resolved().await;

    road.assert_taken_once_each(101);
    assert_eq!(road.counts().failed_attempts, 1);
    assert_eq!(road.records(&road.names().failures.clone()).await.len(), 0);
    assert_eq!(road.dead_letters().await.len(), 0);
    road.finish().await;
}

/// C41: a redirect is no success, is not followed, and is the sink's fault and no record's.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_never_followed_and_dead_letters_nothing() {
    const ELSEWHERE: &str = "http://127.0.0.1:9/elsewhere";
    let mut road = Road::start("", |_: &[u8]| 200).await;

    for status in [301, 302, 303, 307, 308] {
        road.downstream.answers(move |_| Reply::from(status).header("location", ELSEWHERE));
        road.triggers(devices(10)).await;
        road.until("the breaker is open", |road| road.sink_status() == Status::Tripped).await;
        let asked = road.downstream.requests();
        road.until("probes went out", |road| road.downstream.requests() >= asked + 2).await;
        assert_eq!(road.location_shown().as_deref(), Some(ELSEWHERE));
        road.downstream.answers(|_| 200);
        road.until_resolved().await;
    }

    let methods: BTreeSet<String> = road.downstream.received().into_iter().map(|request| request.method).collect();
    assert_eq!(methods, BTreeSet::from(["POST".to_owned()]));
    assert_eq!(road.counts().failed_attempts, 0);
    assert_eq!(road.dead_letters().await.len(), 0);
    road.assert_taken_once_each(50);
    road.finish().await;
}

/// Nine triggers that fail four times each are 36 failures in a row and no outage.
#[tokio::test(flavor = "multi_thread")]
async fn hopeless_triggers_at_the_end_of_the_input_are_exhausted_and_waiting_for_them_ends() {
    let mut road = Road::start("", |body| if contains(body, "hopeless") { 503 } else { 200 }).await;
    road.triggers(devices(50)).await;
    road.until_resolved().await;

    let ids = road.triggers((0..9).map(|number| format!("hopeless-{number}"))).await;
    road.until_resolved().await;

    assert_eq!(road.sink_status(), Status::Flowing);
    for id in &ids {
        let dead = road.dead_letter(id).await;
        assert_eq!((dead.reason(), dead.envelope.attempts.delivery), ("exhausted:unavailable", 4));
    }
    road.assert_taken_once_each(50);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_stop_the_sink_and_dead_letter_nothing() {
    let mut road = Road::start("", |_: &[u8]| 401).await;

    road.triggers(devices(50)).await;
    road.until("the breaker is open", |road| road.sink_status() == Status::Tripped).await;
    road.downstream.answers(|_| 200);
    road.until_resolved().await;

    assert_eq!(road.counts().failed_attempts, 0);
    assert_eq!(road.dead_letters().await.len(), 0);
    road.assert_taken_once_each(50);
    road.finish().await;
}

/// C42: 410 means stop; what waits is held and not burnt on tiers.
#[tokio::test(flavor = "multi_thread")]
async fn a_410_suspends_the_sink_and_holds_everything_until_eddy_is_started_again() {
    let mut road = Road::start("", |_: &[u8]| 410).await;

    road.triggers([&"one-device"; 20]).await;
    assert_eq!(road.end_of_waiting().await, End::Suspended, "nobody waits for a sink that asked to stop");
    let report = road.audit().await;
    assert!(report.conserved, "{report:?}");
    assert_eq!((report.in_flight, report.dead_lettered), (20, 0));
    assert_eq!(road.downstream.requests(), 1, "it asked to stop");
    road.stop().await;
    road.downstream.answers(|_| 200);
    road.go_on().await;
    road.until_resolved().await;

    assert_eq!(road.dead_letters().await.len(), 0);
    road.assert_taken_once_each(20);
    road.finish().await;
}
