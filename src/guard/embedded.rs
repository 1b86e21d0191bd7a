//! The guard of a single host: claims in memory, marks in a folder of its own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use eddy_topology::{
    definition::GuardDefinition,
    effect::{Claim, GuardedEffect, Horizon},
};
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::{
    Claimant, Guard, Progress,
    durable::{Durable, Reader},
    journal::{Journal, JournalError},
    key::{Entry, Fingerprint, Key},
    ledger::Ledger,
    lock::{Lock, LockError},
    writer::{Disk, Shared, State, Storage, Writer, wall_clock_s},
};

/// How long and how much an [`EmbeddedGuard`] remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long first-try successes are remembered at least, unless there are too many …
    pub recent_horizon: Duration,
    /// … and how many of them at most; at least half as many are. Each takes about 60 bytes of memory.
    pub recent_keys_max: usize,
    /// How long all other effects are remembered.
    pub durable_ttl: Duration,
    /// When a claim ends that is neither marked nor released; longer than any delivery.
    pub claim_ttl: Duration,
    /// How long a mark waits for its neighbours before they are stored together.
    pub group_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            recent_horizon: Duration::from_secs(60 * 60),
            recent_keys_max: 1_000_000,
            durable_ttl: Duration::from_secs(16 * 24 * 60 * 60),
            claim_ttl: Duration::from_secs(60),
            group_interval: Duration::from_millis(50),
        }
    }
}

impl From<&GuardDefinition> for Settings {
    fn from(guard: &GuardDefinition) -> Self {
        Self {
            recent_horizon: guard.recent_horizon.into(),
            recent_keys_max: guard.recent_keys_max,
            durable_ttl: guard.durable_ttl.into(),
            claim_ttl: guard.claim_ttl.into(),
            ..Self::default()
        }
    }
}

/// Why a guard cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot create the guard's folder {}", .dir.display())]
    Folder { dir: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("cannot open the journal of recent effects")]
    Journal(#[from] JournalError),
    #[error("cannot open the store of durable effects")]
    Durable(#[from] redb::Error),
    #[error("cannot start the guard's thread")]
    Thread(#[source] std::io::Error),
}

/// See the module's documentation. Dropping it stores what is left and waits for that.
#[derive(Debug)]
pub struct EmbeddedGuard {
    shared: Arc<Shared>,
    progress: watch::Receiver<Progress>,
    writer: Option<JoinHandle<()>>,
    _lock: Lock,
}

impl EmbeddedGuard {
    /// Opens the guard that lives in `dir`, or begins one. Needs no runtime.
    ///
    /// # Errors
    /// When another process uses the folder, or it cannot be read and written.
    pub fn open(dir: &Path, settings: &Settings) -> Result<Self, OpenError> {
        Self::open_on(dir, settings, |disk| disk)
    }

    /// `wrap` puts something between the guard and its disk.
    pub(super) fn open_on<S: Storage>(
        dir: &Path,
        settings: &Settings,
        wrap: impl FnOnce(Disk) -> S,
    ) -> Result<Self, OpenError> {
        std::fs::create_dir_all(dir).map_err(|source| OpenError::Folder { dir: dir.to_owned(), source })?;
        let lock = Lock::take(dir)?;
        let (durable, reader) = Durable::open(&dir.join("durable.redb"))?;
        let (journal, loaded) = Journal::open(dir, wall_clock_s())?;
        let generation_keys_max = (settings.recent_keys_max / 2).max(1);
        let claim_ttl_ms = u64::try_from(settings.claim_ttl.as_millis()).unwrap_or(u64::MAX);
        let mut ledger = Ledger::new(claim_ttl_ms, generation_keys_max);
        ledger.restore(loaded.previous, loaded.current);

        let state = State { ledger, reader: Some(reader), idle: false, hurry: false, closing: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), started: Instant::now() });
        let (sender, progress) = watch::channel(Progress::default());
        let Settings { recent_horizon, durable_ttl, group_interval, .. } = *settings;
        let storage = wrap(Disk { journal, durable, recent_horizon, durable_ttl, failed: false });
        let writer =
            Writer { shared: Arc::clone(&shared), storage, progress: sender, group_interval, generation_keys_max };
        let thread = thread::Builder::new().name("eddy-guard".to_owned()).spawn(|| writer.run());
        Ok(Self { shared, progress, writer: Some(thread.map_err(OpenError::Thread)?), _lock: lock })
    }

    /// Answers for each effect in turn, under one lock.
    fn answer(&self, effects: &[GuardedEffect], mut decide: impl FnMut(&mut State, Entry, Now) -> Claim) -> Vec<Claim> {
        let entries: Vec<Entry> = effects.iter().map(Entry::of).collect();
        let now = Now { monotone_ms: self.shared.now_ms(), wall_s: wall_clock_s() };
        let mut state = self.shared.state.lock();
        entries.into_iter().map(|entry| decide(&mut state, entry, now)).collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct Now {
    monotone_ms: u64,
    wall_s: u64,
}

impl Guard for EmbeddedGuard {
    fn claim<'a>(&'a self, claimant: Claimant, effects: &'a [GuardedEffect]) -> BoxFuture<'a, Vec<Claim>> {
        async move {
            self.answer(effects, |State { ledger, reader, .. }, entry, now| match reader {
                Some(reader) => ledger.claim(claimant, entry, now.monotone_ms, |key| stored(reader, key, now.wall_s)),
                None => Claim::Unavailable,
            })
        }
        .boxed()
    }

    fn lookup<'a>(&'a self, effects: &'a [GuardedEffect]) -> BoxFuture<'a, Vec<Claim>> {
        async move {
            self.answer(effects, |State { ledger, reader, .. }, entry, now| match reader {
                Some(reader) => ledger.lookup(entry, now.monotone_ms, |key| stored(reader, key, now.wall_s)),
                None => Claim::Unavailable,
            })
        }
        .boxed()
    }

    fn release(&self, claimant: Claimant, effect: &GuardedEffect) {
        let key = Key::of(effect);
        self.shared.state.lock().ledger.release(claimant, key);
    }

    fn mark(&self, effect: &GuardedEffect, horizon: Horizon) -> u64 {
        let entry = Entry::of(effect);
        let mut state = self.shared.state.lock();
        let sequence = state.ledger.mark(entry, horizon);
        let wake = std::mem::replace(&mut state.idle, false);
        drop(state);
        if wake {
            self.shared.wake.notify_one();
        }
        sequence
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    fn hurry(&self) {
        self.shared.state.lock().hurry = true;
        self.shared.wake.notify_one();
    }
}

fn stored(reader: &Reader, key: Key, now_s: u64) -> Result<Option<Fingerprint>, redb::Error> {
    reader.get(key, now_s).inspect_err(|error| tracing::error!(%error, "The guard cannot read durable effects."))
}

impl Drop for EmbeddedGuard {
    fn drop(&mut self) {
        self.shared.state.lock().closing = true;
        self.shared.wake.notify_one();
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("The guard's thread had panicked; its last marks may not be stored.");
        }
    }
}

#[cfg(test)]
mod tests;
