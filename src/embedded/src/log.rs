//! One partition's records: append-only segments of the batches that clients sent, byte for byte.
//!
//! Only the base offset (and the checksum, see [`crate::wire::Batch::write_at`]) is set; nothing is decoded. A log has
//! one order, one writer at a time (`writer`) and any number of readers, who take a [`Slice`] under a short lock
//! and read it outside. The end that readers see, and wait for through [`Log::tail`], is the durable end: log end and
//! high watermark are one number here, as on an SPU without followers.
//!
//! Retention deletes whole closed segments. The last segment is never deleted, whatever its age, as on a real SPU.

mod recovery;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    collections::VecDeque,
    io, iter, mem,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

pub use segment::Slice;
pub use writer::AppendError;

use crate::wire::Batch;
use segment::{Entry, Segment};
use writer::{Append, Writer};

/// The limits of one log; from the topic's storage settings. The defaults are a real cluster's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment is closed before it grows beyond this.
    pub segment_bytes_max: u64,
    /// Oldest closed segments go while the partition is larger.
    pub partition_bytes_max: u64,
    /// Closed segments go when they were last written longer ago.
    pub retention_secs: u64,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { segment_bytes_max: 1 << 30, partition_bytes_max: 100 << 30, retention_secs: 7 * 24 * 3600 }
    }
}

/// Why an offset cannot be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OffsetError {
    /// Retention deleted it.
    #[error("offset {offset} is evicted, the next available is {next_available}")]
    Evicted {
        /// What was asked for.
        offset: i64,
        /// The log's start.
        next_available: i64,
    },
    /// Nothing was written there yet.
    #[error("start offset: {offset} is greater than leo: {end_offset}")]
    BeyondEnd {
        /// What was asked for.
        offset: i64,
        /// The log's end.
        end_offset: i64,
    },
}

/// Where a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The offset after the last durable record.
    Open(i64),
    /// The topic is gone.
    Deleted,
}

/// The log of one partition.
#[derive(Debug)]
pub struct Log {
    segments: Mutex<VecDeque<Segment>>,
    tail: watch::Sender<Tail>,
    queue: Mutex<Queue>,
    config: LogConfig,
}

#[derive(Debug)]
struct Queue {
    waiting: Vec<Append>,
    writer: Seat,
}

/// Where the writer is.
#[derive(Debug)]
enum Seat {
    Free(Writer),
    Writing,
    /// A write failed.
    Broken,
    /// The log takes no more; what was queued before is still written.
    Closed,
}

impl Log {
    /// Recovers the log that the folder holds, or makes an empty one.
    pub fn open(dir: &Path, config: LogConfig) -> io::Result<Self> {
        let segments = VecDeque::from(recovery::open(dir)?);
        let last = segments.back().expect("recovery makes a segment when there is none");
        let writer = Writer::new(dir.to_path_buf(), config.segment_bytes_max, last);
        let tail = watch::Sender::new(Tail::Open(last.end_offset()));
        let queue = Mutex::new(Queue { waiting: Vec::new(), writer: Seat::Free(writer) });
        Ok(Self { segments: Mutex::new(segments), tail, queue, config })
    }

    /// First readable offset.
    pub fn start_offset(&self) -> i64 {
        self.segments.lock().front().map_or(0, |first| first.base_offset)
    }

    /// Offset after the last durable record.
    pub fn end_offset(&self) -> i64 {
        self.segments.lock().back().map_or(0, Segment::end_offset)
    }

    /// Durable bytes.
    pub fn size_bytes(&self) -> u64 {
        self.segments.lock().iter().map(Segment::len).sum()
    }

    /// The end of the log, to be waited for.
    pub fn tail(&self) -> watch::Receiver<Tail> {
        self.tail.subscribe()
    }

    /// Queues batches at the end; the future yields the offset of the first record once all are durable.
    ///
    /// The place in the log is taken by the call, not by the first poll.
    pub fn append(self: &Arc<Self>, batches: Vec<Batch>) -> impl Future<Output = Result<i64, AppendError>> + use<> {
        let queued = self.enqueue(batches);
        async move { queued?.await.map_err(|_| AppendError::Closed)? }
    }

    /// Whether records can be read from the offset on, now or later.
    pub fn check(&self, offset: i64) -> Result<(), OffsetError> {
        self.in_segment(offset, |_| ())
    }

    /// Bytes from the batch that holds the offset, cut at `bytes_max` wherever that falls, within one segment.
    pub fn cut_slice(&self, offset: i64, bytes_max: u64) -> Result<Slice, OffsetError> {
        self.in_segment(offset, |segment| segment.cut_slice(offset, bytes_max))
    }

    /// Whole batches from the one that holds the offset, at least one, within one segment.
    pub fn whole_slice(&self, offset: i64, bytes_hint: u64) -> Result<Slice, OffsetError> {
        self.in_segment(offset, |segment| segment.whole_slice(offset, bytes_hint))
    }

    /// The end of the segment that holds the offset.
    pub fn segment_end(&self, offset: i64) -> Result<i64, OffsetError> {
        self.in_segment(offset, Segment::end_offset)
    }

