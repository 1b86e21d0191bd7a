//! Stores the position of one partition, now and then.
//!
//! A position that is stored late costs repeated reads after a crash and nothing else, so commits are spaced. Fluvio
//! forgets consumer offsets after a week without a commit, so idle ones are stored again every hour.

use std::time::Duration;

use tokio::sync::watch;

use super::{Error, Progress};
use crate::broker::{Cluster, positions};

/// The least time between two commits.
const SPACING: Duration = Duration::from_millis(200);

/// How often an unchanged position is stored again.
const IDLE: Duration = Duration::from_secs(3600);

/// See the module's documentation.
pub(super) struct Committer {
    store: positions::Committer,
    stored: i64,
}

impl Committer {
    pub(super) fn new(cluster: &Cluster, consumer: &str, topic: &str, partition: u32, stored: i64) -> Self {
        Self { store: positions::Committer::new(cluster, consumer, topic, partition), stored }
    }

    /// Stores positions until the sender of `progress` is gone, the last one then.
    pub(super) async fn run(mut self, mut progress: watch::Receiver<Progress>) -> Result<(), Error> {
        loop {
            let stored = self.stored;
            let moved = progress.wait_for(|progress| progress.position > stored);
            let moved = tokio::time::timeout(IDLE, moved).await.map(|moved| moved.map(|progress| progress.position));
            let position = match moved {
                Ok(Ok(position)) => position,
                Err(_idle) if stored > 0 => stored,
                Err(_idle) => continue,
                Ok(Err(_gone)) => return self.store_last(&progress).await,
            };
            match self.store.commit(position).await {
                Ok(()) => self.stored = position,
                Err(error) if error.is_transient() => {
                    tracing::warn!(position, %error, "A position was not stored; the next commit will.");
                }
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(SPACING).await;
        }
    }

    async fn store_last(&mut self, progress: &watch::Receiver<Progress>) -> Result<(), Error> {
        let position = progress.borrow().position;
        if position > self.stored {
            self.store.commit(position).await?;
        }
        Ok(())
    }
}
