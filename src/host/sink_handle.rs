//! A sink and its gate, shared by all partitions' tasks.

use std::sync::Arc;

use eddy_topology::{
    effect::Delivery,
    gate::{Gate, Status},
    outcome::{Outcome, Refusal},
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::sinks::Sink;

/// See the module's documentation. The lock is held for calls into the engine only, never across an `await`.
pub(super) struct SinkHandle {
    sink: Arc<dyn Sink>,
    gate: Mutex<Gate>,
    epoch: watch::Sender<u64>,
    /// So that a person can be told why the gate is shut: what is held has no envelope to say it.
    last_refusal: Mutex<Option<Refusal>>,
}

impl SinkHandle {
    pub(super) fn new(sink: Arc<dyn Sink>, gate: Gate) -> Self {
        let epoch = watch::Sender::new(gate.epoch());
        Self { sink, gate: Mutex::new(gate), epoch, last_refusal: Mutex::default() }
    }

    /// How many deliveries the sink wants at once.
    pub(super) fn batch_max(&self) -> usize {
        self.sink.batch_max().max(1)
    }

    /// Delivers each once.
    pub(super) async fn deliver_all(&self, deliveries: Vec<Delivery>) -> Vec<Outcome> {
        let count = deliveries.len();
        let outcomes = self.sink.deliver_all(deliveries).await;
        assert_eq!(outcomes.len(), count, "a sink says of each delivery what happened");
        for outcome in &outcomes {
            if let Outcome::Failed(refusal) = outcome {
                *self.last_refusal.lock() = Some(refusal.clone());
            }
        }
        outcomes
    }

    /// Lets `act` look through the gate, and wakes the other tasks when that changed it.
    pub(super) fn with_gate<T>(&self, act: impl FnOnce(&mut Gate) -> T) -> T {
        let mut gate = self.gate.lock();
        let before = gate.status();
        let result = act(&mut gate);
        let (after, epoch) = (gate.status(), gate.epoch());
        drop(gate);
        if before != after {
            self.tell(after);
        }
        self.epoch.send_if_modified(|known| std::mem::replace(known, epoch) != epoch);
        result
    }

    fn tell(&self, status: Status) {
        let sink = self.sink.name();
        let why = self.last_refusal.lock().as_ref().map_or_else(String::new, explain);
        match status {
            Status::Flowing => tracing::info!(sink, "The sink works; everything flows."),
            Status::Suspect => tracing::info!(sink, why, "A connection to the sink broke; one probe finds out."),
            Status::Tripped => {
                tracing::warn!(sink, why, "The sink fails; records wait, and one probe at a time finds out.");
            }
            Status::Suspended => {
                tracing::error!(sink, why, "The sink asked to stop (410); records wait until eddy is started again.");
            }
        }
    }

    /// Changes whenever waiting engines should look again.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.epoch.subscribe()
    }

    /// What the sink said to the last delivery that failed, if any did.
    pub(super) fn last_refusal(&self) -> Option<Refusal> {
        self.last_refusal.lock().clone()
    }

    /// What the gate lets through now.
    pub(super) fn status(&self) -> Status {
        self.gate.lock().status()
    }
}

/// A refusal in one line.
fn explain(refusal: &Refusal) -> String {
    let status = refusal.status.map(|status| format!(" {status}")).unwrap_or_default();
    let location = refusal.location.as_ref().map(|location| format!(" to {location}")).unwrap_or_default();
    let message = if refusal.message.is_empty() { String::new() } else { format!(": {}", refusal.message) };
    format!("{}{status}{location}{message}", refusal.code)
}
