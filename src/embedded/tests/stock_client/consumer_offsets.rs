//! Where consumers stand, as managed consumers and bare sessions leave it.

use fluvio::consumer::{
    ConsumerConfigExt, ConsumerConfigExtBuilder, ConsumerStream, OffsetManagementStrategy, RetryMode,
};
use fluvio::{Fluvio, Offset, RecordKey};
use fluvio_sc_schema::errors::ErrorCode;
use fluvio_socket::{ClientConfig, MultiplexerSocket, VersionedSerialSocket};
use fluvio_spu_schema::server::consumer_offset::{FetchConsumerOffsetsRequest, UpdateConsumerOffsetRequest};
use fluvio_spu_schema::server::stream_fetch::DefaultStreamFetchRequest;
use futures_util::StreamExt;

use crate::cluster::{Cluster, soon};

async fn topic_of_ten(cluster: &Cluster) -> Fluvio {
    cluster.create_topic("triggers", 1).await;
    let client = cluster.client().await;
    let producer = soon("a producer", client.topic_producer("triggers")).await.unwrap();
    let records = (0..10).map(|number: u32| (RecordKey::NULL, number.to_string()));
    let queued = soon("sending", producer.send_all(records)).await.unwrap();
    soon("flushing", producer.flush()).await.unwrap();
    for record in queued {
        soon("an acknowledgement", record.wait()).await.unwrap();
    }
    client
}

fn managed(consumer: &str) -> ConsumerConfigExt {
    ConsumerConfigExtBuilder::default()
        .topic("triggers")
        .partition(0)
        .offset_start(Offset::beginning())
        .offset_consumer(consumer)
        .offset_strategy(OffsetManagementStrategy::Manual)
        .retry_mode(RetryMode::Disabled)
        .build()
        .unwrap()
}

/// Reads some records as a managed consumer, commits the last of them, and says its offset.
async fn read_and_commit(client: &Fluvio, consumer: &str, count: usize) -> i64 {
    let mut stream = soon("opening", client.consumer_with_config(managed(consumer))).await.unwrap();
    let mut last = -1;
    for _ in 0..count {
        last = soon("a record", stream.next()).await.unwrap().unwrap().offset();
    }
    soon("committing", stream.offset_commit()).await.unwrap();
    soon("flushing", stream.offset_flush()).await.unwrap();
    last
}

/// What the cluster has stored: consumer, partition, offset.
async fn stored(client: &Fluvio) -> Vec<(String, u32, i64)> {
    let offsets = soon("listing offsets", client.consumer_offsets()).await.unwrap();
    offsets.into_iter().map(|stored| (stored.consumer_id, stored.partition, stored.offset)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_managed_consumer_goes_on_after_what_it_committed() {
    let cluster = Cluster::start().await;
    let client = topic_of_ten(&cluster).await;
    assert_eq!(read_and_commit(&client, "reader", 4).await, 3);

    let mut stream = soon("opening again", client.consumer_with_config(managed("reader"))).await.unwrap();

    assert_eq!(soon("a record", stream.next()).await.unwrap().unwrap().offset(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_offsets_are_listed_and_deleted_per_consumer() {
    let cluster = Cluster::start().await;
    let client = topic_of_ten(&cluster).await;
    read_and_commit(&client, "one", 2).await;
    read_and_commit(&client, "two", 3).await;
    assert_eq!(stored(&client).await, [("one".to_owned(), 0, 1), ("two".to_owned(), 0, 2)]);

    soon("deleting", client.delete_consumer_offset("one", ("triggers", 0))).await.unwrap();

    assert_eq!(stored(&client).await, [("two".to_owned(), 0, 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_topic_takes_its_offsets_along() {
    let cluster = Cluster::start().await;
    let client = topic_of_ten(&cluster).await;
    read_and_commit(&client, "reader", 2).await;

    let admin = client.admin().await;
    soon("deleting", admin.delete::<fluvio::metadata::topic::TopicSpec>("triggers")).await.unwrap();

    assert!(stored(&client).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_offsets_survive_a_restart() {
    let cluster = Cluster::start().await;
    let client = topic_of_ten(&cluster).await;
    read_and_commit(&client, "reader", 4).await;

    let cluster = cluster.restart().await;

    let client = cluster.client().await;
    assert_eq!(stored(&client).await, [("reader".to_owned(), 0, 3)]);
    assert_eq!(read_and_commit(&client, "reader", 1).await, 4);
}

/// The habit M12 of a real cluster, and the way by which eddy keeps its positions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_commits_any_offset_also_backwards_and_beyond_the_end() {
    let cluster = Cluster::start().await;
    topic_of_ten(&cluster).await;
    let connecting = ClientConfig::with_addr(cluster.node().spu_address().to_string());
    let (socket, config, versions) = soon("connecting", connecting.connect()).await.unwrap().split();
    let spu = VersionedSerialSocket::new(MultiplexerSocket::shared(socket), config, versions);
    let open = DefaultStreamFetchRequest::builder()
        .topic("triggers".to_owned())
        .partition(0_u32)
        .fetch_offset(10)
        .max_bytes(1 << 20)
        .consumer_id(Some("bare".to_owned()))
        .build()
        .unwrap();
    let version = spu.lookup_version::<DefaultStreamFetchRequest>();
    let request = spu.new_request(open, version);
    let _session = soon("opening session 1", spu.new_socket().create_stream(request, 10)).await.unwrap();

    for offset in [7, 3, 0, -1, 5_000_000] {
        let update = spu.send_receive(UpdateConsumerOffsetRequest::new(offset, 1));
        assert_eq!(soon("committing", update).await.unwrap().error_code, ErrorCode::None);

        let fetch = FetchConsumerOffsetsRequest::with_opts(Some(("triggers", 0_u32).into()), Some("bare".to_owned()));
        let stored = soon("reading back", spu.send_receive(fetch)).await.unwrap().consumers;
        assert_eq!(stored.iter().map(|stored| stored.offset).collect::<Vec<_>>(), [offset]);
    }
    let elsewhere = spu.send_receive(UpdateConsumerOffsetRequest::new(1, 2));
    assert_eq!(soon("committing", elsewhere).await.unwrap().error_code, ErrorCode::FetchSessionNotFoud);
}
