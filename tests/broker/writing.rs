//! Writing: acknowledged means stored, in order, byte for byte.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use eddy::broker::{WriteError, Writer, pull::Puller};

use crate::cluster::TestCluster;

/// Everything in a partition.
async fn stored(test: &TestCluster, topic: &str) -> Vec<(Option<Bytes>, Bytes)> {
    let mut puller = Puller::new(&test.cluster, topic, 0);
    let mut stored = Vec::new();
    let mut offset = 0;
    loop {
        let pulled = puller.pull(offset).await.unwrap();
        if pulled.next_offset == offset {
            return stored;
        }
        offset = pulled.next_offset;
        stored.extend(pulled.records.into_iter().map(|record| (record.key, record.value)));
    }
}

/// W3.
#[tokio::test(flavor = "multi_thread")]
async fn keys_and_values_are_stored_byte_for_byte_and_null_is_not_empty() {
    let test = TestCluster::start().await;
    let topic = test.topic("exact").await;
    let entries: Vec<(Option<Bytes>, Bytes)> = vec![
        (None, "value".into()),
        (Some(Bytes::new()), "value".into()),
        (Some(Bytes::from_static(&[0xff, 0x00])), Bytes::from_static(&[0x00, 0xff, 0x80])),
        (Some(vec![b'k'; 1024].into()), vec![0; 100_000].into()),
        (None, Bytes::new()),
    ];

    let first = Writer::new(&test.cluster).write_all(&topic, 0, entries.clone()).await.unwrap();

    assert_eq!(first, 0);
    assert_eq!(stored(&test, &topic).await, entries);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_record_learns_its_own_offset() {
    let test = TestCluster::start().await;
    let topic = test.topic("offsets").await;
    let writer = Writer::new(&test.cluster);
    let writes = (0..2000).map(|number| {
        let (writer, topic) = (writer.clone(), topic.clone());
        tokio::spawn(async move { (number, writer.write(&topic, 0, None, format!("{number}").into()).await.unwrap()) })
    });

    let answers = futures_util::future::join_all(writes).await;

    let stored = stored(&test, &topic).await;
    assert_eq!(stored.len(), 2000);
    for (number, offset) in answers.into_iter().map(Result::unwrap) {
        assert_eq!(stored[usize::try_from(offset).unwrap()].1, format!("{number}"));
    }
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_records_at_once_are_stored_in_their_order_over_many_batches() {
    let test = TestCluster::start().await;
    let topic = test.topic("bulk").await;
    let entries: Vec<_> = (0..30_000).map(|number| (None, Bytes::from(format!("{number:0200}")))).collect();

    Writer::new(&test.cluster).write_all(&topic, 0, entries.clone()).await.unwrap();

    assert!(stored(&test, &topic).await == entries);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_no_request_can_carry_is_refused_and_its_neighbours_are_stored() {
    let test = TestCluster::start().await;
    let topic = test.topic("too-large").await;
    let entries = vec![(None, "before".into()), (None, vec![0; 33 << 20].into()), (None, "behind".into())];

    let results = Writer::new(&test.cluster).write_each(&topic, 0, entries).await;

    assert!(matches!(results[..], [Ok(0), Err(WriteError::TooLarge { .. }), Ok(1)]), "{results:?}");
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_what_goes_for_one_acknowledgement_is_sent_when_one_record_is_too_large() {
    let test = TestCluster::start().await;
    let topic = test.topic("all-or-none").await;
    let entries = vec![(None, "before".into()), (None, vec![0; 33 << 20].into())];

    let result = Writer::new(&test.cluster).write_all(&topic, 0, entries).await;

    assert!(matches!(result, Err(WriteError::TooLarge { .. })), "{result:?}");
    assert_eq!(stored(&test, &topic).await, []);
    test.finish().await;
}

/// W1, M13: Fluvio's producer fails records silently in this window, and stays poisoned behind it.
#[tokio::test(flavor = "multi_thread")]
async fn over_a_restart_of_the_broker_acknowledged_records_are_stored_and_writing_goes_on() {
    let mut test = TestCluster::start().await;
    if !test.is_own() {
        return println!("skipped: only a test's own node is restarted");
    }
    let topic = test.topic("restart").await;
    let writer = Writer::new(&test.cluster);
    let writes = (0..8).map(|lane| tokio::spawn(write_persistently(writer.clone(), topic.clone(), lane)));
    let writes: Vec<_> = writes.collect();

    tokio::time::sleep(Duration::from_millis(200)).await;
    test.restart(Duration::from_millis(500)).await;
    let failed: usize = futures_util::future::join_all(writes).await.into_iter().map(Result::unwrap).sum();

    let stored = stored(&test, &topic).await;
    println!("{failed} writes were unknown or refused, {} records are stored", stored.len());
    assert!(stored.len() <= 8 * LANE_RECORDS + failed);
    for lane in 0..8 {
        let of_lane: Vec<_> = stored
            .iter()
            .map(|(_, value)| value)
            .filter(|value| value.starts_with(format!("{lane}:").as_bytes()))
            .collect();
        let mut in_order = of_lane.clone();
        in_order.dedup();
        assert!(
            in_order
                .into_iter()
                .eq((0..LANE_RECORDS).map(|number| format!("{lane}:{number:06}")).collect::<Vec<_>>().iter())
        );
    }
    test.finish().await;
}

const LANE_RECORDS: usize = 300;

/// Writes one after the other, each until it is acknowledged; gives how often that failed.
async fn write_persistently(writer: Writer, topic: String, lane: usize) -> usize {
    let mut failed = 0;
    for number in 0..LANE_RECORDS {
        while writer.write(&topic, 0, None, format!("{lane}:{number:06}").into()).await.is_err() {
            failed += 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    failed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_for_a_topic_that_does_not_exist_is_refused_and_not_unknown() {
    let test = TestCluster::start().await;

    let error = Writer::new(&test.cluster).write(&test.name("missing"), 0, None, "lost".into()).await.unwrap_err();

    assert!(matches!(error, WriteError::Refused { .. }), "{error}");
    test.finish().await;
}

/// W2: Fluvio's producer would spin inside one poll.
#[tokio::test(flavor = "multi_thread")]
async fn who_writes_more_than_may_be_unacknowledged_waits() {
    let test = TestCluster::start().await;
    let topic = test.topic("room").await;
    let writer = Writer::new(&test.cluster);
    let value = Bytes::from(vec![1; 1 << 20]);

    let writes = (0..40).map(|_| writer.write(&topic, 0, None, value.clone()));
    let answers = futures_util::future::join_all(writes).await;

    assert_eq!(answers.into_iter().map(Result::unwrap).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_nobody_holds_any_more_still_answers() {
    let test = TestCluster::start().await;
    let topic = test.topic("dropped").await;
    let writer = Arc::new(Writer::new(&test.cluster));

    let write = {
        let (writer, topic) = (Arc::clone(&writer), topic.clone());
        tokio::spawn(async move { writer.write(&topic, 0, None, "last".into()).await })
    };
    drop(writer);

    assert_eq!(write.await.unwrap(), Ok(0));
    test.finish().await;
}
