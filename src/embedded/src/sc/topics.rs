//! Topics: created, grown, deleted.
//!
//! Partitions exist in the data plane before the topic is published, so whoever learns of a topic can use it at once.
//! A deletion goes the other way round. What a crash leaves between the two steps is files that no topic owns; they
//! are removed when a topic of that name is created again.

use fluvio_controlplane_metadata::topic::{AddPartition, ReplicaSpec, TopicSpec, UpdateTopicAction};

use super::{Cluster, Error};
use crate::log::LogConfig;
use crate::meta::CONSUMER_OFFSET_TOPIC;
use crate::meta::rules::{check_partitions, check_topic};

/// Creates a topic; with `dry_run` only says whether it would be taken.
pub(super) async fn create(cluster: &Cluster, name: &str, spec: TopicSpec, dry_run: bool) -> Result<(), Error> {
    let _changing = cluster.meta.changes.lock().await;
    check_topic(name, &spec)?;
    if cluster.meta.topic(name).is_some() {
        return Err(Error::TopicExists(name.to_owned()));
    }
    if dry_run {
        return Ok(());
    }
    remove_leftovers(cluster, name).await?;
    cluster.open_partitions(name, &spec).map_err(|source| Error::Partitions { topic: name.to_owned(), source })?;
    cluster.meta.put_topic(name, spec).await?;
    tracing::info!(topic = name, "Topic created.");
    Ok(())
}

/// Deletes a topic with its records and the offsets of its consumers; a system topic only when forced.
pub(super) async fn delete(cluster: &Cluster, name: &str, force: bool) -> Result<(), Error> {
    let _changing = cluster.meta.changes.lock().await;
    let spec = cluster.meta.topic(name).ok_or_else(|| Error::TopicUnknown(name.to_owned()))?;
    if name == CONSUMER_OFFSET_TOPIC || (spec.is_system() && !force) {
        return Err(Error::SystemDeletion(name.to_owned()));
    }
    cluster.meta.remove_topic(name).await?;
    remove_leftovers(cluster, name).await?;
    tracing::info!(topic = name, "Topic deleted.");
    Ok(())
}

/// Grows a topic.
pub(super) async fn update(cluster: &Cluster, name: &str, action: UpdateTopicAction) -> Result<(), Error> {
    match action {
        UpdateTopicAction::AddPartition(AddPartition { count }) => add_partitions(cluster, name, count).await,
        UpdateTopicAction::AddMirror(_) => Err(Error::NoMirrors),
    }
}

async fn add_partitions(cluster: &Cluster, name: &str, count: u32) -> Result<(), Error> {
    let _changing = cluster.meta.changes.lock().await;
    let spec = cluster.meta.topic(name).ok_or_else(|| Error::TopicUnknown(name.to_owned()))?;
    if spec.is_system() {
        return Err(Error::SystemUpdate(name.to_owned()));
    }
    let partitions = spec.partitions().saturating_add(count);
    check_partitions(name, partitions)?;
    let mut spec = TopicSpec::clone(&spec);
    spec.set_replicas(ReplicaSpec::new_computed(partitions, 1, None));
    cluster.open_partitions(name, &spec).map_err(|source| Error::Partitions { topic: name.to_owned(), source })?;
    cluster.meta.put_topic(name, spec).await?;
    tracing::info!(topic = name, partitions, "Topic grown.");
    Ok(())
}

async fn remove_leftovers(cluster: &Cluster, name: &str) -> Result<(), Error> {
    cluster.offsets.delete_topic(name).await?;
    cluster.data.remove_topic(name).map_err(|source| Error::Partitions { topic: name.to_owned(), source })
}

impl Cluster {
    /// Opens all partitions of a topic, those that are open already excepted.
    pub(crate) fn open_partitions(&self, topic: &str, spec: &TopicSpec) -> std::io::Result<()> {
        for partition in 0..spec.partitions() {
            self.data.ensure_partition(topic, partition, log_config(spec))?;
        }
        Ok(())
    }
}

fn log_config(spec: &TopicSpec) -> LogConfig {
    let storage = spec.get_storage();
    let default = LogConfig::default();
    LogConfig {
        segment_bytes_max: storage
            .and_then(|storage| storage.segment_size)
            .map_or(default.segment_bytes_max, u64::from),
        partition_bytes_max: storage
            .and_then(|storage| storage.max_partition_size)
            .unwrap_or(default.partition_bytes_max),
        retention_secs: u64::from(spec.retention_secs()),
    }
}
