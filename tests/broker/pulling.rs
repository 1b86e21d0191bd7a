//! Pull: every record, exactly, whatever the batches are like.

use bytes::Bytes;
use eddy::broker::{
    Error, Writer,
    admin::{self, Plan, Storage, TopicPlan},
    pull::{self, Puller},
};
use fluvio::Compression;
use fluvio_protocol::record::Record;

use crate::{
    cluster::TestCluster,
    produce::{Producer, Shape, TIMESTAMP_MS, backlog, numbered},
    through::read_to,
};

/// M1: a push stream loses 918 of these.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_20_000_records_of_1_kb_in_batches_of_100_kb_is_read_without_a_gap() {
    let test = TestCluster::start().await;
    let topic = test.topic("backlog").await;
    let values = numbered(20_000, 1000);
    backlog(&test.cluster, &topic, &values, 100).await;

    let got = read_to(pull::read(&test.cluster, &topic, 0, 0), 20_000).await;

    assert!(got.is_exactly(0, 20_000));
    assert!(got.originals() == values);
    test.finish().await;
}

/// M1: a push stream loses 90,533 of these.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_200_000_small_records_in_batches_of_1_mb_is_read_without_a_gap() {
    let test = TestCluster::start().await;
    let topic = test.topic("backlog").await;
    let values = numbered(200_000, 20);
    backlog(&test.cluster, &topic, &values, 35_000).await;

    let got = read_to(pull::read(&test.cluster, &topic, 0, 0), 200_000).await;

    assert!(got.is_exactly(0, 200_000));
    assert!(got.originals() == values);
    test.finish().await;
}

