//! Reads and writes whole topics of envelopes: the dead letters as they stand, the parked ones, what waits on tiers.

pub mod processed;

use std::{collections::BTreeMap, ops::Range};

use eddy_contract::Envelope;
use eddy_topology::{
    letters::{Letter, Letters},
    names::TopicName,
};

use crate::broker::{Cluster, Entry, Error, Offsets, Record, WriteError, Writer, pull::Puller};

/// Calls `take` with every record of a topic from the given offset of each partition on (`from(partition)`, or the log's
/// beginning where that is later), up to where the log ends now.
///
/// # Errors
/// When the topic does not exist or the cluster does not answer.
pub async fn scan(
    cluster: &Cluster,
    topic: &TopicName,
    from: impl Fn(u32) -> i64,
    take: impl FnMut(u32, Record),
) -> Result<(), Error> {
    scan_within(cluster, topic, |partition| from(partition)..i64::MAX, take).await
}

/// As [`scan`], within offsets of each partition. A partition without any is not even asked.
async fn scan_within(
    cluster: &Cluster,
    topic: &TopicName,
    within: impl Fn(u32) -> Range<i64>,
    mut take: impl FnMut(u32, Record),
) -> Result<(), Error> {
    for partition in 0..partitions(cluster, topic).await? {
        let wanted = within(partition);
        if wanted.is_empty() {
            continue;
        }
        let Offsets { start, end } = cluster.offsets(topic.as_str(), partition).await?;
        let end = end.min(wanted.end);
        let mut puller = Puller::new(cluster, topic.as_str(), partition);
        let mut next = wanted.start.max(start);
        while next < end {
            let pulled = puller.pull(next).await?;
            next = pulled.next_offset;
            pulled.records.into_iter().filter(|record| record.offset < end).for_each(|record| take(partition, record));
        }
    }
    Ok(())
}

async fn partitions(cluster: &Cluster, topic: &TopicName) -> Result<u32, Error> {
    let missing = || Error::TopicMissing { topic: topic.as_str().to_owned() };
    cluster.partitions(topic.as_str()).await?.ok_or_else(missing)
}

/// The letters of a dead-letter or parked topic as they stand. A record that is no envelope is logged and left out: it
/// is nothing that eddy wrote.
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

/// Calls `take` with the record of each of `letters`, key included.
///
/// # Errors
/// When the topic does not exist or the cluster does not answer.
pub async fn records<'a>(
    cluster: &Cluster,
    topic: &TopicName,
    letters: impl IntoIterator<Item = &'a Letter>,
    mut take: impl FnMut(&'a Letter, Record),
) -> Result<(), Error> {
    let places: BTreeMap<(u32, i64), &Letter> =
        letters.into_iter().map(|letter| ((letter.partition, letter.offset), letter)).collect();
    let offsets = |partition| places.range((partition, 0)..=(partition, i64::MAX)).map(|((_, offset), _)| *offset);
    let within = |partition| match (offsets(partition).next(), offsets(partition).next_back()) {
        (Some(first), Some(last)) => first..last + 1,
        (None, _) | (_, None) => 0..0,
    };
    scan_within(cluster, topic, within, |partition, record| {
        if let Some(letter) = places.get(&(partition, record.offset)) {
            take(letter, record);
        }
    })
    .await
}

/// Appends to a topic, in the given order within each partition; returns when all of it is acknowledged.
///
/// # Errors
/// When a record was not acknowledged; others may be stored.
pub async fn append(
    writer: &Writer,
    topic: &TopicName,
    records: impl IntoIterator<Item = (u32, Entry)>,
) -> Result<(), WriteError> {
    let mut of_partitions: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    for (partition, entry) in records {
        of_partitions.entry(partition).or_default().push(entry);
    }
    for (partition, entries) in of_partitions {
        writer.write_all(topic.as_str(), partition, entries).await?;
    }
    Ok(())
}
