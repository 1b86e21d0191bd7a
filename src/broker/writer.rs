//! Writing: one task and one request in flight per partition; a record counts when the broker acknowledged it.
//!
//! While a request is under way, what else is written to its partition gathers and goes with the next one, so load
//! makes batches larger and not requests more. Fluvio's own producer spins when its queue is full, reports the
//! failures of a restart only record by record, and stays poisoned after a broken request; this one knows three
//! answers: acknowledged, refused (nothing was stored, waited out or given back), and unknown (the connection died
//! after the request was sent: it may be stored). It never writes a record again by itself after an unknown answer;
//! that is the engine's decision.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::{
    Isolation,
    produce::{PartitionProduceData, ProduceRequest, TopicProduceData},
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tracing::warn;

use super::{
    Cluster, Error,
    backoff::Patience,
    batch::{BatchWriter, Slice},
    link::Link,
};

/// A batch is closed when it has this many bytes; a larger record goes alone.
const BATCH_BYTES: usize = 1 << 20;

/// The most records in a batch.
const BATCH_RECORDS: usize = 5000;

/// What may be unacknowledged per partition; who wants to write more waits.
const UNACKNOWLEDGED_BYTES_MAX: u32 = 8 << 20;

/// What a record costs of that beyond its bytes, which bounds the number of small ones.
const RECORD_BYTES: usize = 64;

/// The largest record: what the broker accepts in a request, less what a batch and a request add.
pub const RECORD_BYTES_MAX: usize = (32 << 20) - 4096;

/// How long a batch that was certainly not stored (no leader, no connection) is tried before it is given back.
const REFUSED_PATIENCE: Duration = Duration::from_secs(10);

/// The broker's own limit for storing a batch, milliseconds.
const STORE_MAX: Duration = Duration::from_secs(5);

/// Why a record has no acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It was not stored.
    #[error("not written: {reason}")]
    Refused { reason: Arc<str> },
    /// The answer is lost; it may be stored.
    #[error("written or not, nobody knows: {reason}")]
    Unknown { reason: Arc<str> },
    #[error("not written: the record has {bytes} bytes, more than the {RECORD_BYTES_MAX} that fit a request")]
    TooLarge { bytes: usize },
}

/// Key and value of a record to write.
pub type Entry = (Option<Bytes>, Bytes);

/// Writes to all topics of a cluster. Cheap to clone; its tasks end when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Writer {
    cluster: Cluster,
    partitions: Arc<Mutex<BTreeMap<(String, u32), Partition>>>,
}

/// The way to a partition's task.
#[derive(Debug, Clone)]
struct Partition {
    queue: mpsc::UnboundedSender<Unit>,
    room: Arc<Semaphore>,
}

/// Records that are acknowledged together.
struct Unit {
    entries: Vec<Entry>,
    bytes: usize,
    acknowledge: oneshot::Sender<Result<i64, WriteError>>,
    /// Given back when the unit is answered.
    _room: OwnedSemaphorePermit,
}

