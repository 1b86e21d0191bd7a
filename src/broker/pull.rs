//! Reading by asking: `FetchRequest` for an offset, an answer at once, nothing kept on the broker.
//!
//! A push stream without a module loses records silently when it reads a backlog (the broker cuts a slice in the
//! middle of a batch, and the client acknowledges past the cut), so eddy never uses one. Here the cut batch is
//! dropped and asked for again, with more room when it does not fit. A batch covers offsets; what it covers and does
//! not contain is a hole of the log itself.

use std::time::Duration;

use eddy_topology::engine::Input;
use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::{
    Isolation,
    fetch::{FetchPartition, FetchRequest, FetchableTopic},
};
use tracing::{debug, warn};

use super::{
    Cluster, Error, Reader, Record,
    backoff::{Backoff, Patience},
    batch::{self, Batch, Slice},
    link::Link,
    reader::{Closed, Outlet, count},
};

/// What one fetch asks for at first.
const FETCH_BYTES: usize = 1 << 20;

/// The largest fetch. A broker accepts requests of 32 MiB, so no batch is larger than that.
const FETCH_BYTES_MAX: usize = 64 << 20;

/// How long [`Puller::pull`] tries before it gives a transient error back.
const PULL_PATIENCE: Duration = Duration::from_secs(10);

/// The pauses between fetches while there is nothing to read.
const IDLE_FIRST: Duration = Duration::from_millis(1);
const IDLE_MAX: Duration = Duration::from_millis(50);

/// The pauses between tries while the broker cannot be read.
pub(super) const RETRY_FIRST: Duration = Duration::from_millis(50);
pub(super) const RETRY_MAX: Duration = Duration::from_secs(2);

/// Reads one partition at any offset. Costs nothing until the first pull.
#[derive(Debug)]
pub struct Puller {
    cluster: Cluster,
    topic: String,
    partition: u32,
    link: Option<Link>,
    room: Room,
}

/// What one pull brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// In offset order, none below the asked one.
    pub records: Vec<Record>,
    /// The offset to ask for next. Offsets between the asked one and this one that have no record are holes.
    pub next_offset: i64,
    /// The log's end.
    pub log_end: i64,
    /// The log's beginning.
    pub log_start: i64,
}

/// Whole batches from the one that covers the asked offset.
#[derive(Debug)]
pub(super) struct Batches {
    pub(super) batches: Vec<Batch>,
    pub(super) log_end: i64,
    pub(super) log_start: i64,
}

impl Puller {
    /// A puller of one partition.
    #[must_use]
    pub fn new(cluster: &Cluster, topic: &str, partition: u32) -> Self {
        Self { cluster: cluster.clone(), topic: topic.to_owned(), partition, link: None, room: Room::new() }
    }

    /// Records from `offset` on; none when the log ends there.
    ///
    /// # Errors
    /// [`Error::Evicted`] when the log starts later, [`Error::BeyondEnd`] when it ends before, and whatever kept the
    /// broker from answering for ten seconds.
    pub async fn pull(&mut self, offset: i64) -> Result<Pulled, Error> {
        let mut patience = Patience::new(PULL_PATIENCE);
        loop {
            match self.pull_once(offset).await {
                Ok(pulled) => return Ok(pulled),
                Err(error) => patience.wait_out(error).await?,
            }
        }
    }

    async fn pull_once(&mut self, offset: i64) -> Result<Pulled, Error> {
        let Batches { batches, log_end, log_start } = self.batches(offset).await?;
        let mut records = Vec::with_capacity(batches.iter().map(Batch::offsets).sum());
        let mut next_offset = offset;
        for batch in &batches {
            records.extend(self.records(batch)?.into_iter().filter(|record| record.offset >= offset));
            next_offset = next_offset.max(batch.next_offset());
        }
        Ok(Pulled { records, next_offset, log_end, log_start })
    }

    pub(super) fn records(&self, batch: &Batch) -> Result<Vec<Record>, Error> {
        batch.records().map_err(|corrupt| Error::Corrupt {
            topic: self.topic.clone(),
            partition: self.partition,
            offset: batch.base_offset,
            reason: corrupt.0,
        })
    }

