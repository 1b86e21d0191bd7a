//! What a reader gives to the host, and the task behind it.
//!
//! A reader runs by itself and stays at most one batch ahead, so a slow host becomes lag in the log. It reconnects
//! for ever; only errors that no waiting cures reach the host, and they end it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use eddy_topology::engine::Input;
use tokio::{sync::mpsc, task::JoinHandle};

use super::Error;

/// Batches that wait for the host.
const AHEAD: usize = 1;

/// What a reader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// Inputs of contiguous offsets, the first one right behind the last one given.
    Batch {
        inputs: Vec<Input>,
        /// The log's end as last seen, for lag; it may be behind `inputs`.
        log_end: i64,
    },
    /// Retention removed these offsets before they were read.
    Evicted { from: i64, to: i64 },
}

/// A running reader of one partition; it stops when dropped.
#[derive(Debug)]
pub struct Reader {
    reads: mpsc::Receiver<Result<Read, Error>>,
    counters: Arc<Counters>,
    task: JoinHandle<()>,
}

/// What a reader had to do beyond reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams and links opened after the first.
    pub reopened: u64,
    /// Faults of the module, and reads that came back with holes.
    pub faults: u64,
    /// Records that the fallback judged because the module could not.
    pub judged_natively: u64,
    /// Offsets that the log does not have.
    pub holes: u64,
    /// Offsets that retention removed before they were read.
    pub evicted: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) reopened: AtomicU64,
    pub(super) faults: AtomicU64,
    pub(super) judged_natively: AtomicU64,
    pub(super) holes: AtomicU64,
    pub(super) evicted: AtomicU64,
}

impl Reader {
    /// Runs `body` until it ends or the reader is dropped.
    pub(super) fn spawn<F>(body: impl FnOnce(Outlet) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, reads) = mpsc::channel(AHEAD);
        let counters = Arc::new(Counters::default());
        let task = tokio::spawn(body(Outlet { sender, counters: Arc::clone(&counters) }));
        Self { reads, counters, task }
    }

    /// The next thing read; `None` after an error. Safe to cancel.
    pub async fn next(&mut self) -> Option<Result<Read, Error>> {
        self.reads.recv().await
    }

    /// What the reader had to do so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            reopened: count(&self.counters.reopened),
            faults: count(&self.counters.faults),
            judged_natively: count(&self.counters.judged_natively),
            holes: count(&self.counters.holes),
            evicted: count(&self.counters.evicted),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The end of the channel that a reader's task writes into.
#[derive(Debug)]
pub(super) struct Outlet {
    sender: mpsc::Sender<Result<Read, Error>>,
    pub(super) counters: Arc<Counters>,
}

/// The host dropped its reader.
#[derive(Debug)]
pub(super) struct Closed;

impl Outlet {
    pub(super) async fn inputs(&self, inputs: Vec<Input>, log_end: i64) -> Result<(), Closed> {
        if inputs.is_empty() {
            return Ok(());
        }
        let holes = inputs.iter().filter(|input| matches!(input, Input::Hole { .. })).count();
        count(&self.counters.holes, holes);
        self.send(Ok(Read::Batch { inputs, log_end })).await
    }

    pub(super) async fn evicted(&self, from: i64, to: i64) -> Result<(), Closed> {
        count(&self.counters.evicted, usize::try_from(to - from).unwrap_or(0));
        self.send(Ok(Read::Evicted { from, to })).await
    }

    pub(super) async fn fail(&self, error: Error) -> Result<(), Closed> {
        self.send(Err(error)).await
    }

    async fn send(&self, read: Result<Read, Error>) -> Result<(), Closed> {
        self.sender.send(read).await.map_err(|_| Closed)
    }
}

pub(super) fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}