impl Writer {
    #[must_use]
    pub fn new(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), partitions: Arc::default() }
    }

    /// Appends one record and gives its offset once the broker has acknowledged it. Waits while too much is
    /// unacknowledged. Records of one partition are stored in the order in which these futures are first polled.
    ///
    /// # Errors
    /// When the record was not acknowledged.
    pub async fn write(
        &self,
        topic: &str,
        partition: u32,
        key: Option<Bytes>,
        value: Bytes,
    ) -> Result<i64, WriteError> {
        self.submit(topic, partition, vec![(key, value)]).await?.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Appends many records in order, for one acknowledgement; gives the offset of the first. Nothing else comes
    /// between those of one batch, but other writers may come between batches.
    ///
    /// # Errors
    /// When any of the records was not acknowledged; some may be stored.
    pub async fn write_all(&self, topic: &str, partition: u32, entries: Vec<Entry>) -> Result<i64, WriteError> {
        if let Some(bytes) = entries.iter().map(cost).find(|bytes| *bytes > RECORD_BYTES_MAX) {
            return Err(WriteError::TooLarge { bytes });
        }
        let offsets: Vec<i64> =
            self.write_each(topic, partition, entries).await.into_iter().collect::<Result<_, _>>()?;
        Ok(offsets.first().copied().unwrap_or(-1))
    }

    /// Appends many records in order and says of each whether it was acknowledged, and at which offset. Those that
    /// travelled in one batch share its fate.
    pub async fn write_each(&self, topic: &str, partition: u32, entries: Vec<Entry>) -> Vec<Result<i64, WriteError>> {
        let mut results = Vec::with_capacity(entries.len());
        let mut answers = Vec::new();
        for unit in units(entries) {
            answers.push((unit.len(), self.submit(topic, partition, unit).await));
        }
        for (count, submitted) in answers {
            let first = match submitted {
                Ok(answer) => answer.await.unwrap_or_else(|_| Err(gone())),
                Err(error) => Err(error),
            };
            results.extend((0_i64..).take(count).map(|after| first.clone().map(|first| first + after)));
        }
        results
    }

    async fn submit(
        &self,
        topic: &str,
        partition: u32,
        entries: Vec<Entry>,
    ) -> Result<oneshot::Receiver<Result<i64, WriteError>>, WriteError> {
        let bytes = entries.iter().map(cost).sum();
        if bytes > RECORD_BYTES_MAX {
            return Err(WriteError::TooLarge { bytes });
        }
        let Partition { queue, room } = self.partition(topic, partition);
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX).min(UNACKNOWLEDGED_BYTES_MAX);
        let room = room.acquire_many_owned(permits).await.map_err(|_| gone())?;
        let (acknowledge, answer) = oneshot::channel();
        queue.send(Unit { entries, bytes, acknowledge, _room: room }).map_err(|_| gone())?;
        Ok(answer)
    }

    fn partition(&self, topic: &str, partition: u32) -> Partition {
        let mut partitions = self.partitions.lock();
        let key = (topic.to_owned(), partition);
        let known = partitions.entry(key).or_insert_with_key(|(topic, partition)| {
            let (queue, units) = mpsc::unbounded_channel();
            let task = Task { cluster: self.cluster.clone(), topic: topic.clone(), partition: *partition, link: None };
            tokio::spawn(task.run(units));
            Partition { queue, room: Arc::new(Semaphore::new(UNACKNOWLEDGED_BYTES_MAX as usize)) }
        });
        known.clone()
    }
}

fn gone() -> WriteError {
    WriteError::Unknown { reason: "the writer's task ended".into() }
}

fn cost((key, value): &Entry) -> usize {
    key.as_ref().map_or(0, Bytes::len) + value.len() + RECORD_BYTES
}

/// Cuts entries into units that fit a batch each; one that is too large for any is alone.
fn units(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut units: Vec<Vec<Entry>> = Vec::new();
    let mut load = Load::default();
    for entry in entries {
        let bytes = cost(&entry);
        match units.last_mut() {
            Some(unit) if load.takes(1, bytes) => unit.push(entry),
            Some(_) | None => {
                load = Load::default();
                load.takes(1, bytes);
                units.push(vec![entry]);
            }
        }
    }
    units
}

/// What a batch holds already.
#[derive(Debug, Default)]
struct Load {
    records: usize,
    bytes: usize,
}

impl Load {
    /// Adds to the batch if it still fits; the first always fits.
    const fn takes(&mut self, records: usize, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= BATCH_BYTES && self.records + records <= BATCH_RECORDS;
        if self.records > 0 && !fits {
            return false;
        }
        self.records += records;
        self.bytes += bytes;
        true
    }
}

struct Task {
    cluster: Cluster,
    topic: String,
    partition: u32,
    link: Option<Link>,
}

