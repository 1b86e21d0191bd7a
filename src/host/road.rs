//! One road through one partition, for as long as the host lives.
//!
//! What the broker does for a while (restarts, loses its leader, does not answer) its reader waits out. When the reader
//! lost its place (a crash took the broker's page cache along, and the log now ends before what was read), what is in
//! flight may finish; then the position is loaded again, which clamps it, and reader and engine begin anew there.
//!
//! It decides nothing about a record, and it does not hide what waiting cannot cure: that ends the host.

use std::{sync::Arc, time::Duration};

use eddy_topology::engine::{Engine, Road};
use tokio::sync::watch;

use super::{
    Error, Shared,
    committer::Committer,
    judges::Judges,
    partition::{PartitionTask, Progress},
};
use crate::{
    broker::{
        self, Reader, judged,
        positions::{self, Origin, Position},
        pull,
    },
    guard::Claimant,
};

/// The pause before a road is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(500);

/// See the module's documentation.
pub(super) struct RoadTask {
    shared: Arc<Shared>,
    road: Road,
    partition: u32,
    claimant: Claimant,
    judges: Arc<Judges>,
    position: Position,
    progress: watch::Sender<Progress>,
}

impl RoadTask {
    /// Loads the road's position.
    pub(super) async fn open(
        shared: &Arc<Shared>,
        road: Road,
        partition: u32,
        claimant: Claimant,
        judges: &Arc<Judges>,
    ) -> Result<Self, Error> {
        let position = load(shared, road, partition).await?;
        let progress = Progress { position: position.offset, in_flight: 0, log_end: position.log.end };
        let (shared, judges, progress) = (Arc::clone(shared), Arc::clone(judges), watch::Sender::new(progress));
        Ok(Self { shared, road, partition, claimant, judges, position, progress })
    }

    /// How far it is, now and from now on.
    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Runs until told to stop, then until nothing is in flight any more.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) -> Result<(), Error> {
        loop {
            match self.live(stop.clone()).await {
                Err(Error::Broker(error)) if may_have_lost_its_place(&error) => {
                    tracing::error!(topic = %self.topic(), partition = self.partition, %error, "A reader lost its place; the road is opened again.");
                }
                ended => return ended,
            }
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
                position = self.load_again() => match position {
                    Ok(position) => self.position = position,
                    Err(Error::Broker(broker::Error::TopicMissing { topic })) if self.is_leftover() => {
                        tracing::info!(topic, "The topic of a tier that no definition names was deleted.");
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// From a loaded position until told to stop or until the reader ends.
    async fn live(&self, stop: watch::Receiver<bool>) -> Result<(), Error> {
        let (topology, topic) = (&self.shared.topology, self.topic());
        let stored = match self.position.origin {
            Origin::Clamped { .. } => None,
            Origin::Beginning | Origin::Stored => Some(self.position.offset),
        };
        let consumer = self.road.consumer_id(topology);
        let mut committer = Committer::new(&self.shared.cluster, &consumer, topic, self.partition, stored);
        let engine = Engine::new(Arc::clone(topology), self.road, self.partition, self.position.offset);
        let task = PartitionTask::new(
            Arc::clone(&self.shared),
            (self.road.topic(topology).clone(), self.partition),
            self.claimant,
            engine,
            self.read(),
            self.progress.clone(),
        );
        let ended = tokio::select! {
            ended = task.run(stop) => ended,
            error = committer.run(self.progress.subscribe()) => return Err(error),
        };
        let last = self.progress.borrow().position;
        let stored = committer.store(last).await;
        ended.and(stored)
    }

    fn read(&self) -> Reader {
        let (cluster, topic, from) = (&self.shared.cluster, self.topic(), self.position.offset);
        match self.road {
            Road::Intake => judged::read(cluster, topic, self.partition, from, self.judges.validate.clone()),
            Road::Route => judged::read(cluster, topic, self.partition, from, self.judges.classify.clone()),
            Road::Tier(_) => pull::read(cluster, topic, self.partition, from),
        }
    }

    /// Waits until the broker says again where the road is.
    async fn load_again(&self) -> Result<Position, Error> {
        loop {
            tokio::time::sleep(REOPEN_AFTER).await;
            match load(&self.shared, self.road, self.partition).await {
                Err(Error::Broker(error)) if error.is_transient() => {
                    tracing::warn!(topic = self.topic(), partition = self.partition, %error, "A position was not loaded; it is tried again.");
                }
                loaded => return loaded,
            }
        }
    }

    fn is_leftover(&self) -> bool {
        self.road.is_leftover(&self.shared.topology)
    }

    fn topic(&self) -> &str {
        self.road.topic(&self.shared.topology).as_str()
    }
}

async fn load(shared: &Shared, road: Road, partition: u32) -> Result<Position, Error> {
    let (topic, consumer) = (road.topic(&shared.topology), road.consumer_id(&shared.topology));
    let position = positions::load(&shared.cluster, &consumer, topic.as_str(), partition).await?;
    if let Origin::Clamped { stored } = position.origin {
        tracing::error!(%topic, partition, stored, log_end = position.log.end, "The log ends before the committed position: the broker lost records.");
    }
    Ok(position)
}

/// A topic that seems to be missing may only be one that a broker does not know yet after it started; if it stays so,
/// loading the position fails.
const fn may_have_lost_its_place(error: &broker::Error) -> bool {
    use broker::Error::{BeyondEnd, PartitionMissing, TopicMissing};

    matches!(error, BeyondEnd { .. } | TopicMissing { .. } | PartitionMissing { .. })
}
