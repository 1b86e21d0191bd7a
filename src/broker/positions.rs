//! Positions in the cluster's own consumer offsets, so that `fluvio consumer list` shows them.
//!
//! Fluvio's consumers can only store what they last saw, and may hang when asked to while they wait. But any offset
//! can be stored: a stream opened with a consumer's name at the log's end gives a session, and the session takes any
//! number. What is stored is the position less one, because Fluvio's own consumers start behind the stored offset.

use fluvio_spu_schema::server::{
    consumer_offset::{FetchConsumerOffsetsRequest, UpdateConsumerOffsetRequest},
    stream_fetch::StreamFetchRequest,
};
use futures_util::{FutureExt, StreamExt};

use super::{Cluster, Error, Offsets, backoff::Patience, batch::Slice, connection, link::Link};

/// Where Fluvio keeps consumer offsets.
const OFFSETS_TOPIC: &str = "consumer-offset";
const OFFSETS_PARTITION: u32 = 0;

/// How long a load or a commit is tried.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Where to go on reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub offset: i64,
    pub origin: Origin,
    /// The log at the moment of loading.
    pub log: Offsets,
}

/// Where a position comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nothing was stored: the log's beginning.
    Beginning,
    /// As stored; it may be before the log's beginning, which the reader reports as evicted.
    Stored,
    /// The stored one is beyond the log's end, because the broker lost records: the log's end.
    Clamped { stored: i64 },
}

/// Reads a consumer's position of a partition.
///
/// # Errors
/// When the cluster does not answer within ten seconds, or the topic does not exist.
pub async fn load(cluster: &Cluster, consumer: &str, topic: &str, partition: u32) -> Result<Position, Error> {
    let mut patience = Patience::new(PATIENCE);
    let stored = loop {
        match stored(cluster, consumer, topic, partition).await {
            Ok(stored) => break stored,
            Err(error) => patience.wait_out(error).await?,
        }
    };
    Ok(resolve(stored, cluster.offsets(topic, partition).await?))
}

fn resolve(stored: Option<i64>, log: Offsets) -> Position {
    match stored.map(|offset| offset.saturating_add(1).max(0)) {
        None => Position { offset: log.start, origin: Origin::Beginning, log },
        Some(stored) if stored > log.end => Position { offset: log.end, origin: Origin::Clamped { stored }, log },
        Some(offset) => Position { offset, origin: Origin::Stored, log },
    }
}

async fn stored(cluster: &Cluster, consumer: &str, topic: &str, partition: u32) -> Result<Option<i64>, Error> {
    let link = cluster.dial(OFFSETS_TOPIC, OFFSETS_PARTITION).await?;
    let replica = (topic.to_owned(), partition).into();
    let request = FetchConsumerOffsetsRequest::with_opts(Some(replica), Some(consumer.to_owned()));
    let answer = link.call("consumer offsets", request).await?;
    Error::check("consumer offsets", topic, partition, answer.error_code)?;
    let mut found = answer.consumers.into_iter().filter(|offset| {
        offset.consumer_id == consumer && offset.replica_id.topic == topic && offset.replica_id.partition == partition
    });
    Ok(found.next().map(|offset| offset.offset))
}

/// Stores a consumer's position of one partition. Costs nothing until the first commit.
#[derive(Debug)]
pub struct Committer {
    cluster: Cluster,
    consumer: String,
    topic: String,
    partition: u32,
    session: Option<Link>,
}

impl Committer {
    #[must_use]
    pub fn new(cluster: &Cluster, consumer: &str, topic: &str, partition: u32) -> Self {
        let (cluster, consumer, topic) = (cluster.clone(), consumer.to_owned(), topic.to_owned());
        Self { cluster, consumer, topic, partition, session: None }
    }

    /// Stores `position`, the next offset to read.
    ///
    /// # Errors
    /// When it could not be stored for ten seconds; the stored one is then the old or the new one.
    pub async fn commit(&mut self, position: i64) -> Result<(), Error> {
        let mut patience = Patience::new(PATIENCE);
        loop {
            match self.commit_once(position).await {
                Ok(()) => return Ok(()),
                Err(error) => patience.wait_out(error).await?,
            }
        }
    }

    async fn commit_once(&mut self, position: i64) -> Result<(), Error> {
        /// Sessions are numbered per connection, and ours has one.
        const SESSION: u32 = 1;

        let link = match self.session.take() {
            Some(link) => link,
            None => self.open_session().await?,
        };
        let answer = link.call("a commit", UpdateConsumerOffsetRequest::new(position - 1, SESSION)).await?;
        Error::check("a commit", &self.topic, self.partition, answer.error_code)?;
        // Only a session that works is kept.
        self.session = Some(link);
        Ok(())
    }

    async fn open_session(&self) -> Result<Link, Error> {
        let link = self.cluster.dial(&self.topic, self.partition).await?;
        let end = connection::offsets(&link, &self.topic, self.partition).await?.end;
        let mut request = StreamFetchRequest::<Slice>::default();
        request.topic.clone_from(&self.topic);
        request.partition = self.partition;
        request.fetch_offset = end;
        // The stream pushes one answer that nobody acknowledges; it need not be large.
        request.max_bytes = 1024;
        request.consumer_id = Some(self.consumer.clone());
        let mut answers = link.stream("a session", request).await?;
        // A stream that the broker refuses is answered at once; a good one stays silent.
        match answers.next().now_or_never().flatten() {
            Some(Ok(answer)) => {
                Error::check("a session", &self.topic, self.partition, answer.partition.error_code).map(|()| link)
            }
            Some(Err(error)) => Err(link.broken(Some(error))),
            None => Ok(link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: Offsets = Offsets { start: 10, end: 100 };

    #[test]
    fn what_is_stored_is_the_position_less_one() {
        assert_eq!(resolve(Some(41), LOG), Position { offset: 42, origin: Origin::Stored, log: LOG });
        assert_eq!(resolve(Some(99), LOG), Position { offset: 100, origin: Origin::Stored, log: LOG });
    }

    #[test]
    fn a_missing_position_is_the_beginning_of_the_log() {
        assert_eq!(resolve(None, LOG), Position { offset: 10, origin: Origin::Beginning, log: LOG });
    }

    #[test]
    fn a_position_beyond_the_end_of_the_log_is_clamped_and_said_so() {
        assert_eq!(
            resolve(Some(120), LOG),
            Position { offset: 100, origin: Origin::Clamped { stored: 121 }, log: LOG }
        );
    }

    #[test]
    fn a_position_before_the_beginning_is_kept_so_that_the_gap_is_seen() {
        assert_eq!(resolve(Some(-1), LOG), Position { offset: 0, origin: Origin::Stored, log: LOG });
    }
}
