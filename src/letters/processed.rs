//! Which offsets of the source have been processed: from its position down to the log's beginning, or to a point in time.
//!
//! Fluvio cannot be asked for the offset of a time. The timestamps that producers set rise well enough to bisect for it;
//! where they do not, the window's beginning is off by as much, and by nothing else.

use eddy_topology::{letters::stats::Processed, names::Names};

use super::partitions;
use crate::broker::{Cluster, Error, positions, pull::Puller};

/// The offsets that intake has passed and the log still has; with `since_ms`, only those produced from then on.
///
/// # Errors
/// When the source does not exist or the cluster does not answer.
pub async fn processed(cluster: &Cluster, names: &Names, since_ms: Option<i64>) -> Result<Processed, Error> {
    let source = &names.source;
    let consumer = names.consumer_id(source);
    let mut processed = Processed::new();
    for partition in 0..partitions(cluster, source).await? {
        let position = positions::load(cluster, &consumer, source.as_str(), partition).await?;
        let (start, end) = (position.log.start, position.offset.max(position.log.start));
        let start = match since_ms {
            None => start,
            Some(since_ms) => {
                first_since(&mut Puller::new(cluster, source.as_str(), partition), start, end, since_ms).await?
            }
        };
        processed.insert(partition, start..end);
    }
    Ok(processed)
}

/// The first offset of `low..high` with a timestamp of `since_ms` or later; `high` if there is none.
async fn first_since(puller: &mut Puller, mut low: i64, mut high: i64, since_ms: i64) -> Result<i64, Error> {
    while low < high {
        let middle = low + (high - low) / 2;
        let pulled = puller.pull(middle).await?;
        // Offsets without a record belong to the record behind them.
        match pulled.records.first().filter(|record| record.offset < high) {
            Some(record) if record.timestamp_ms < since_ms => low = record.offset + 1,
            Some(_) | None => high = middle,
        }
    }
    Ok(high)
}