/// M1: of records of 0.9 to 33 MB a push stream delivers 1 of 6.
#[tokio::test(flavor = "multi_thread")]
async fn records_larger_than_a_first_fetch_are_read() {
    let test = TestCluster::start().await;
    let topic = test.topic("large").await;
    let writer = Writer::new(&test.cluster);
    let values: Vec<Bytes> =
        [900_000, 1_040_000, 2_000_000, 10_000_000, 31_000_000, 5].map(|bytes| vec![7; bytes].into()).into();
    for value in &values {
        writer.write(&topic, 0, None, value.clone()).await.unwrap();
    }

    let got = read_to(pull::read(&test.cluster, &topic, 0, 0), 6).await;

    assert!(got.originals() == values);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_batches_of_every_codec_are_read() {
    let test = TestCluster::start().await;
    let topic = test.topic("codecs").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd, Compression::None] {
        let records = (0..10).map(|_| Record::new_key_value("truck", vec![9; 500]));
        producer.shaped(records, Shape { codec, holes: 0 }).await;
    }

    let pulled = Puller::new(&test.cluster, &topic, 0).pull(0).await.unwrap();

    assert_eq!(pulled.records.len(), 50);
    assert!(pulled.records.iter().all(|record| record.value == vec![9; 500]));
    assert!(
        pulled
            .records
            .iter()
            .all(|record| record.key.as_deref() == Some(b"truck") && record.timestamp_ms == TIMESTAMP_MS)
    );
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_in_the_middle_of_a_batch_begins_at_the_asked_offset() {
    let test = TestCluster::start().await;
    let topic = test.topic("middle").await;
    Producer::connect(&test.cluster, &topic).await.batch(numbered(100, 10)).await;

    let pulled = Puller::new(&test.cluster, &topic, 0).pull(24).await.unwrap();

    assert_eq!(pulled.records.iter().map(|record| record.offset).collect::<Vec<_>>(), (24..100).collect::<Vec<_>>());
    assert_eq!((pulled.next_offset, pulled.log_end), (100, 100));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_pull_says_where_the_log_ends() {
    let test = TestCluster::start().await;
    let topic = test.topic("empty").await;

    let pulled = Puller::new(&test.cluster, &topic, 0).pull(0).await.unwrap();

    assert_eq!((pulled.records.len(), pulled.next_offset, pulled.log_end), (0, 0, 0));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_beyond_the_end_of_the_log_is_an_error_of_its_own() {
    let test = TestCluster::start().await;
    let topic = test.topic("beyond").await;

    let error = Puller::new(&test.cluster, &topic, 0).pull(7).await.unwrap_err();

    assert!(matches!(error, Error::BeyondEnd { position: 7, .. }), "{error}");
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_that_a_batch_covers_without_a_record_are_holes() {
    let test = TestCluster::start().await;
    let topic = test.topic("holes").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.shaped((0..5).map(|_| Record::new("kept")), Shape { holes: 3, ..Shape::default() }).await;
    producer.texts(&["behind"]).await;

    let got = read_to(pull::read(&test.cluster, &topic, 0, 0), 9).await;

    assert!(got.is_exactly(0, 9));
    assert_eq!(got.holes(), [5, 6, 7]);
    test.finish().await;
}

/// M9, C10: a push stream with the default retry jumps silently.
#[tokio::test(flavor = "multi_thread")]
async fn records_that_retention_removed_are_reported_exactly() {
    let test = TestCluster::start().await;
    let storage = Storage { segment_bytes: Some(16_384), partition_bytes_max: Some(32_768), ..Storage::default() };
    let topic = test.topic_stored("evicted", storage).await;
    backlog(&test.cluster, &topic, &numbered(400, 1000), 10).await;
    let start = loop {
        match test.cluster.offsets(&topic, 0).await.unwrap().start {
            0 => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            start => break start,
        }
    };

    let got = read_to(pull::read(&test.cluster, &topic, 0, 0), 400).await;

    // Segments go one by one: while the log's start still moves there may be several ranges.
    assert_eq!(got.evicted[0].0, 0);
    assert!(got.evicted[0].1 >= start);
    assert!(got.accounts_for(0, 400), "evicted {:?}, given {} records", got.evicted, got.inputs.len());
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_is_named_with_a_hint() {
    let test = TestCluster::start().await;

    let error = Puller::new(&test.cluster, &test.name("missing"), 0).pull(0).await.unwrap_err();

    assert!(matches!(error, Error::TopicMissing { .. }));
    assert!(error.hint().unwrap().contains("eddy apply"));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_goes_on_behind_the_last_record_when_the_broker_comes_back() {
    let mut test = TestCluster::start().await;
    if !test.is_own() {
        return println!("skipped: only a test's own node is restarted");
    }
    let topic = test.topic("restart").await;
    let writer = Writer::new(&test.cluster);
    writer.write(&topic, 0, None, "before".into()).await.unwrap();
    let mut reader = pull::read(&test.cluster, &topic, 0, 0);
    reader.next().await.unwrap().unwrap();

    test.restart(std::time::Duration::from_millis(300)).await;
    while writer.write(&topic, 0, None, "after".into()).await.is_err() {}

    let got = read_to(reader, 2).await;
    assert_eq!(got.originals(), ["after"]);
    test.finish().await;
}

/// M10: one stream over both would go on with both at one offset.
#[tokio::test(flavor = "multi_thread")]
async fn readers_of_two_partitions_go_on_each_at_its_own_offset_when_the_broker_comes_back() {
    let mut test = TestCluster::start().await;
    if !test.is_own() {
        return println!("skipped: only a test's own node is restarted");
    }
    let source = TopicPlan { name: test.name("two"), partitions: 2, storage: Storage::default() };
    let plan = Plan { source, derived: Vec::new(), modules: Vec::new() };
    admin::apply(&test.cluster, &plan).await.unwrap();
    let topic = plan.source.name;
    let writer = Writer::new(&test.cluster);
    let entries = |text: &str, count: usize| vec![(None, Bytes::from(text.to_owned())); count];
    writer.write_all(&topic, 0, entries("before", 3)).await.unwrap();
    writer.write_all(&topic, 1, entries("before", 900)).await.unwrap();
    let mut readers = [0, 1].map(|partition| pull::read(&test.cluster, &topic, partition, 0));
    for reader in &mut readers {
        reader.next().await.unwrap().unwrap();
    }

    test.restart(std::time::Duration::from_millis(300)).await;
    for partition in [0, 1] {
        while writer.write(&topic, partition, None, "after".into()).await.is_err() {}
    }

    let [few, many] = readers;
    assert_eq!(read_to(few, 4).await.originals(), ["after"]);
    assert_eq!(read_to(many, 901).await.originals(), ["after"]);
    test.finish().await;
}
