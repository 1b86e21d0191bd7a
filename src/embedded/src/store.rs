//! What the node must not forget besides records: topics, SmartModules and consumer offsets, in one redb file.
//!
//! One thread owns the database. Whoever has a change sends it there and waits; the thread takes all changes that
//! wait, commits them together (so a hundred consumers that commit at once cost one fsync), applies them to memory in
//! the order of the file, and only then answers. Memory and file therefore never disagree, also when a caller goes away
//! while it waits.
//!
//! The file also is the lock of the data directory: a second node on the same directory is refused.
//!
//! It does not know what a topic or a module is: specs are bytes here, encoded as the protocol encodes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::sync::oneshot;

/// The name of the store's file in the data directory.
pub const FILE_NAME: &str = "meta.redb";

/// Changes that one commit takes at most.
const GROUP_MAX: usize = 1024;

const TOPICS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("topics");
const SMARTMODULES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("smartmodules");
/// (topic, partition, consumer) → (offset, time of the commit in milliseconds)
const OFFSETS: TableDefinition<'_, (&str, u32, &str), (i64, u64)> = TableDefinition::new("consumer-offsets");

/// Why the store could not be opened or written.
#[derive(Debug, thiserror::Error, Clone)]
pub enum Error {
    /// Another node, in this process or another, has the directory.
    #[error("data directory {} is in use by another node", .0.display())]
    InUse(PathBuf),
    /// The file cannot be opened, or is not a store.
    #[error("open {}", path.display())]
    Open {
        /// The store's file.
        path: PathBuf,
        /// What redb said.
        source: Arc<redb::Error>,
    },
    /// A commit failed; nothing of it is stored.
    #[error("write {FILE_NAME}")]
    Write(#[source] Arc<redb::Error>),
    /// The node is stopping.
    #[error("the node is stopping")]
    Closed,
}

/// Where a consumer stands in a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffsetKey {
    /// The topic's name.
    pub topic: String,
    /// The partition of the topic.
    pub partition: u32,
    /// The consumer's id, chosen by the client.
    pub consumer: String,
}

/// One thing to remember, or with `None` to forget.
#[derive(Debug)]
pub(crate) enum Change {
    Topic(String, Option<Vec<u8>>),
    SmartModule(String, Option<Vec<u8>>),
    Offset(OffsetKey, Option<(i64, u64)>),
}

/// Everything that was remembered when the node was opened.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) topics: Vec<(String, Vec<u8>)>,
    pub(crate) smartmodules: Vec<(String, Vec<u8>)>,
    pub(crate) offsets: Vec<(OffsetKey, (i64, u64))>,
}

/// The way to the thread that owns the database.
#[derive(Debug)]
pub(crate) struct Store {
    writer: Mutex<Option<Writer>>,
}

#[derive(Debug)]
struct Writer {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

struct Job {
    changes: Vec<Change>,
    apply: Box<dyn FnOnce() + Send>,
    answer: oneshot::Sender<Result<(), Error>>,
}

impl Store {
    /// Opens the store of a data directory, or makes an empty one, and reads all of it.
    pub(crate) fn open(dir: &Path) -> Result<(Self, Contents), Error> {
        let path = dir.join(FILE_NAME);
        let unopened = |error| Error::Open { path: path.clone(), source: Arc::new(error) };
        let database = match Database::create(&path) {
            Err(DatabaseError::DatabaseAlreadyOpen) => return Err(Error::InUse(dir.to_path_buf())),
            opened => opened.map_err(|error| unopened(error.into()))?,
        };
        let contents = read(&database).map_err(unopened)?;
        let (jobs, waiting) = mpsc::channel();
        let thread = std::thread::spawn(move || serve(&database, &waiting));
        Ok((Self { writer: Mutex::new(Some(Writer { jobs, thread })) }, contents))
    }

    /// Commits changes durably, all or none, then runs `apply` before any later change is applied.
    pub(crate) async fn commit(
        &self,
        changes: Vec<Change>,
        apply: impl FnOnce() + Send + 'static,
    ) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        {
            let writer = self.writer.lock();
            let jobs = &writer.as_ref().ok_or(Error::Closed)?.jobs;
            jobs.send(Job { changes, apply: Box::new(apply), answer }).map_err(|_| Error::Closed)?;
        }
        answered.await.map_err(|_| Error::Closed)?
    }

    /// Finishes what was sent before and lets go of the file; blocks for at most one commit.
    pub(crate) fn close(&self) {
        let Some(Writer { jobs, thread }) = self.writer.lock().take() else { return };
        drop(jobs);
        if thread.join().is_err() {
            tracing::error!("The store's thread ended with a panic.");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

fn read(database: &Database) -> Result<Contents, redb::Error> {
    let write = database.begin_write()?;
    write.open_table(TOPICS)?;
    write.open_table(SMARTMODULES)?;
    write.open_table(OFFSETS)?;
    write.commit()?;

    let read = database.begin_read()?;
    let mut contents = Contents::default();
    for row in read.open_table(TOPICS)?.iter()? {
        let (name, spec) = row?;
        contents.topics.push((name.value().to_owned(), spec.value().to_vec()));
    }
    for row in read.open_table(SMARTMODULES)?.iter()? {
        let (name, spec) = row?;
        contents.smartmodules.push((name.value().to_owned(), spec.value().to_vec()));
    }
    for row in read.open_table(OFFSETS)?.iter()? {
        let (key, entry) = row?;
        let (topic, partition, consumer) = key.value();
        let key = OffsetKey { topic: topic.to_owned(), partition, consumer: consumer.to_owned() };
        contents.offsets.push((key, entry.value()));
    }
    Ok(contents)
}

fn serve(database: &Database, waiting: &mpsc::Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP_MAX - 1));
        let outcome = write(database, &group).map_err(|error| Error::Write(Arc::new(error)));
        for job in group {
            if outcome.is_ok() {
                (job.apply)();
            }
            // A caller that went away does not want to know.
            drop(job.answer.send(outcome.clone()));
        }
    }
}

fn write(database: &Database, group: &[Job]) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    {
        let mut topics = write.open_table(TOPICS)?;
        let mut smartmodules = write.open_table(SMARTMODULES)?;
        let mut offsets = write.open_table(OFFSETS)?;
        for change in group.iter().flat_map(|job| &job.changes) {
            match change {
                Change::Topic(name, Some(spec)) => drop(topics.insert(name.as_str(), spec.as_slice())?),
                Change::Topic(name, None) => drop(topics.remove(name.as_str())?),
                Change::SmartModule(name, Some(spec)) => drop(smartmodules.insert(name.as_str(), spec.as_slice())?),
                Change::SmartModule(name, None) => drop(smartmodules.remove(name.as_str())?),
                Change::Offset(key, Some(entry)) => drop(offsets.insert(key.as_tuple(), *entry)?),
                Change::Offset(key, None) => drop(offsets.remove(key.as_tuple())?),
            }
        }
    }
    Ok(write.commit()?)
}

impl OffsetKey {
    fn as_tuple(&self) -> (&str, u32, &str) {
        (&self.topic, self.partition, &self.consumer)
    }
}
