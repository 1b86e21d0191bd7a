//! Recent effects on disk: append-only files of fixed-size slots, one file per generation.
//!
//! A slot has 32 bytes, integers big endian, and ends with the crc32c of the rest and the generation's number:
//!
//! | bytes | first slot | every other slot |
//! |---|---|---|
//! | 0..16 | magic `eddyrec`, version; generation | key |
//! | 16..24 | when it began, seconds since 1970 | fingerprint of the payload |
//! | 24..28 | zero | when it was written, seconds since 1970 |
//! | 28..32 | crc | crc |
//!
//! A crash may leave half a slot or slots that never reached the disk; both are passed over, and what was reported as
//! stored stands before them or among them at its fixed place. Files older than the newest all belong to the previous
//! generation and are deleted only when the next one begins, so every step may be cut by a crash.

use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::key::{Entry, Fingerprint, Key};

const SLOT_BYTES: usize = 32;
const MAGIC: [u8; 7] = *b"eddyrec";
const VERSION: u8 = 1;
const EXTENSION: &str = "journal";

/// Why the journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{} has version {version}, which this build does not know", .path.display())]
    UnknownVersion { path: PathBuf, version: u8 },
    #[error("cannot use {}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The newest generation's file, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
    generation: u64,
    began_s: u64,
    file: File,
    /// Where the next slot goes; all before it was reported as stored or came from an earlier run.
    length: u64,
    buffer: Vec<u8>,
}

/// What earlier runs stored.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) previous: Vec<Entry>,
    pub(super) current: Vec<Entry>,
}

impl Journal {
    /// Opens the newest generation in `dir`, or the first.
    pub(super) fn open(dir: &Path, now_s: u64) -> Result<(Self, Loaded), JournalError> {
        let named = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::Io { path, source }
        };
        let mut loaded = Loaded::default();
        let mut generations = generations(dir).map_err(named(dir))?;
        let newest = generations.pop();
        for generation in generations {
            loaded.previous.extend(read(dir, generation)?.entries);
        }
        let begin = |generation| {
            let (file, length) = create(dir, generation, now_s)?;
            Ok(Self { dir: dir.to_owned(), generation, began_s: now_s, file, length, buffer: Vec::new() })
        };
        let Some(generation) = newest else {
            return Ok((begin(1).map_err(named(dir))?, loaded));
        };
        let contents = read(dir, generation)?;
        let Some(began_s) = contents.began_s else {
            // Its first slot never reached the disk, so nothing in it was reported; it is followed by a whole one.
            loaded.previous.extend(contents.entries);
            return Ok((begin(generation + 1).map_err(named(dir))?, loaded));
        };
        loaded.current = contents.entries;
        let path = file_path(dir, generation);
        let file = File::options().write(true).open(&path).map_err(named(&path))?;
        let journal = Self {
            dir: dir.to_owned(),
            generation,
            began_s,
            file,
            length: contents.whole_slots_bytes,
            buffer: Vec::new(),
        };
        Ok((journal, loaded))
    }

    /// Stores the entries. After an error the same entries may be appended again: they go to the same place.
    pub(super) fn append(&mut self, entries: &[Entry], now_s: u64) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.buffer.clear();
        for entry in entries {
            self.buffer.extend(entry_slot(*entry, now_s, self.generation));
        }
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&self.buffer)?;
        self.file.sync_data()?;
        self.length += self.buffer.len() as u64;
        Ok(())
    }

    /// Begins the next generation and deletes all but it and the one that ends.
    pub(super) fn rotate(&mut self, now_s: u64) -> io::Result<()> {
        let ended = self.generation;
        (self.file, self.length) = create(&self.dir, ended + 1, now_s)?;
        (self.generation, self.began_s) = (ended + 1, now_s);
        for generation in generations(&self.dir)?.into_iter().filter(|generation| *generation < ended) {
            fs::remove_file(file_path(&self.dir, generation))?;
        }
        Ok(())
    }

    /// How old the current generation is.
    pub(super) const fn age_s(&self, now_s: u64) -> u64 {
        now_s.saturating_sub(self.began_s)
    }
}

