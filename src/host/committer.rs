//! Stores the position of one partition, now and then.
//!
//! A position that is stored late costs repeated reads after a crash and nothing else, so commits are spaced, and one
//! that the broker does not take now is made again. Fluvio forgets consumer offsets after a week without a commit, so
//! idle ones are stored again every hour.

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
    stored: Option<i64>,
}

impl Committer {
    /// `stored` is the position as the cluster has it; `None` when that one is wrong.
    pub(super) fn new(cluster: &Cluster, consumer: &str, topic: &str, partition: u32, stored: Option<i64>) -> Self {
        Self { store: positions::Committer::new(cluster, consumer, topic, partition), stored }
    }

    /// Stores positions until that fails for good. Safe to cancel.
    pub(super) async fn run(&mut self, mut progress: watch::Receiver<Progress>) -> Error {
        loop {
            let stored = self.stored;
            let moved = progress.wait_for(|progress| stored.is_none_or(|stored| progress.position > stored));
            let moved = tokio::time::timeout(IDLE, moved).await.map(|moved| moved.map(|progress| progress.position));
            let position = match (moved, stored) {
                (Ok(Ok(position)), _) | (Err(_), Some(position @ 1..)) => position,
                // Idle at the beginning of the log: there is nothing that Fluvio could forget.
                (Err(_), _) => continue,
                // The road has ended; whoever runs this stores the last position.
                (Ok(Err(_)), _) => std::future::pending().await,
            };
            match self.store.commit(position).await {
                Ok(()) => self.stored = Some(position),
                Err(error) if error.is_transient() => {
                    tracing::warn!(position, %error, "A position was not stored; the next commit will.");
                }
                Err(error) => return error.into(),
            }
            tokio::time::sleep(SPACING).await;
        }
    }

    /// Stores `position` now, unless the cluster has it.
    pub(super) async fn store(&mut self, position: i64) -> Result<(), Error> {
        if self.stored != Some(position) {
            self.store.commit(position).await?;
            self.stored = Some(position);
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use eddy_embedded::{Config, Node};

    use super::*;
    use crate::broker::{self, Target};

    /// Longer than a commit is tried.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The road that this belongs to would go on for ever, and every restart would begin where it began.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_position_that_can_never_be_stored_ends_the_committer_with_the_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let node = Node::start(Config::new(folder.path())).await.expect("a node on free ports");
        let target = Target::Address(node.address().to_string());
        let cluster = Cluster::connect(&target).await.expect("the node answers");
        let mut committer = Committer::new(&cluster, "eddy-test", "deleted-topic", 0, None);
        let progress = watch::Sender::new(Progress { position: 5, ..Progress::default() });

        let ended = tokio::time::timeout(PATIENCE, committer.run(progress.subscribe())).await;

        let error = ended.expect("the error is not swallowed");
        let Error::Broker(broker::Error::TopicMissing { topic }) = error else { panic!("{error}") };
        assert_eq!(topic, "deleted-topic");
        assert_eq!(committer.stored, None);
        node.stop().await;
    }
}