    /// Deletes closed segments that are too old, or too many for the partition's size.
    pub fn clean(&self, now: SystemTime) -> io::Result<()> {
        while let Some(evicted) = self.evict(now)? {
            evicted.delete()?;
        }
        Ok(())
    }

    /// Takes no more appends and waits until those that were taken are answered.
    pub async fn close(self: &Arc<Self>) {
        let last = self.append(Vec::new());
        self.queue.lock().close();
        // However the last one ended, nothing is being written any more.
        last.await.ok();
    }

    /// Ends every stream over the log and takes no more appends.
    pub fn mark_deleted(&self) {
        self.queue.lock().close();
        self.tail.send_replace(Tail::Deleted);
    }

    fn enqueue(
        self: &Arc<Self>,
        batches: Vec<Batch>,
    ) -> Result<oneshot::Receiver<Result<i64, AppendError>>, AppendError> {
        if batches.iter().any(|batch| batch.bytes_len() as u64 > self.config.segment_bytes_max) {
            return Err(AppendError::TooLarge);
        }
        let (done, answer) = oneshot::channel();
        let mut queue = self.queue.lock();
        match mem::replace(&mut queue.writer, Seat::Writing) {
            Seat::Free(writer) => {
                let log = Arc::clone(self);
                tokio::task::spawn_blocking(move || log.write_all_waiting(writer));
            }
            Seat::Writing => {}
            Seat::Broken => {
                queue.writer = Seat::Broken;
                return Err(AppendError::ShortCircuited);
            }
            Seat::Closed => {
                queue.writer = Seat::Closed;
                return Err(AppendError::Closed);
            }
        }
        queue.waiting.push(Append { batches, done });
        Ok(answer)
    }

    /// The writer's turn: group after group until nobody waits.
    fn write_all_waiting(&self, mut writer: Writer) {
        loop {
            let group = {
                let mut queue = self.queue.lock();
                if queue.waiting.is_empty() {
                    return queue.leave(Seat::Free(writer));
                }
                mem::take(&mut queue.waiting)
            };
            match writer.write(&group, self) {
                Ok(starts) => answer(group, starts.into_iter().map(Ok)),
                Err(error) => return self.fail(group, error),
            }
        }
    }

    fn fail(&self, group: Vec<Append>, error: io::Error) {
        tracing::error!(%error, "log cannot be written and takes no more until the node restarts");
        let refused = {
            let mut queue = self.queue.lock();
            queue.leave(Seat::Broken);
            mem::take(&mut queue.waiting)
        };
        answer(group, iter::repeat(Err(AppendError::Storage(Arc::new(error)))));
        answer(refused, iter::repeat(Err(AppendError::ShortCircuited)));
    }

    fn add_segment(&self, segment: Segment) {
        self.segments.lock().push_back(segment);
    }

    /// Shows batches that were just synced to the last segment.
    fn show(&self, entries: &[Entry], end_offset: i64, len: u64) {
        self.segments.lock().back_mut().expect("a log has a last segment").extend(entries, end_offset, len);
        self.tail.send_if_modified(|tail| match tail {
            Tail::Open(end) => {
                *end = end_offset;
                true
            }
            Tail::Deleted => false,
        });
    }

    fn evict(&self, now: SystemTime) -> io::Result<Option<Segment>> {
        let mut segments = self.segments.lock();
        if segments.len() < 2 {
            return Ok(None);
        }
        let retention = Duration::from_secs(self.config.retention_secs);
        let too_large = segments.iter().map(Segment::len).sum::<u64>() > self.config.partition_bytes_max;
        let too_old = segments.front().map_or(Ok(false), |oldest| oldest.is_older_than(retention, now))?;
        Ok(if too_large || too_old { segments.pop_front() } else { None })
    }

    fn in_segment<T>(&self, offset: i64, read: impl FnOnce(&Segment) -> T) -> Result<T, OffsetError> {
        let segments = self.segments.lock();
        let (Some(first), Some(last)) = (segments.front(), segments.back()) else {
            unreachable!("a log has a last segment")
        };
        if offset < first.base_offset {
            return Err(OffsetError::Evicted { offset, next_available: first.base_offset });
        }
        if offset > last.end_offset() {
            return Err(OffsetError::BeyondEnd { offset, end_offset: last.end_offset() });
        }
        let at = segments.partition_point(|segment| segment.end_offset() <= offset);
        Ok(read(segments.get(at).unwrap_or(last)))
    }
}

impl Queue {
    fn close(&mut self) {
        self.writer = Seat::Closed;
    }

    fn leave(&mut self, seat: Seat) {
        if !matches!(self.writer, Seat::Closed) {
            self.writer = seat;
        }
    }
}

fn answer(group: Vec<Append>, answers: impl Iterator<Item = Result<i64, AppendError>>) {
    for (append, answer) in group.into_iter().zip(answers) {
        // A producer that went away does not want to know.
        append.done.send(answer).ok();
    }
}