/// One file as it was found.
struct Contents {
    /// `None` when the first slot is damaged.
    began_s: Option<u64>,
    entries: Vec<Entry>,
    whole_slots_bytes: u64,
}

fn read(dir: &Path, generation: u64) -> Result<Contents, JournalError> {
    let path = file_path(dir, generation);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(source) => return Err(JournalError::Io { path, source }),
    };
    let (slots, _torn) = bytes.as_chunks::<SLOT_BYTES>();
    let began_s = match slots.first().and_then(|slot| parse_first_slot(slot, generation)) {
        Some((VERSION, began_s)) => Some(began_s),
        Some((version, _)) => return Err(JournalError::UnknownVersion { path, version }),
        None => None,
    };
    let rest = slots.get(1..).unwrap_or_default();
    let entries: Vec<Entry> = rest.iter().filter_map(|slot| parse_entry_slot(slot, generation)).collect();
    if entries.len() < rest.len() {
        tracing::warn!(path = %path.display(), slots = rest.len() - entries.len(), "Damaged slots of the guard's journal were passed over.");
    }
    Ok(Contents { began_s, entries, whole_slots_bytes: (slots.len() * SLOT_BYTES) as u64 })
}

/// Creates a generation's file with its first slot, on disk when this returns.
fn create(dir: &Path, generation: u64, now_s: u64) -> io::Result<(File, u64)> {
    let mut file = File::create(file_path(dir, generation))?;
    file.write_all(&first_slot(now_s, generation))?;
    file.sync_all()?;
    File::open(dir)?.sync_all()?;
    Ok((file, SLOT_BYTES as u64))
}

/// The generations in `dir`, oldest first.
fn generations(dir: &Path) -> io::Result<Vec<u64>> {
    let mut generations = Vec::new();
    for file in fs::read_dir(dir)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            generations.extend(path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()));
        }
    }
    generations.sort_unstable();
    Ok(generations)
}

fn file_path(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{generation:08}.{EXTENSION}"))
}

fn first_slot(began_s: u64, generation: u64) -> [u8; SLOT_BYTES] {
    let mut slot = [0; SLOT_BYTES];
    slot[..7].copy_from_slice(&MAGIC);
    slot[7] = VERSION;
    slot[8..16].copy_from_slice(&generation.to_be_bytes());
    slot[16..24].copy_from_slice(&began_s.to_be_bytes());
    seal(slot, generation)
}

fn entry_slot(entry: Entry, now_s: u64, generation: u64) -> [u8; SLOT_BYTES] {
    let mut slot = [0; SLOT_BYTES];
    slot[..16].copy_from_slice(&entry.key.0);
    slot[16..24].copy_from_slice(&entry.fingerprint.0);
    slot[24..28].copy_from_slice(&u32::try_from(now_s).unwrap_or(u32::MAX).to_be_bytes());
    seal(slot, generation)
}

fn seal(mut slot: [u8; SLOT_BYTES], generation: u64) -> [u8; SLOT_BYTES] {
    let crc = checksum(&slot, generation);
    slot[28..].copy_from_slice(&crc);
    slot
}

/// The generation takes part, so a slot counts only in the file that it was written to.
fn checksum(slot: &[u8; SLOT_BYTES], generation: u64) -> [u8; 4] {
    crc32c::crc32c_append(crc32c::crc32c(&generation.to_be_bytes()), &slot[..28]).to_be_bytes()
}

/// Version and beginning.
fn parse_first_slot(slot: &[u8; SLOT_BYTES], generation: u64) -> Option<(u8, u64)> {
    let sound = slot[..7] == MAGIC && slot[28..] == checksum(slot, generation);
    sound.then(|| (slot[7], u64::from_be_bytes(*slot[16..].first_chunk().expect("8 of 16 bytes"))))
}

fn parse_entry_slot(slot: &[u8; SLOT_BYTES], generation: u64) -> Option<Entry> {
    let entry = || Entry {
        key: Key(*slot.first_chunk().expect("16 of 32 bytes")),
        fingerprint: Fingerprint(*slot[16..].first_chunk().expect("8 of 16 bytes")),
    };
    (slot[28..] == checksum(slot, generation)).then(entry)
}

#[cfg(test)]
mod tests;
