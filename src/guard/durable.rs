//! Effects that are remembered as long as their dead letters are kept: one redb file.
//!
//! Each commit is on disk when it returns. Expired effects are not answered for, and a sweep removes them a few at a
//! time. After an error the file is opened anew, because redb refuses to go on with a file that failed.

use std::{
    ops::Bound,
    path::{Path, PathBuf},
};

use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use super::key::{Entry, Fingerprint, Key};

/// Key → fingerprint of the payload, and when it expires, seconds since 1970.
const EFFECTS: TableDefinition<[u8; 16], ([u8; 8], u64)> = TableDefinition::new("effects-v1");

/// How many effects one step of the sweep looks at.
const SWEEP_STEP: usize = 1000;

/// The file, for the one thread that writes.
#[derive(Debug)]
pub(super) struct Durable {
    path: PathBuf,
    /// `None` between a failure and the next attempt.
    database: Option<Database>,
    sweep_after: Option<Key>,
}

/// The effects as of the latest commit.
pub(super) struct Reader(ReadOnlyTable<[u8; 16], ([u8; 8], u64)>);

impl Reader {
    /// What was stored under this key, unless it has expired.
    pub(super) fn get(&self, key: Key, now_s: u64) -> Result<Option<Fingerprint>, redb::Error> {
        let value = self.0.get(key.0)?.map(|value| value.value());
        Ok(value.filter(|(_, expires_s)| now_s < *expires_s).map(|(fingerprint, _)| Fingerprint(fingerprint)))
    }
}

impl Durable {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path) -> Result<(Self, Reader), redb::Error> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(EFFECTS)?;
        transaction.commit()?;
        let reader = reader(&database)?;
        Ok((Self { path: path.to_owned(), database: Some(database), sweep_after: None }, reader))
    }

    /// Opens the file again if it failed before. All readers of the failed file must be gone.
    pub(super) fn reopen(&mut self) -> Result<(), redb::Error> {
        if self.database.is_none() {
            (*self, _) = Self::open(&self.path)?;
        }
        Ok(())
    }

    /// Stores the entries, or lengthens the life of those that are stored; the first payload stands.
    pub(super) fn commit(&mut self, entries: &[Entry], expires_s: u64) -> Result<Reader, redb::Error> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(EFFECTS)?;
                for entry in entries {
                    let first = table.get(entry.key.0)?.map(|value| value.value().0);
                    table.insert(entry.key.0, (first.unwrap_or(entry.fingerprint.0), expires_s))?;
                }
            }
            transaction.commit()?;
            reader(database)
        })
    }

    /// Looks at the next few effects and removes those that have expired. `None`: nothing was removed.
    pub(super) fn sweep(&mut self, now_s: u64) -> Result<Option<Reader>, redb::Error> {
        let after = self.sweep_after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.0));
        let mut last = None;
        let swept = self.with_database(|database| {
            let mut expired = Vec::new();
            for row in reader(database)?.0.range((after, Bound::Unbounded))?.take(SWEEP_STEP) {
                let (key, value) = row?;
                last = Some(Key(key.value()));
                if value.value().1 <= now_s {
                    expired.push(key.value());
                }
            }
            if expired.is_empty() {
                return Ok(None);
            }
            remove(database, &expired)?;
            reader(database).map(Some)
        })?;
        // At the end it begins anew.
        self.sweep_after = last;
        Ok(swept)
    }

    fn with_database<T>(&mut self, work: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, redb::Error> {
        let Some(database) = &self.database else {
            return Err(redb::Error::PreviousIo);
        };
        let result = work(database);
        if result.is_err() {
            self.database = None;
        }
        result
    }
}

fn reader(database: &Database) -> Result<Reader, redb::Error> {
    Ok(Reader(database.begin_read()?.open_table(EFFECTS)?))
}

fn remove(database: &Database, keys: &[[u8; 16]]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(EFFECTS)?;
        for key in keys {
            table.remove(key)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader")
    }
}
