//! What a partition's files still hold after a crash.
//!
//! Every batch of every segment is read and its checksum compared. In the last segment the file is cut at the first
//! batch that is not whole: nothing behind it was ever acknowledged, since acknowledging waits for the sync. In a
//! closed segment a bad batch means that the disk lost what it had promised; the rest of that file is left as it is
//! for a person to look at, its offsets become a hole, and the log goes on with the next segment.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::segment::{EXTENSION, Entry, Extent, Segment};
use crate::wire::{Batch, Malformed, PREAMBLE_BYTES, whole_len};

const READ_BUFFER_BYTES: usize = 1 << 20;

/// All segments of the folder in order, at least one; the last one is the one to append to.
pub(super) fn open(dir: &Path) -> io::Result<Vec<Segment>> {
    std::fs::create_dir_all(dir)?;
    let mut files = segment_files(dir)?;
    files.sort_unstable();
    let last = files.len().saturating_sub(1);
    let mut segments = Vec::with_capacity(files.len());
    for (at, (base_offset, path)) in files.into_iter().enumerate() {
        segments.push(recover(path, base_offset, at == last)?);
    }
    if segments.is_empty() {
        segments.push(Segment::create(dir, 0)?);
    }
    Ok(segments)
}

fn segment_files(dir: &Path) -> io::Result<Vec<(i64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let base_offset = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        match base_offset {
            Some(base_offset) if path.extension().is_some_and(|extension| extension == EXTENSION) => {
                files.push((base_offset, path));
            }
            _ => tracing::warn!(path = %path.display(), "file is no segment and is left alone"),
        }
    }
    Ok(files)
}

fn recover(path: PathBuf, base_offset: i64, is_last: bool) -> io::Result<Segment> {
    let file = OpenOptions::new().read(true).write(true).open(&path)?;
    let file_len = file.metadata()?.len();
    let (extent, damage) = scan(&file, file_len, base_offset)?;
    if let Some(damage) = damage {
        let lost_bytes = file_len - extent.len;
        if is_last {
            tracing::warn!(path = %path.display(), end = extent.end_offset, lost_bytes, %damage, "unfinished write cut");
            file.set_len(extent.len)?;
            file.sync_all()?;
        } else {
            tracing::error!(path = %path.display(), end = extent.end_offset, lost_bytes, %damage, "closed segment is damaged");
        }
    }
    Ok(Segment::new(path, file, base_offset, extent))
}

/// What is sound from the start of the file, and why the rest is not.
fn scan(file: &File, file_len: u64, base_offset: i64) -> io::Result<(Extent, Option<Malformed>)> {
    let mut reader = BufReader::with_capacity(READ_BUFFER_BYTES, file);
    let mut extent = Extent { end_offset: base_offset, ..Extent::default() };
    while extent.len < file_len {
        match next_batch(&mut reader, file_len - extent.len, extent.end_offset)? {
            Ok(batch) => {
                extent.index.push(Entry { base_offset: batch.base_offset(), position: extent.len });
                extent.end_offset = batch.end_offset();
                extent.len += batch.bytes_len() as u64;
            }
            Err(damage) => return Ok((extent, Some(damage))),
        }
    }
    Ok((extent, None))
}

fn next_batch(reader: &mut impl Read, left: u64, expected_base: i64) -> io::Result<Result<Batch, Malformed>> {
    if left < PREAMBLE_BYTES as u64 {
        return Ok(Err(Malformed::Short));
    }
    let mut preamble = [0; PREAMBLE_BYTES];
    reader.read_exact(&mut preamble)?;
    let whole = match whole_len(&preamble) {
        Ok(whole) if whole as u64 > left => return Ok(Err(Malformed::Short)),
        Ok(whole) => whole,
        Err(malformed) => return Ok(Err(malformed)),
    };
    let mut bytes = vec![0; whole];
    bytes[..PREAMBLE_BYTES].copy_from_slice(&preamble);
    reader.read_exact(&mut bytes[PREAMBLE_BYTES..])?;
    Ok(check(bytes.into(), expected_base))
}

fn check(mut bytes: Bytes, expected_base: i64) -> Result<Batch, Malformed> {
    let batch = Batch::split_from(&mut bytes)?;
    batch.check()?;
    // Bytes of an older file that the disk shows behind the end can be sound batches; they are not this log's.
    if batch.base_offset() == expected_base { Ok(batch) } else { Err(Malformed::Header) }
}
