//! A node with a topic in it, and what a client would see of its records.

use std::sync::Arc;

use eddy_embedded::{Config, Node};
use fluvio_controlplane_metadata::topic::{TopicSpec, TopicStorageConfig};
use fluvio_protocol::{
    link::ErrorCode,
    record::{Batch, RawRecords, Record, RecordSet},
};
use fluvio_sc_schema::{
    TryEncodableFrom,
    objects::{CommonCreateRequest, CreateRequest, ObjectApiCreateRequest},
};
use fluvio_spu_schema::{
    fetch::{FetchPartition, FetchRequest, FetchablePartitionResponse, FetchableTopic},
    produce::{DefaultPartitionRequest, DefaultProduceRequest, DefaultTopicRequest, PartitionProduceResponse},
    server::{smartmodule::SmartModuleInvocation, stream_fetch::DefaultStreamFetchRequest},
};
use tempfile::TempDir;

use crate::client::Client;

pub(crate) const TOPIC: &str = "triggers";
const SC_VERSION: i16 = 19;

/// A node with one topic of one partition, that ends with the test.
pub(crate) struct Scene {
    node: Node,
    _dir: Arc<TempDir>,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with_storage(TopicStorageConfig::default()).await
    }

    /// A topic whose segments are so small that each takes one batch of a kilobyte.
    pub(crate) async fn with_small_segments(max_partition_size: u64) -> Self {
        Self::with_storage(TopicStorageConfig {
            segment_size: Some(2048),
            max_partition_size: Some(max_partition_size),
        })
        .await
    }

    async fn with_storage(storage: TopicStorageConfig) -> Self {
        let dir = Arc::new(TempDir::new().unwrap());
        let mut config = Config::new(dir.path());
        config.clean_interval_ms = 20;
        let node = Node::start(config).await.unwrap();
        let mut spec = TopicSpec::new_computed(1, 1, None);
        spec.set_storage(storage);
        let common = CommonCreateRequest { name: TOPIC.to_owned(), dry_run: false, timeout: None };
        let create = ObjectApiCreateRequest::try_encode_from(CreateRequest::new(common, spec), SC_VERSION).unwrap();
        let created = Client::connect(node.address()).await.call(&create).await;
        assert!(created.error_code.is_ok(), "{created:?}");
        Self { node, _dir: dir }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.node.spu_address()).await
    }
}

impl Client {
    /// Produces one batch of these values and gives its base offset.
    pub(crate) async fn produce(&mut self, values: &[&str]) -> i64 {
        self.produce_batch(batch(values)).await
    }

    pub(crate) async fn produce_batch(&mut self, batch: Batch<RawRecords>) -> i64 {
        let answer = self.try_produce(TOPIC, batch).await;
        assert!(answer.error_code.is_ok(), "{answer:?}");
        answer.base_offset
    }

    pub(crate) async fn try_produce(&mut self, topic: &str, batch: Batch<RawRecords>) -> PartitionProduceResponse {
        let request = produce_request(topic, batch);
        let mut answer = self.call(&request).await;
        answer.responses.pop().unwrap().partitions.pop().unwrap()
    }

    pub(crate) async fn pull(&mut self, fetch_offset: i64, max_bytes: i32) -> Pulled {
        self.pull_from(TOPIC, fetch_offset, max_bytes).await
    }

    pub(crate) async fn pull_from(&mut self, topic: &str, fetch_offset: i64, max_bytes: i32) -> Pulled {
        let partition = FetchPartition { fetch_offset, max_bytes, ..FetchPartition::default() };
        let topic = FetchableTopic { name: topic.to_owned(), fetch_partitions: vec![partition] };
        let request = FetchRequest::<RecordSet<RawRecords>> { topics: vec![topic], ..FetchRequest::default() };
        let mut answer = self.call(&request).await;
        answer.topics.pop().unwrap().partitions.pop().unwrap()
    }
}

pub(crate) type Pulled = FetchablePartitionResponse<RecordSet<RawRecords>>;

pub(crate) fn produce_request(topic: &str, batch: Batch<RawRecords>) -> DefaultProduceRequest {
    let records = RecordSet { batches: vec![batch] };
    let partition = DefaultPartitionRequest { partition_index: 0, records };
    let topic = DefaultTopicRequest { name: topic.to_owned(), partitions: vec![partition], ..Default::default() };
    DefaultProduceRequest { topics: vec![topic], ..Default::default() }
}

/// A stream from an offset, through modules or not.
pub(crate) fn stream(offset: i64, max_bytes: i32, modules: Vec<SmartModuleInvocation>) -> DefaultStreamFetchRequest {
    DefaultStreamFetchRequest::builder()
        .topic(TOPIC)
        .fetch_offset(offset)
        .max_bytes(max_bytes)
        .smartmodules(modules)
        .build()
        .unwrap()
}

pub(crate) fn batch(values: &[&str]) -> Batch<RawRecords> {
    let records: Vec<_> = values.iter().map(|value| Record::new(*value)).collect();
    let mut batch = Batch::from(records);
    batch.header.first_timestamp = 1_700_000_000_000;
    batch.header.max_time_stamp = 1_700_000_000_000;
    Batch::try_from(batch).unwrap()
}

/// What the stock client delivers of an answer: offset and value of each record from `start` on.
pub(crate) fn delivered(answer: &Pulled, start: i64) -> Vec<(i64, String)> {
    let records = answer.records.batches.iter().flat_map(|batch| {
        // It reads what is there of a cut batch, and counts offsets from the base.
        let values = batch.memory_records().unwrap();
        values.into_iter().enumerate().map(|(at, record)| (batch.base_offset + at as i64, text(&record)))
    });
    records.filter(|(offset, _)| *offset >= start).collect()
}

/// Only the values.
pub(crate) fn values(answer: &Pulled) -> Vec<String> {
    delivered(answer, 0).into_iter().map(|(_, value)| value).collect()
}

pub(crate) fn no_error(answer: &Pulled) -> bool {
    answer.error_code == ErrorCode::None
}

fn text(record: &Record) -> String {
    String::from_utf8_lossy(&record.value).into_owned()
}