    /// At least one whole batch, unless the log ends at `offset`.
    pub(super) async fn batches(&mut self, offset: i64) -> Result<Batches, Error> {
        loop {
            let answer = self.fetch(offset).await;
            if answer.is_err() {
                self.link = None;
            }
            let (slice, log_end, log_start) = answer?;
            let cut = batch::cut(slice);
            if let Some(needed) = self.room.after(&cut) {
                if needed <= FETCH_BYTES_MAX {
                    continue;
                }
                let (topic, partition) = (self.topic.clone(), self.partition);
                return Err(Error::BatchTooLarge {
                    topic,
                    partition,
                    offset,
                    bytes: needed,
                    bytes_max: FETCH_BYTES_MAX,
                });
            }
            return Ok(Batches { batches: cut.batches, log_end, log_start });
        }
    }

    async fn fetch(&mut self, offset: i64) -> Result<(bytes::Bytes, i64, i64), Error> {
        let link = match self.link.take() {
            Some(link) => link,
            None => self.cluster.dial(&self.topic, self.partition).await?,
        };
        let link = self.link.insert(link);
        let answer = link.call("a fetch", request(&self.topic, self.partition, offset, self.room.bytes)).await?;
        let Some(found) = answer.find_partition(&self.topic, self.partition) else {
            return Err(Error::NoLeader { topic: self.topic.clone(), partition: self.partition });
        };
        check_read(&self.topic, self.partition, offset, found.error_code)?;
        Ok((found.records.0, found.high_watermark, found.log_start_offset))
    }
}

fn request(topic: &str, partition: u32, offset: i64, bytes: usize) -> FetchRequest<Slice> {
    let max_bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    let partition =
        FetchPartition { partition_index: partition, fetch_offset: offset, max_bytes, ..Default::default() };
    FetchRequest {
        max_bytes,
        isolation_level: Isolation::ReadUncommitted,
        topics: vec![FetchableTopic { name: topic.to_owned(), fetch_partitions: vec![partition] }],
        ..Default::default()
    }
}

/// The error behind a code that a broker answered to a fetch at an offset, if it is one.
#[expect(clippy::wildcard_enum_match_arm, reason = "the broker's codes are many and the list is not ours")]
pub(super) fn check_read(topic: &str, partition: u32, position: i64, code: ErrorCode) -> Result<(), Error> {
    /// How the broker says that an offset is beyond the log's end; there is no code for it.
    const BEYOND_END: &str = "start offset";

    match code {
        ErrorCode::OffsetEvicted { offset, next_available } => {
            Err(Error::Evicted { topic: topic.to_owned(), partition, asked: offset, next_available })
        }
        ErrorCode::Other(text) if text.starts_with(BEYOND_END) => {
            Err(Error::BeyondEnd { topic: topic.to_owned(), partition, position })
        }
        code => Error::check("a fetch", topic, partition, code),
    }
}

/// How many bytes a fetch asks for: enough for the largest batch seen of late.
#[derive(Debug)]
struct Room {
    bytes: usize,
}

impl Room {
    const fn new() -> Self {
        Self { bytes: FETCH_BYTES }
    }

    /// Learns from an answer. `Some` when it had no whole batch: how much room to ask again with.
    fn after(&mut self, cut: &batch::Cut) -> Option<usize> {
        if let (true, Some(bytes)) = (cut.batches.is_empty(), cut.cut_batch_bytes) {
            let needed = bytes.max(self.bytes * 2);
            let needed = if bytes <= FETCH_BYTES_MAX { needed.min(FETCH_BYTES_MAX) } else { bytes };
            self.bytes = needed.min(FETCH_BYTES_MAX);
            return Some(needed);
        }
        if let Some(largest) = cut.batches.iter().map(Batch::bytes).max() {
            self.bytes = (largest * 2).clamp(FETCH_BYTES, self.bytes);
        }
        None
    }
}

/// Reads a partition from `from` on for ever, as [`Input::Raw`] and [`Input::Hole`].
#[must_use]
pub fn read(cluster: &Cluster, topic: &str, partition: u32, from: i64) -> Reader {
    let puller = Puller::new(cluster, topic, partition);
    // The host dropping its reader is how a reader ends.
    Reader::spawn(async move |outlet| run(puller, from, &outlet).await.unwrap_or(()))
}

