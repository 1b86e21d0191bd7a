//! Positions in Fluvio's consumer offsets (M12).

use std::time::Duration;

use eddy::broker::{
    Offsets, Writer,
    positions::{self, Committer, Origin, Position},
};
use fluvio::{
    Fluvio, FluvioClusterConfig, Offset,
    consumer::{ConsumerConfigExtBuilder, OffsetManagementStrategy},
};
use futures_util::StreamExt;

use crate::cluster::TestCluster;

async fn with_records(test: &TestCluster, count: usize) -> String {
    let topic = test.topic("positions").await;
    let entries = (0..count).map(|number| (None, format!("{number}").into())).collect();
    Writer::new(&test.cluster).write_all(&topic, 0, entries).await.unwrap();
    topic
}

async fn load(test: &TestCluster, consumer: &str, topic: &str) -> Position {
    positions::load(&test.cluster, consumer, topic, 0).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_never_committed_begins_at_the_beginning_of_the_log() {
    let test = TestCluster::start().await;
    let topic = with_records(&test, 5).await;

    let position = load(&test, "eddy-test-new", &topic).await;

    assert_eq!(position, Position { offset: 0, origin: Origin::Beginning, log: Offsets { start: 0, end: 5 } });
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_position_is_stored_forward_and_backward() {
    let test = TestCluster::start().await;
    let topic = with_records(&test, 50).await;
    let consumer = test.name("any");
    let mut committer = Committer::new(&test.cluster, &consumer, &topic, 0);

    for position in [10, 43, 7, 0, 50] {
        committer.commit(position).await.unwrap();

        let loaded = load(&test, &consumer, &topic).await;
        assert_eq!((loaded.offset, loaded.origin), (position, Origin::Stored));
    }
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_consumer_goes_on_exactly_at_the_position() {
    let test = TestCluster::start().await;
    let topic = with_records(&test, 50).await;
    let consumer = test.name("stock");
    Committer::new(&test.cluster, &consumer, &topic, 0).commit(44).await.unwrap();

    let fluvio = Fluvio::connect_with_config(&FluvioClusterConfig::new(test.cluster.address())).await.unwrap();
    let config = ConsumerConfigExtBuilder::default()
        .topic(&topic)
        .partition(0)
        .offset_start(Offset::beginning())
        .offset_consumer(&consumer)
        .offset_strategy(OffsetManagementStrategy::Manual)
        .build()
        .unwrap();
    let first = fluvio.consumer_with_config(config).await.unwrap().next().await.unwrap().unwrap();

    assert_eq!(first.offset(), 44);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_beyond_the_end_of_the_log_is_clamped_and_reported() {
    let test = TestCluster::start().await;
    let topic = with_records(&test, 5).await;
    let consumer = test.name("beyond");
    Committer::new(&test.cluster, &consumer, &topic, 0).commit(5_000_000).await.unwrap();

    let position = load(&test, &consumer, &topic).await;

    assert_eq!((position.offset, position.origin), (5, Origin::Clamped { stored: 5_000_000 }));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_survive_a_restart_of_the_broker_and_commits_go_on() {
    let mut test = TestCluster::start().await;
    if !test.is_own() {
        return println!("skipped: only a test's own node is restarted");
    }
    let topic = with_records(&test, 50).await;
    let consumer = test.name("restart");
    let mut committer = Committer::new(&test.cluster, &consumer, &topic, 0);
    committer.commit(20).await.unwrap();

    test.restart(Duration::from_millis(200)).await;

    assert_eq!(load(&test, &consumer, &topic).await.offset, 20);
    committer.commit(21).await.unwrap();
    assert_eq!(load(&test, &consumer, &topic).await.offset, 21);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_stays_usable_while_records_arrive_that_it_never_reads() {
    let test = TestCluster::start().await;
    let topic = with_records(&test, 5).await;
    let consumer = test.name("busy");
    let writer = Writer::new(&test.cluster);
    let mut committer = Committer::new(&test.cluster, &consumer, &topic, 0);

    for position in 0..100 {
        writer.write(&topic, 0, None, vec![0; 10_000].into()).await.unwrap();
        committer.commit(position).await.unwrap();
    }

    assert_eq!(load(&test, &consumer, &topic).await.offset, 99);
    test.finish().await;
}

/// A shared cluster does not fill up with what tests leave behind.
#[tokio::test(flavor = "multi_thread")]
async fn positions_of_a_test_are_gone_when_it_has_cleared_up() {
    let test = TestCluster::start().await;
    let topic = with_records(&test, 5).await;
    Committer::new(&test.cluster, "eddy-test-left", &topic, 0).commit(3).await.unwrap();

    test.forget_positions().await;

    assert_eq!(load(&test, "eddy-test-left", &topic).await.origin, Origin::Beginning);
    test.finish().await;
}
