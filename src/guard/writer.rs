//! The one thread that stores marks: gathers them for a short while, writes them together, reports how far it came.
//!
//! A group that cannot be stored stays pending and is tried again until the disk takes it; until then the guard is
//! *failing* and grants nothing. Marks that were refused are therefore never lost while the process lives.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::{
    Progress,
    durable::{Durable, Reader},
    journal::Journal,
    ledger::{Generation, Group, Ledger},
};

/// How long the disk is left alone after a failure.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// How often expired claims and durable effects are looked for.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// What the thread and the guard's callers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) wake: Condvar,
    pub(super) started: Instant,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) ledger: Ledger,
    /// `None` while failing.
    pub(super) reader: Option<Reader>,
    /// The writer sleeps and has to be woken for a mark.
    pub(super) idle: bool,
    pub(super) hurry: bool,
    pub(super) closing: bool,
}

impl Shared {
    /// Milliseconds on a clock that never goes back.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Seconds since 1970, for what outlives the process.
pub(super) fn wall_clock_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Why a group was not stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("the journal of recent effects: {0}")]
    Journal(#[from] std::io::Error),
    #[error("the store of durable effects: {0}")]
    Durable(#[from] redb::Error),
}

/// Where groups go. The disk; in tests also one that fails.
pub(super) trait Storage: Send + 'static {
    /// Stores the whole group. Returns a new reader when the one before does not know everything any more.
    fn store(&mut self, group: &Group, now_s: u64) -> Result<Option<Reader>, StoreError>;

    /// Whether the current generation of recent effects has lasted as long as it should.
    fn generation_is_old(&self, now_s: u64) -> bool;

    /// Begins a generation of recent effects.
    fn begin_generation(&mut self, now_s: u64) -> Result<(), StoreError>;

    /// Removes some of what has expired.
    fn sweep(&mut self, now_s: u64) -> Result<Option<Reader>, StoreError>;
}

/// Journal and durable store in one folder.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) journal: Journal,
    pub(super) durable: Durable,
    pub(super) recent_horizon: Duration,
    pub(super) durable_ttl: Duration,
    /// The last group was not stored.
    pub(super) failed: bool,
}

impl Storage for Disk {
    fn store(&mut self, group: &Group, now_s: u64) -> Result<Option<Reader>, StoreError> {
        let recovering = std::mem::replace(&mut self.failed, true);
        self.durable.reopen()?;
        self.journal.append(&group.recent, now_s)?;
        let reader = if recovering || !group.durable.is_empty() {
            Some(self.durable.commit(&group.durable, now_s.saturating_add(self.durable_ttl.as_secs()))?)
        } else {
            None
        };
        self.failed = false;
        Ok(reader)
    }

    fn generation_is_old(&self, now_s: u64) -> bool {
        self.journal.age_s(now_s) >= self.recent_horizon.as_secs()
    }

    fn begin_generation(&mut self, now_s: u64) -> Result<(), StoreError> {
        Ok(self.journal.rotate(now_s)?)
    }

    fn sweep(&mut self, now_s: u64) -> Result<Option<Reader>, StoreError> {
        let swept = self.durable.sweep(now_s);
        self.failed |= swept.is_err();
        Ok(swept?)
    }
}

/// The thread's own things.
#[derive(Debug)]
pub(super) struct Writer<S> {
    pub(super) shared: Arc<Shared>,
    pub(super) storage: S,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) group_interval: Duration,
    pub(super) generation_keys_max: usize,
}

impl<S: Storage> Writer<S> {
    /// Works until the guard closes, then stores what is left.
    pub(super) fn run(mut self) {
        let mut upkeep_due = Instant::now() + UPKEEP_INTERVAL;
        while self.wait_for_work() {
            if self.has_work(&self.shared.state.lock()) {
                self.store_group();
            }
            if upkeep_due <= Instant::now() {
                self.upkeep();
                upkeep_due = Instant::now() + UPKEEP_INTERVAL;
            }
        }
        if self.has_work(&self.shared.state.lock()) {
            self.store_group();
        }
    }

    fn has_work(&self, state: &State) -> bool {
        state.ledger.sequence() > self.progress.borrow().stored || state.reader.is_none()
    }

    /// Waits for a mark and then for its neighbours, or until upkeep is due. `false`: the guard closes.
    fn wait_for_work(&self) -> bool {
        let mut state = self.shared.state.lock();
        if !self.has_work(&state) && !state.closing {
            state.idle = true;
            self.shared.wake.wait_for(&mut state, UPKEEP_INTERVAL);
            state.idle = false;
        }
        if self.has_work(&state) {
            let interval = if state.reader.is_none() { RETRY_INTERVAL } else { self.group_interval };
            let deadline = Instant::now() + interval;
            while !state.hurry && !state.closing && !self.shared.wake.wait_until(&mut state, deadline).timed_out() {}
        }
        state.hurry = false;
        !state.closing
    }

    fn store_group(&mut self) {
        let (group, full) = {
            let mut state = self.shared.state.lock();
            (state.ledger.take_group(), state.ledger.generation_is_full())
        };
        let now_s = wall_clock_s();
        let rotate = full || self.storage.generation_is_old(now_s);
        let stored = self
            .storage
            .store(&group, now_s)
            .and_then(|reader| if rotate { self.storage.begin_generation(now_s).map(|()| reader) } else { Ok(reader) });
        match stored {
            Ok(reader) => self.stored(&group, reader, rotate),
            Err(error) => self.refused(group, &error),
        }
    }

    fn stored(&self, group: &Group, reader: Option<Reader>, rotate: bool) {
        let next = if rotate { Generation::with_capacity(self.generation_keys_max) } else { Generation::new() };
        let forgotten = {
            let mut state = self.shared.state.lock();
            state.ledger.group_stored(group);
            state.reader = reader.or_else(|| state.reader.take());
            if rotate { state.ledger.rotate(next) } else { next }
        };
        drop(forgotten);
        self.progress.send_modify(|progress| progress.stored = group.last);
    }

    fn refused(&self, group: Group, error: &StoreError) {
        tracing::error!(%error, "The guard cannot store marks; nothing is sent until it can.");
        let last = group.last;
        let mut state = self.shared.state.lock();
        state.reader = None;
        state.ledger.group_refused(group);
        drop(state);
        self.progress.send_modify(|progress| progress.refused = last);
    }

    fn upkeep(&mut self) {
        let swept = self.storage.sweep(wall_clock_s());
        let now_ms = self.shared.now_ms();
        let mut state = self.shared.state.lock();
        state.ledger.forget_expired_claims(now_ms);
        match swept {
            Ok(Some(reader)) => state.reader = Some(reader),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, "The guard cannot remove expired effects; nothing is sent until it can.");
                state.reader = None;
            }
        }
    }
}
