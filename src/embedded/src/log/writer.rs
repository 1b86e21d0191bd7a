//! Group commit: one write and one sync for everybody who waits.
//!
//! An append joins the queue. If nobody writes, a writer is sent off at once, so an idle log costs one sync and no
//! waiting; appends that arrive during its sync gather and go together in its next turn. The queue's order is the
//! log's order. The writer shows the new end only after the sync, and only then answers: what a producer heard
//! acknowledged and what a consumer saw is on disk.
//!
//! After a failed write nobody knows what the file holds, so the log takes no more until the node is restarted and
//! has looked (a real SPU calls it short-circuited).

use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf, sync::Arc};

use tokio::sync::oneshot;

use super::{
    Log,
    segment::{Entry, Segment},
};
use crate::wire::Batch;

/// A group is synced early beyond this; bounds the write buffer.
const GROUP_BYTES_MAX: usize = 64 << 20;
/// The write buffer is kept between groups up to this size.
const BUFFER_BYTES_KEPT: usize = 4 << 20;

/// Why an append did not happen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The batch can never fit into a segment.
    #[error("batch is larger than a segment")]
    TooLarge,
    /// Writing or syncing failed; whether the batch is stored is unknown until the next start.
    #[error("log cannot be written: {0}")]
    Storage(Arc<io::Error>),
    /// An earlier write failed.
    #[error("log takes no writes since one failed")]
    ShortCircuited,
    /// The node is stopping, or the topic was deleted.
    #[error("log is closed")]
    Closed,
}

/// Batches that wait to be written, and who waits for them.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) batches: Vec<Batch>,
    pub(super) done: oneshot::Sender<Result<i64, AppendError>>,
}

/// The one who may write to the log's last file.
#[derive(Debug)]
pub(super) struct Writer {
    dir: PathBuf,
    segment_bytes_max: u64,
    file: Arc<File>,
    synced_len: u64,
    next_offset: i64,
    buffer: Vec<u8>,
    entries: Vec<Entry>,
}

impl Writer {
    pub(super) fn new(dir: PathBuf, segment_bytes_max: u64, last: &Segment) -> Self {
        Self {
            dir,
            segment_bytes_max,
            file: Arc::clone(&last.file),
            synced_len: last.len(),
            next_offset: last.end_offset(),
            buffer: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Makes a whole group durable and says where each append starts, in the group's order.
    pub(super) fn write(&mut self, group: &[Append], log: &Log) -> io::Result<Vec<i64>> {
        let mut starts = Vec::with_capacity(group.len());
        for append in group {
            starts.push(self.next_offset);
            for batch in &append.batches {
                self.add(batch, log)?;
            }
        }
        self.sync(log)?;
        self.buffer.shrink_to(BUFFER_BYTES_KEPT);
        Ok(starts)
    }

    fn add(&mut self, batch: &Batch, log: &Log) -> io::Result<()> {
        let segment_len = self.synced_len + self.buffer.len() as u64;
        if segment_len > 0 && segment_len + batch.bytes_len() as u64 > self.segment_bytes_max {
            self.roll(log)?;
        } else if self.buffer.len() + batch.bytes_len() > GROUP_BYTES_MAX {
            self.sync(log)?;
        }
        let position = self.synced_len + self.buffer.len() as u64;
        self.entries.push(Entry { base_offset: self.next_offset, position });
        batch.write_at(self.next_offset, &mut self.buffer);
        self.next_offset += batch.offsets();
        Ok(())
    }

    fn roll(&mut self, log: &Log) -> io::Result<()> {
        self.sync(log)?;
        let segment = Segment::create(&self.dir, self.next_offset)?;
        self.file = Arc::clone(&segment.file);
        self.synced_len = 0;
        log.add_segment(segment);
        Ok(())
    }

    fn sync(&mut self, log: &Log) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&self.buffer, self.synced_len)?;
        self.file.sync_data()?;
        self.synced_len += self.buffer.len() as u64;
        log.show(&self.entries, self.next_offset, self.synced_len);
        self.buffer.clear();
        self.entries.clear();
        Ok(())
    }
}
