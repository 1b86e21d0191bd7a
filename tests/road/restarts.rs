//! Eddy and the broker stop and start again: nothing is lost, and what was delivered is not sent twice.

use std::time::Duration;

use eddy::broker::admin;

use crate::{
    downstream::Reply,
    harness::{Road, devices},
};

fn slow(_: &[u8]) -> Reply {
    Reply::from(200).after(Duration::from_millis(20))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_stopped_under_load_loses_nothing_and_sends_nothing_twice() {
    let mut road = Road::start("source.partitions = 2", slow).await;
    road.triggers(devices(600)).await;

    for stop in 1..=3 {
        road.until("some more are delivered", |road| road.downstream.requests() > 100 * stop).await;
        road.stop().await;
        road.go_on().await;
    }
    road.until_resolved().await;

    road.assert_taken_once_each(600);
    let report = road.audit().await;
    assert!(report.conserved, "{report:?}");
    assert_eq!((report.delivered, report.copies), (600, 0));
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_outlives_the_broker_and_goes_on_where_it_was() {
    let mut road = Road::start("", slow).await;
    if !road.cluster.is_own() {
        println!("skipped: the cluster of EDDY_TEST_CLUSTER is not restarted");
        return road.finish().await;
    }
    road.triggers(devices(300)).await;
    road.until("some are delivered", |road| road.counts().delivered > 50).await;

    road.cluster.restart(Duration::from_millis(500)).await;
    road.triggers(devices(100)).await;
    road.until_resolved().await;

    road.assert_taken_once_each(400);
    assert!(road.audit().await.conserved);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_and_tiers_outlive_the_broker_too() {
    let mut road = Road::start("retry.tiers = ['1s', '2s', '3s']", |_: &[u8]| 503).await;
    if !road.cluster.is_own() {
        println!("skipped: the cluster of EDDY_TEST_CLUSTER is not restarted");
        return road.finish().await;
    }
    road.triggers(["first", "second"]).await;
    road.until("both are on a tier", |road| road.counts().scheduled >= 2).await;

    road.cluster.restart(Duration::from_millis(500)).await;
    road.downstream.answers(|_| 200);
    road.until_resolved().await;

    road.assert_taken_once_each(2);
    assert_eq!(road.dead_letters().await.len(), 0);
    road.finish().await;
}

/// A machine that lost its power lost what was only in the page cache: the log ends before the position.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_goes_on_at_the_end_of_a_log_that_the_broker_lost() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    if !road.cluster.is_own() {
        println!("skipped: the cluster of EDDY_TEST_CLUSTER is not restarted");
        return road.finish().await;
    }
    road.triggers(devices(20)).await;
    road.until_resolved().await;

    let source = road.names().source.to_string();
    let lose = |topics: &std::path::Path| std::fs::remove_dir_all(topics.join(source)).unwrap();
    road.cluster.restart_after(Duration::ZERO, lose).await;
    road.until("the host has found the log's end", |road| road.intake_position() == 0).await;
    road.triggers(devices(30)).await;
    road.until_resolved().await;

    road.assert_taken_once_each(50);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_goes_on_without_a_leftover_tier_that_is_deleted_and_ends_when_its_source_is() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    let leftover = road.names().tiers[0].to_string();
    let source = road.names().source.to_string();
    road.stop().await;
    road.redefine("[retry]\ntiers = ['300ms', '600ms', '900ms']");
    road.go_on().await;

    admin::delete_topic(&road.cluster.cluster, &leftover).await.unwrap();
    road.triggers(devices(10)).await;
    road.until("all are delivered", |road| road.counts().delivered == 10).await;
    admin::delete_topic(&road.cluster.cluster, &source).await.unwrap();
    let error = road.until_the_host_fails().await;

    assert_eq!(error, format!("topic `{source}` does not exist"));
    road.finish().await;
}

/// C58: the last position is stored although no later record pushes it along.
#[tokio::test(flavor = "multi_thread")]
async fn the_position_behind_the_last_record_is_stored_while_nothing_more_comes() {
    const PATIENCE: Duration = Duration::from_secs(30);
    let mut road = Road::start("", |_: &[u8]| 200).await;

    road.triggers(["only"]).await;
    road.until_resolved().await;

    let stored = async {
        while road.stored_intake_position().await != 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, stored).await.expect("it is stored without another record");
    road.finish().await;
}
