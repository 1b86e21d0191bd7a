//! Reads whole topics of envelopes: the dead letters as they stand, and what waits on tiers.

use std::collections::BTreeMap;

use eddy_contract::Envelope;
use eddy_topology::{
    letters::{Letter, Letters},
    names::TopicName,
};

use crate::broker::{Cluster, Error, Record, pull::Puller};

/// Calls `take` with every record of a topic from the given offset of each partition on (`from(partition)`, or the log's
/// beginning where that is later), up to where the log ends now.
///
/// # Errors
/// When the topic does not exist or the cluster does not answer.
pub async fn scan(
    cluster: &Cluster,
    topic: &TopicName,
    from: impl Fn(u32) -> i64,
    mut take: impl FnMut(u32, Record),
) -> Result<(), Error> {
    let missing = || Error::TopicMissing { topic: topic.as_str().to_owned() };
    for partition in 0..cluster.partitions(topic.as_str()).await?.ok_or_else(missing)? {
        let log = cluster.offsets(topic.as_str(), partition).await?;
        let mut puller = Puller::new(cluster, topic.as_str(), partition);
        let mut next = from(partition).max(log.start);
        while next < log.end {
            let pulled = puller.pull(next).await?;
            next = pulled.next_offset;
            pulled
                .records
                .into_iter()
                .filter(|record| record.offset < log.end)
                .for_each(|record| take(partition, record));
        }
    }
    Ok(())
}

/// The dead letters as they stand. A record that is no envelope is logged and left out: it is nothing that eddy wrote.
///
/// # Errors
/// When the topic does not exist or the cluster does not answer.
pub async fn dead_letters(cluster: &Cluster, topic: &TopicName) -> Result<Letters, Error> {
    let mut letters = Letters::default();
    scan(
        cluster,
        topic,
        |_| 0,
        |partition, record| match Envelope::decode(&record.value) {
            Ok(envelope) => letters.add(partition, record.offset, envelope),
            Err(error) => {
                tracing::warn!(%topic, partition, offset = record.offset, %error, "A dead letter is unreadable.")
            }
        },
    )
    .await?;
    Ok(letters)
}

/// Calls `take` with each of `letters`, payload included, as the log has them.
///
/// # Errors
/// When the topic does not exist or the cluster does not answer.
pub async fn whole<'a>(
    cluster: &Cluster,
    topic: &TopicName,
    letters: impl IntoIterator<Item = &'a Letter>,
    mut take: impl FnMut(&'a Letter, Envelope),
) -> Result<(), Error> {
    let places: BTreeMap<(u32, i64), &Letter> =
        letters.into_iter().map(|letter| ((letter.partition, letter.offset), letter)).collect();
    let first = |partition| places.range((partition, 0)..).next().map_or(0, |((_, offset), _)| *offset);
    scan(cluster, topic, first, |partition, record| {
        if let Some(letter) = places.get(&(partition, record.offset))
            && let Ok(envelope) = Envelope::decode(&record.value)
        {
            take(letter, envelope);
        }
    })
    .await
}
