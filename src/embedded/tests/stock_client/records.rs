//! Records as producers and consumers handle them, with and without SmartModules.

use fluvio::consumer::{
    ConsumerConfigExtBuilder, ConsumerRecord, RetryMode, SmartModuleInvocation, SmartModuleInvocationWasm,
    SmartModuleKind,
};
use fluvio::metadata::smartmodule::{SmartModuleSpec, SmartModuleWasm};
use fluvio::{Compression, Fluvio, FluvioAdmin, Offset, RecordKey, TopicProducerConfigBuilder};
use fluvio_sc_schema::errors::ErrorCode;
use futures_util::{Stream, StreamExt};

use crate::cluster::{Cluster, eventually, soon};

/// A topic with one partition, and a client of it.
async fn topic(cluster: &Cluster, name: &str) -> Fluvio {
    cluster.create_topic(name, 1).await;
    cluster.client().await
}

async fn produce(client: &Fluvio, topic: &str, compression: Compression, records: Vec<(RecordKey, String)>) {
    let config = TopicProducerConfigBuilder::default().compression(compression).build().unwrap();
    let producer = soon("a producer", client.topic_producer_with_config(topic, config)).await.unwrap();
    let queued = soon("sending", producer.send_all(records)).await.unwrap();
    soon("flushing", producer.flush()).await.unwrap();
    for record in queued {
        soon("an acknowledgement", record.wait()).await.unwrap();
    }
}

fn numbered(range: std::ops::Range<u32>) -> Vec<(RecordKey, String)> {
    range.map(|number| (RecordKey::NULL, number.to_string())).collect()
}

fn from(topic: &str, start: Offset) -> ConsumerConfigExtBuilder {
    let mut config = ConsumerConfigExtBuilder::default();
    config.topic(topic).partition(0).offset_start(start).retry_mode(RetryMode::Disabled);
    config
}

fn through(module: SmartModuleInvocationWasm) -> Vec<SmartModuleInvocation> {
    vec![SmartModuleInvocation { wasm: module, kind: SmartModuleKind::Map, ..SmartModuleInvocation::default() }]
}

async fn open(
    client: &Fluvio,
    config: &ConsumerConfigExtBuilder,
) -> impl Stream<Item = Result<ConsumerRecord, ErrorCode>> + Unpin + use<> {
    // Boxed, for this future of the client's is 16 KiB large.
    soon("opening a stream", Box::pin(client.consumer_with_config(config.build().unwrap()))).await.unwrap()
}

async fn next(stream: &mut (impl Stream<Item = Result<ConsumerRecord, ErrorCode>> + Unpin)) -> ConsumerRecord {
    soon("a record", stream.next()).await.unwrap().unwrap()
}

/// The next records: offset and value of each.
async fn take(
    stream: &mut (impl Stream<Item = Result<ConsumerRecord, ErrorCode>> + Unpin),
    count: usize,
) -> Vec<(i64, String)> {
    let mut taken = Vec::with_capacity(count);
    for _ in 0..count {
        let record = next(stream).await;
        taken.push((record.offset(), String::from_utf8(record.value().to_vec()).unwrap()));
    }
    taken
}

fn expected(range: std::ops::Range<u32>) -> Vec<(i64, String)> {
    range.map(|number| (i64::from(number), number.to_string())).collect()
}

