//! What the host has decided so far, counted from the engines' notes.
//!
//! Counters are for the progress line and the report's latencies. They are never what conservation is checked with:
//! that is the audit's work, source offset by source offset.

use std::collections::BTreeMap;

use eddy_contract::Code;
use eddy_topology::effect::Note;
use hdrhistogram::Histogram;
use parking_lot::Mutex;

/// The longest latency told apart from longer ones, milliseconds.
const LATENCY_MS_MAX: u64 = 3_600_000;

/// A snapshot of the counters.
#[derive(Debug, Clone)]
pub struct Counts {
    pub delivered: u64,
    pub suppressed: u64,
    pub failed_attempts: u64,
    pub held: u64,
    pub scheduled: u64,
    pub dead_lettered: BTreeMap<Code, u64>,
    /// From the engine's first sight of a record to the acknowledgement of its first attempt, milliseconds.
    pub first_attempt_ms: Histogram<u32>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            delivered: 0,
            suppressed: 0,
            failed_attempts: 0,
            held: 0,
            scheduled: 0,
            dead_lettered: BTreeMap::new(),
            first_attempt_ms: Histogram::new_with_bounds(1, LATENCY_MS_MAX, 3).expect("1 < the maximum, 3 digits"),
        }
    }
}

impl Counts {
    /// Books one note.
    pub fn book(&mut self, note: &Note) {
        match note {
            Note::Delivered { attempt, since_ms, .. } => {
                self.delivered += 1;
                if *attempt == 1 {
                    self.first_attempt_ms.saturating_record(u64::try_from(*since_ms).unwrap_or(0));
                }
            }
            Note::Suppressed { .. } => self.suppressed += 1,
            Note::Failed { .. } => self.failed_attempts += 1,
            Note::Held { .. } => self.held += 1,
            Note::Scheduled { .. } => self.scheduled += 1,
            Note::DeadLettered { code, .. } => *self.dead_lettered.entry(*code).or_default() += 1,
        }
    }

    fn absorb(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.suppressed += other.suppressed;
        self.failed_attempts += other.failed_attempts;
        self.held += other.held;
        self.scheduled += other.scheduled;
        for (code, count) in &other.dead_lettered {
            *self.dead_lettered.entry(*code).or_default() += count;
        }
        self.first_attempt_ms.add(&other.first_attempt_ms).expect("both histograms have the same bounds");
    }

    /// Dead letters of every code.
    pub fn dead_lettered_total(&self) -> u64 {
        self.dead_lettered.values().sum()
    }
}

/// The counters of one host: each partition's task books into its own, a reader adds them up.
#[derive(Debug, Default)]
pub(super) struct Counters {
    shards: Mutex<Vec<std::sync::Arc<Mutex<Counts>>>>,
}

impl Counters {
    /// A shard for one task, so that tasks do not wait for each other.
    pub(super) fn shard(&self) -> std::sync::Arc<Mutex<Counts>> {
        let shard = std::sync::Arc::default();
        self.shards.lock().push(std::sync::Arc::clone(&shard));
        shard
    }

    /// The sum of all shards.
    pub(super) fn total(&self) -> Counts {
        let mut total = Counts::default();
        for shard in self.shards.lock().iter() {
            total.absorb(&shard.lock());
        }
        total
    }
}
