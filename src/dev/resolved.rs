//! When everything that was fed is resolved.
//!
//! A trigger is resolved when nothing of it waits anywhere: every road's position has reached its log's end. Roads feed
//! each other (a tier writes failures, failures write tiers), so ends are read before the positions and once more
//! after them: if no log grew meanwhile, nothing was on its way.
//!
//! A suspended sink is waited for by nobody: only a new start ends a suspension, so waiting ends instead.

use std::time::Duration;

use eddy_topology::gate::Status;

use crate::{
    broker::{Cluster, Error},
    host::Monitor,
};

/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why there is nothing to wait for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything is resolved.
    Resolved,
    /// The sink asked to stop, and what is not resolved is held.
    Suspended,
}

/// Waits until everything in the logs of `host`'s roads is resolved, or cannot be. Call it when nothing is fed any more.
///
/// # Errors
/// When the cluster does not answer.
pub async fn resolved(cluster: &Cluster, host: &Monitor) -> Result<End, Error> {
    loop {
        if host.progress().iter().any(|road| road.progress.in_flight > 0) {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        let before = ends(cluster, host).await?;
        let reached = host.progress().iter().zip(&before).all(|(road, end)| road.progress.position >= *end);
        if reached && ends(cluster, host).await? == before {
            return Ok(End::Resolved);
        }
        if !reached && host.sink_status() == Status::Suspended {
            return Ok(End::Suspended);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn ends(cluster: &Cluster, host: &Monitor) -> Result<Vec<i64>, Error> {
    let mut ends = Vec::new();
    for road in host.progress() {
        ends.push(cluster.offsets(road.topic.as_str(), road.partition).await?.end);
    }
    Ok(ends)
}
