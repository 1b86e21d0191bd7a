//! One file of a log: whole batches, one after the other, and where each of them starts.
//!
//! The file's name is the offset of its first record. The index is in memory only (16 bytes a batch) and rebuilt by
//! recovery. What this type shows is durable: the writer adds to it after its sync.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;

/// How segment files are recognised.
pub(super) const EXTENSION: &str = "log";

/// Where a batch starts, in the log and in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) base_offset: i64,
    pub(super) position: u64,
}

/// What is durable in one file.
#[derive(Debug, Default)]
pub(super) struct Extent {
    pub(super) index: Vec<Entry>,
    pub(super) end_offset: i64,
    pub(super) len: u64,
}

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) base_offset: i64,
    pub(super) file: Arc<File>,
    extent: Extent,
    path: PathBuf,
}

impl Segment {
    /// An empty segment whose file survives a crash of the machine: the folder is synced too.
    pub(super) fn create(dir: &Path, base_offset: i64) -> io::Result<Self> {
        let path = dir.join(format!("{base_offset:020}.{EXTENSION}"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        File::open(dir)?.sync_all()?;
        Ok(Self::new(path, file, base_offset, Extent { end_offset: base_offset, ..Extent::default() }))
    }

    pub(super) fn new(path: PathBuf, file: File, base_offset: i64, extent: Extent) -> Self {
        Self { base_offset, file: Arc::new(file), extent, path }
    }

    /// Shows what was just synced.
    pub(super) fn extend(&mut self, entries: &[Entry], end_offset: i64, len: u64) {
        self.extent.index.extend_from_slice(entries);
        self.extent.end_offset = end_offset;
        self.extent.len = len;
    }

    pub(super) fn end_offset(&self) -> i64 {
        self.extent.end_offset
    }

    pub(super) fn len(&self) -> u64 {
        self.extent.len
    }

    /// From the batch that holds the offset (or the next one, across a hole) to the end of the file, cut at any byte.
    pub(super) fn cut_slice(&self, offset: i64, bytes_max: u64) -> Slice {
        let position = self.position_of(offset);
        self.slice(position, (self.extent.len - position).min(bytes_max))
    }

    /// Whole batches from the one that holds the offset: as many as fit the hint, at least one.
    pub(super) fn whole_slice(&self, offset: i64, bytes_hint: u64) -> Slice {
        let position = self.position_of(offset);
        let limit = position + bytes_hint;
        let starts = &self.extent.index;
        let over = starts.partition_point(|entry| entry.position <= limit);
        let last_within = starts[..over].last().map_or(0, |entry| entry.position);
        let end = if self.extent.len <= limit {
            self.extent.len
        } else if last_within > position {
            last_within
        } else {
            starts.get(over).map_or(self.extent.len, |entry| entry.position)
        };
        self.slice(position, end - position)
    }

    /// Whether the file was last written longer ago than that.
    pub(super) fn is_older_than(&self, age: Duration, now: SystemTime) -> io::Result<bool> {
        let written = self.file.metadata()?.modified()?;
        Ok(now.duration_since(written).is_ok_and(|since| since > age))
    }

    /// Unlinks the file; slices that were handed out stay readable.
    pub(super) fn delete(self) -> io::Result<()> {
        std::fs::remove_file(self.path)
    }

    /// Where the batch starts that holds the offset: the first one for an offset before this segment, the end of the
    /// file for one behind it.
    fn position_of(&self, offset: i64) -> u64 {
        if offset >= self.extent.end_offset {
            return self.extent.len;
        }
        let index = &self.extent.index;
        let at = index.partition_point(|entry| entry.base_offset <= offset).saturating_sub(1);
        index.get(at).map_or(self.extent.len, |entry| entry.position)
    }

    fn slice(&self, position: u64, len: u64) -> Slice {
        Slice { file: Arc::clone(&self.file), position, len }
    }
}

/// A part of a segment file that can be read without holding up the log; keeps the file open.
#[derive(Debug)]
pub struct Slice {
    file: Arc<File>,
    position: u64,
    len: u64,
}

impl Slice {
    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    ///
    /// Reads in place, also in async code: what consumers ask for was mostly just written and comes from the page
    /// cache in microseconds, less than a hop to another thread would cost.
    pub fn read(&self) -> io::Result<Bytes> {
        let len = usize::try_from(self.len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, self.position)?;
        Ok(bytes.into())
    }
}