async fn create_module(admin: &FluvioAdmin, name: &str, wasm: &[u8]) {
    let wasm = SmartModuleWasm::from_raw_wasm_bytes(wasm).unwrap();
    let spec = SmartModuleSpec { wasm, ..SmartModuleSpec::default() };
    soon("creating a SmartModule", admin.create(name.to_owned(), false, spec)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_values_come_back_byte_for_byte() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    let keyed = (RecordKey::from(&b"device \xff\x00"[..]), "value".to_owned());
    let empty_key = (RecordKey::from(&b""[..]), String::new());
    let plain = (RecordKey::NULL, "no key".to_owned());

    produce(&client, "triggers", Compression::None, vec![keyed, empty_key, plain]).await;

    let mut stream = open(&client, &from("triggers", Offset::beginning())).await;
    let first = next(&mut stream).await;
    assert_eq!((first.key(), first.value()), (Some(&b"device \xff\x00"[..]), &b"value"[..]));
    let second = next(&mut stream).await;
    assert_eq!((second.key(), second.value()), (Some(&b""[..]), &b""[..]));
    let third = next(&mut stream).await;
    assert_eq!((third.key(), third.value()), (None, &b"no key"[..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_batches_are_read_among_plain_ones() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;

    produce(&client, "triggers", Compression::None, numbered(0..10)).await;
    produce(&client, "triggers", Compression::Gzip, numbered(10..20)).await;
    produce(&client, "triggers", Compression::Zstd, numbered(20..30)).await;

    let mut stream = open(&client, &from("triggers", Offset::beginning())).await;
    assert_eq!(take(&mut stream, 30).await, expected(0..30));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_starts_at_the_offset_that_it_asks_for() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::None, numbered(0..10)).await;

    let mut stream = open(&client, &from("triggers", Offset::absolute(7).unwrap())).await;

    assert_eq!(take(&mut stream, 3).await, expected(7..10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_from_the_end_gets_what_is_produced_later() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::None, numbered(0..10)).await;
    let mut stream = open(&client, &from("triggers", Offset::end())).await;

    produce(&client, "triggers", Compression::None, numbered(10..12)).await;

    assert_eq!(take(&mut stream, 2).await, expected(10..12));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_keep_their_records_apart() {
    let cluster = Cluster::start().await;
    cluster.create_topic("triggers", 2).await;
    let client = cluster.client().await;

    produce(&client, "triggers", Compression::None, numbered(0..10)).await;

    let mut both = open(
        &client,
        ConsumerConfigExtBuilder::default()
            .topic("triggers")
            .offset_start(Offset::beginning())
            .retry_mode(RetryMode::Disabled),
    )
    .await;
    let mut seen = Vec::new();
    for _ in 0..10 {
        let record = next(&mut both).await;
        seen.push((record.partition(), record.offset()));
    }
    seen.sort_unstable();
    let apart: Vec<_> = (0..2).flat_map(|partition| (0..5).map(move |offset| (partition, offset))).collect();
    assert_eq!(seen, apart);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_travels_with_the_request_maps_every_record() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::Gzip, numbered(0..3)).await;

    let wasm = SmartModuleInvocationWasm::adhoc_from_bytes(eddy_guests::first_mark()).unwrap();
    let mut stream = open(&client, from("triggers", Offset::beginning()).smartmodule(through(wasm))).await;

    let marked = |number: u32| (i64::from(number), format!("{number} (first build)"));
    assert_eq!(take(&mut stream, 3).await, [marked(0), marked(1), marked(2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_of_the_cluster_maps_every_record() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::None, numbered(0..1)).await;
    create_module(&client.admin().await, "mark", eddy_guests::first_mark()).await;

    let wasm = SmartModuleInvocationWasm::Predefined("mark".to_owned());
    let config = from("triggers", Offset::beginning()).smartmodule(through(wasm)).clone();
    let record = eventually("a stream with the module", || async {
        let mut stream = open(&client, &config).await;
        soon("an answer", stream.next()).await.unwrap().ok()
    })
    .await;

    assert_eq!(record.value(), b"0 (first build)");
}

/// The habit M6 of a real cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_right_after_a_create_still_gets_the_old_build_and_a_new_name_is_unknown() {
    let cluster = Cluster::start_with(|config| config.smartmodule_delay_ms = 3_000).await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::None, numbered(0..1)).await;
    let admin = client.admin().await;
    let wasm = SmartModuleInvocationWasm::Predefined("mark".to_owned());
    let config = from("triggers", Offset::beginning()).smartmodule(through(wasm)).clone();
    let answer = || async {
        let mut stream = open(&client, &config).await;
        soon("an answer", stream.next()).await.unwrap()
    };
    let (first_build, second_build) = (eddy_guests::first_mark(), eddy_guests::second_mark());

    create_module(&admin, "mark", first_build).await;
    assert!(matches!(answer().await, Err(ErrorCode::SmartModuleNotFound { .. })));

    let first = eventually("the first build", || async { answer().await.ok() }).await;
    assert_eq!(first.value(), b"0 (first build)");

    create_module(&admin, "mark", second_build).await;
    assert_eq!(answer().await.unwrap().value(), b"0 (first build)");

    let second = eventually("the second build", || async {
        answer().await.ok().filter(|record| record.value() != b"0 (first build)")
    })
    .await;
    assert_eq!(second.value(), b"0 (second build)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_topic_ends_its_streams_and_a_new_one_of_that_name_is_empty() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::None, numbered(0..3)).await;
    let mut stream = open(&client, &from("triggers", Offset::beginning())).await;
    take(&mut stream, 3).await;

    let admin = client.admin().await;
    soon("deleting", admin.delete::<fluvio::metadata::topic::TopicSpec>("triggers")).await.unwrap();

    assert_eq!(soon("the end", stream.next()).await.unwrap().err(), Some(ErrorCode::TopicDeleted));
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::None, numbered(7..8)).await;
    let mut stream = open(&client, &from("triggers", Offset::beginning())).await;
    assert_eq!(take(&mut stream, 1).await, [(0, "7".to_owned())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_survive_a_restart_and_later_ones_follow_them() {
    let cluster = Cluster::start().await;
    let client = topic(&cluster, "triggers").await;
    produce(&client, "triggers", Compression::Zstd, numbered(0..100)).await;

    let cluster = cluster.restart().await;

    let client = cluster.client().await;
    produce(&client, "triggers", Compression::None, numbered(100..110)).await;
    let mut stream = open(&client, &from("triggers", Offset::beginning())).await;
    assert_eq!(take(&mut stream, 110).await, expected(0..110));
}
