//! Batches as other producers make them: of any size, codec and shape.

use bytes::Bytes;
use eddy::broker::Cluster;
use fluvio::{Compression, FluvioAdmin, FluvioClusterConfig, metadata::spu::SpuSpec};
use fluvio_protocol::record::{Batch, RawRecords, Record, RecordSet};
use fluvio_socket::{ClientConfig, MultiplexerSocket, VersionedSerialSocket};
use fluvio_spu_schema::produce::{DefaultPartitionRequest, DefaultProduceRequest, DefaultTopicRequest};

/// A producer that decides by itself what a batch is.
pub(crate) struct Producer {
    socket: VersionedSerialSocket,
    topic: String,
}

/// How a batch differs from an ordinary one.
#[derive(Default, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) codec: Compression,
    /// Offsets that the batch covers at its end without having records for them.
    pub(crate) holes: i32,
}

impl Producer {
    pub(crate) async fn connect(cluster: &Cluster, topic: &str) -> Self {
        let admin = FluvioAdmin::connect_with_config(&FluvioClusterConfig::new(cluster.address())).await.unwrap();
        let spu = admin.all::<SpuSpec>().await.unwrap().remove(0).spec.public_endpoint.addr();
        let (socket, config, versions) = ClientConfig::with_addr(spu).connect().await.unwrap().split();
        let socket = VersionedSerialSocket::new(MultiplexerSocket::shared(socket), config, versions);
        Self { socket, topic: topic.to_owned() }
    }

    /// Appends one batch of these values.
    pub(crate) async fn batch(&self, values: impl IntoIterator<Item = Bytes>) {
        self.shaped(values.into_iter().map(|value| Record::new(value.to_vec())), Shape::default()).await;
    }

    /// Appends one batch of these values, given as text.
    pub(crate) async fn texts(&self, values: &[&str]) {
        self.batch(values.iter().map(|value| Bytes::copy_from_slice(value.as_bytes()))).await;
    }

    pub(crate) async fn shaped(&self, records: impl Iterator<Item = Record>, shape: Shape) {
        let mut batch = Batch::from(records.collect::<Vec<_>>());
        batch.header.set_compression(shape.codec);
        batch.header.first_timestamp = TIMESTAMP_MS;
        batch.header.max_time_stamp = TIMESTAMP_MS;
        batch.header.last_offset_delta += shape.holes;
        let batch: Batch<RawRecords> = batch.try_into().unwrap();

        let records = RecordSet::default().add(batch);
        let partition = DefaultPartitionRequest { partition_index: 0, records };
        let mut topic = DefaultTopicRequest { name: self.topic.clone(), ..Default::default() };
        topic.partitions.push(partition);
        let timeout = std::time::Duration::from_secs(10);
        let request = DefaultProduceRequest { timeout, topics: vec![topic], ..Default::default() };
        let answer = self.socket.send_receive(request).await.unwrap();
        assert!(answer.responses[0].partitions[0].error_code.is_ok(), "{answer:?}");
    }
}

/// Appends these values to a topic, so many to a batch.
pub(crate) async fn backlog(cluster: &Cluster, topic: &str, values: &[Bytes], per_batch: usize) {
    let producer = Producer::connect(cluster, topic).await;
    for batch in values.chunks(per_batch) {
        producer.batch(batch.iter().cloned()).await;
    }
}

/// The time of every record made here.
pub(crate) const TIMESTAMP_MS: i64 = 1_796_000_000_000;

/// `count` values of `bytes` bytes, each beginning with its number.
pub(crate) fn numbered(count: usize, bytes: usize) -> Vec<Bytes> {
    let value = |number: usize| {
        let mut value = number.to_string().into_bytes();
        value.resize(bytes, b' ');
        value.into()
    };
    (0..count).map(value).collect()
}