async fn run(mut puller: Puller, from: i64, outlet: &Outlet) -> Result<(), Closed> {
    let mut position = from;
    let mut idle = Backoff::new(IDLE_FIRST, IDLE_MAX);
    let mut retry = Backoff::new(RETRY_FIRST, RETRY_MAX);
    loop {
        match puller.pull(position).await {
            Ok(pulled) if pulled.next_offset == position => tokio::time::sleep(idle.pause()).await,
            Ok(pulled) => {
                idle.reset();
                retry.reset();
                let (next_offset, log_end) = (pulled.next_offset, pulled.log_end);
                outlet.inputs(with_holes(pulled.records, position, next_offset), log_end).await?;
                position = next_offset;
            }
            Err(Error::Evicted { next_available, .. }) if next_available > position => {
                outlet.evicted(position, next_available).await?;
                position = next_available;
            }
            Err(error) if error.is_transient() => {
                count(&outlet.counters.reopened, 1);
                warn!(topic = puller.topic, partition = puller.partition, %error, "Reading failed; it is tried again.");
                tokio::time::sleep(retry.pause()).await;
            }
            Err(error) => {
                debug!(topic = puller.topic, partition = puller.partition, %error, "Reading ended.");
                return outlet.fail(error).await;
            }
        }
    }
}

/// Records as inputs, and a hole for every offset of `from..to` that has none.
fn with_holes(records: Vec<Record>, from: i64, to: i64) -> Vec<Input> {
    let mut inputs = Vec::with_capacity(records.len());
    let mut expected = from;
    for record in records {
        inputs.extend((expected..record.offset).map(|offset| Input::Hole { offset }));
        expected = record.offset + 1;
        inputs.push(record.into());
    }
    inputs.extend((expected..to).map(|offset| Input::Hole { offset }));
    inputs
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{super::batch::BatchWriter, *};

    fn a_batch(value_bytes: usize) -> Bytes {
        let mut batch = BatchWriter::with_capacity(value_bytes);
        batch.push(None, &vec![0; value_bytes]);
        batch.finish(1)
    }

    fn record(offset: i64) -> Record {
        Record { offset, timestamp_ms: 1, key: None, value: Bytes::new() }
    }

    #[test]
    fn a_batch_that_does_not_fit_is_asked_for_with_room_for_it() {
        let mut room = Room::new();
        let batch = a_batch(5 << 20);

        let needed = room.after(&batch::cut(batch.slice(..FETCH_BYTES)));

        assert_eq!(needed, Some(batch.len()));
        assert_eq!(room.bytes, batch.len());
        assert_eq!(room.after(&batch::cut(batch)), None);
    }

    #[test]
    fn room_shrinks_again_when_batches_do() {
        let mut room = Room { bytes: 32 << 20 };

        room.after(&batch::cut(a_batch(100)));

        assert_eq!(room.bytes, FETCH_BYTES);
    }

    #[test]
    fn a_batch_beyond_every_limit_is_named_and_not_asked_for_again_and_again() {
        let mut room = Room::new();
        let mut header = a_batch(100).to_vec();
        header[8..12].copy_from_slice(&i32::MAX.to_be_bytes());

        let needed = room.after(&batch::cut(header.into()));

        assert!(needed.unwrap() > FETCH_BYTES_MAX);
    }

    #[test]
    fn an_end_of_the_log_asks_for_no_more_room() {
        assert_eq!(Room::new().after(&batch::cut(Bytes::new())), None);
    }

    #[test]
    fn offsets_without_a_record_become_holes() {
        let inputs = with_holes(vec![record(3), record(5)], 2, 7);

        let offsets: Vec<_> = inputs
            .iter()
            .map(|input| match input {
                Input::Hole { offset } => (*offset, "hole"),
                Input::Raw { offset, .. } | Input::Judged { offset, .. } => (*offset, "record"),
            })
            .collect();
        assert_eq!(offsets, [(2, "hole"), (3, "record"), (4, "hole"), (5, "record"), (6, "hole")]);
    }
}