impl Task {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Unit>) {
        let mut left_over = None;
        while let Some(first) = next(&mut left_over, &mut queue).await {
            let mut load = Load::default();
            let mut batch = Vec::new();
            let mut unit = Some(first);
            while let Some(next) = unit {
                if !load.takes(next.entries.len(), next.bytes) {
                    left_over = Some(next);
                    break;
                }
                batch.push(next);
                unit = queue.try_recv().ok();
            }
            let answer = self.store(encode(&batch, load.bytes)).await;
            settle(batch, &answer);
        }
    }

    /// Stores a batch: acknowledged, or given up after patience, or unknown at once.
    async fn store(&mut self, batch: Bytes) -> Result<i64, WriteError> {
        let mut patience = Patience::new(REFUSED_PATIENCE);
        loop {
            let error = match self.request(batch.clone()).await {
                Ok(base_offset) => return Ok(base_offset),
                Err(Failed::Unknown(error)) => {
                    self.warn(&error);
                    return Err(WriteError::Unknown { reason: error.to_string().into() });
                }
                Err(Failed::Refused(error)) => error,
            };
            if let Err(error) = patience.wait_out(error).await {
                self.warn(&error);
                return Err(WriteError::Refused { reason: error.to_string().into() });
            }
        }
    }

    fn warn(&self, error: &Error) {
        warn!(topic = self.topic, partition = self.partition, %error, "A batch was not acknowledged.");
    }

    async fn request(&mut self, batch: Bytes) -> Result<i64, Failed> {
        let link = match self.link.take() {
            Some(link) => link,
            None => self.cluster.dial(&self.topic, self.partition).await.map_err(Failed::Refused)?,
        };
        // The link stays only if the answer is clear.
        let answer =
            link.call("a batch", request(&self.topic, self.partition, batch)).await.map_err(Failed::Unknown)?;
        let Some(found) = answer.find_partition_response(&self.topic, self.partition) else {
            return Err(Failed::Unknown(link.broken(None)));
        };
        let late = matches!(found.error_code, ErrorCode::RequestTimedOut { .. });
        Error::check("a batch", &self.topic, self.partition, found.error_code.clone()).map_err(if late {
            Failed::Unknown
        } else {
            Failed::Refused
        })?;
        self.link = Some(link);
        Ok(found.base_offset)
    }
}

/// Why a request has no offset.
enum Failed {
    Refused(Error),
    Unknown(Error),
}

async fn next(left_over: &mut Option<Unit>, queue: &mut mpsc::UnboundedReceiver<Unit>) -> Option<Unit> {
    match left_over.take() {
        Some(unit) => Some(unit),
        None => queue.recv().await,
    }
}

fn encode(units: &[Unit], bytes: usize) -> Bytes {
    let mut batch = BatchWriter::with_capacity(bytes);
    for (key, value) in units.iter().flat_map(|unit| &unit.entries) {
        batch.push(key.as_deref(), value);
    }
    batch.finish(now_ms())
}

fn now_ms() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Answers every unit of a batch.
fn settle(units: Vec<Unit>, answer: &Result<i64, WriteError>) {
    let mut offset = 0;
    for Unit { entries, acknowledge, .. } in units {
        let answer = answer.clone().map(|base_offset| base_offset + offset);
        offset += i64::try_from(entries.len()).unwrap_or(0);
        // Whoever does not wait any more does not need the answer.
        acknowledge.send(answer).ok();
    }
}

fn request(topic: &str, partition: u32, batch: Bytes) -> ProduceRequest<Slice> {
    let partition = PartitionProduceData { partition_index: partition, records: Slice(batch) };
    let mut topic_data = TopicProduceData { name: topic.to_owned(), ..Default::default() };
    topic_data.partitions.push(partition);
    ProduceRequest {
        isolation: Isolation::ReadUncommitted,
        timeout: STORE_MAX,
        topics: vec![topic_data],
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(bytes: usize) -> Entry {
        (None, vec![0; bytes].into())
    }

    #[test]
    fn entries_are_cut_into_units_that_fit_a_batch() {
        let units = units((0..12_000).map(|_| entry(10)).collect());

        assert_eq!(units.iter().map(Vec::len).collect::<Vec<_>>(), [5000, 5000, 2000]);
    }

    #[test]
    fn a_record_larger_than_a_batch_goes_alone() {
        let units = units(vec![entry(10), entry(5 << 20), entry(10)]);

        assert_eq!(units.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn each_unit_of_a_batch_gets_the_offset_of_its_first_record() {
        let room = Arc::new(Semaphore::new(2));
        let (units, answers): (Vec<_>, Vec<_>) = [2, 3]
            .map(|count| {
                let (acknowledge, answer) = oneshot::channel();
                let entries = (0..count).map(|_| entry(1)).collect();
                let room = Arc::clone(&room).try_acquire_owned().unwrap();
                (Unit { entries, bytes: 0, acknowledge, _room: room }, answer)
            })
            .into_iter()
            .unzip();

        settle(units, &Ok(100));

        let offsets: Vec<_> = answers.into_iter().map(|mut answer| answer.try_recv().unwrap().unwrap()).collect();
        assert_eq!(offsets, [100, 102]);
        assert_eq!(room.available_permits(), 2);
    }
}
