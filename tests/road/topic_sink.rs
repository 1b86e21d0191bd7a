//! A Fluvio topic as the downstream.

use bytes::Bytes;
use eddy::broker::Record;
use eddy_contract::Envelope;
use eddy_topology::TopicName;

use crate::harness::{Road, trigger_text};

/// A target that somebody made with one partition gets as many as the source.
async fn start(over: &str) -> (Road, TopicName) {
    let mut road = Road::start("source.partitions = 2", |_: &[u8]| 500).await;
    road.stop().await;
    let target = TopicName::try_new(&road.cluster.topic("out").await).unwrap();
    road.redefine(&format!("[sink]\nkind = 'topic'\ntopic = '{target}'\n{over}"));
    road.go_on().await;
    (road, target)
}

fn keys() -> [Option<Bytes>; 5] {
    let key = |bytes: &'static [u8]| Some(Bytes::from_static(bytes));
    [None, key(b""), key(b"\xFF\x00"), key(b"device-1"), key(&[7; 1024])]
}

/// C18: null is not empty, and binary is not text.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_gets_the_original_bytes_under_the_same_key_in_the_same_partition() {
    let (mut road, target) = start("").await;
    let triggers: Vec<_> =
        (0..40_u32).map(|n| (n % 2, (keys()[n as usize % 5].clone(), trigger_text("moving").into()))).collect();

    road.produce(triggers.clone()).await;
    road.produce([(0, (None, "no trigger".into()))]).await;
    road.until_resolved().await;

    let mut delivered: Vec<_> = road
        .records(&target)
        .await
        .into_iter()
        .map(|(partition, Record { key, value, .. })| (partition, (key, value)))
        .collect();
    let mut expected = triggers;
    delivered.sort();
    expected.sort();
    assert!(delivered == expected, "{delivered:?}");
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_gets_envelopes_on_request() {
    let (mut road, target) = start("options = { form = 'envelope' }").await;
    let text = trigger_text("moving");

    let id = road.produce([(1, (Some("key".into()), text.clone().into()))]).await.remove(0);
    road.until_resolved().await;

    let (partition, record) = road.records(&target).await.remove(0);
    let envelope = Envelope::decode(&record.value).unwrap();
    assert_eq!((partition, record.key), (1, Some("key".into())));
    assert_eq!(envelope.id, id);
    assert_eq!(envelope.payload(), Some(text.as_bytes()));
    assert_eq!(envelope.attempts.delivery, 1);
    assert!(envelope.idempotency_key.is_some() && envelope.reason.is_none(), "{envelope:?}");
    road.finish().await;
}
