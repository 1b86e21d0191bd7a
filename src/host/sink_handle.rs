//! A sink and its gate, shared by all partitions' tasks.

use std::sync::Arc;

use eddy_topology::gate::{Gate, Status};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::sinks::Sink;

/// See the module's documentation. The lock is held for calls into the engine only, never across an `await`.
pub struct SinkHandle {
    sink: Arc<dyn Sink>,
    gate: Mutex<Gate>,
    epoch: watch::Sender<u64>,
}

impl SinkHandle {
    pub(super) fn new(sink: Arc<dyn Sink>, gate: Gate) -> Self {
        let epoch = watch::Sender::new(gate.epoch());
        Self { sink, gate: Mutex::new(gate), epoch }
    }

    pub(super) fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.sink)
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
        match status {
            Status::Flowing => tracing::info!(sink, "The sink works; everything flows."),
            Status::Suspect => tracing::info!(sink, "A connection to the sink broke; one probe finds out."),
            Status::Tripped => tracing::warn!(sink, "The sink fails; records wait, and one probe at a time finds out."),
            Status::Suspended => tracing::error!(sink, "The sink asked to stop (410); records wait until eddy is started again."),
        }
    }

    /// Changes whenever waiting engines should look again.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.epoch.subscribe()
    }

    /// What the gate lets through now.
    pub fn status(&self) -> Status {
        self.gate.lock().status()
    }
}
