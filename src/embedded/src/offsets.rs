//! Where consumers stand: the offsets that clients commit, per topic, partition and consumer id.
//!
//! A real SPU keeps them in a topic of its own and forgets the newest when the machine stops; here a commit is on disk
//! before it is answered. As a real SPU, it takes any number for an offset, also one that moves backwards or lies
//! beyond the log's end: what an offset means is for the reader to judge.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;

use crate::store::{Change, Error, OffsetKey, Store};

/// A committed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The offset of the last record that the consumer has done with.
    pub offset: i64,
    /// When it was committed, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// The committed offsets of all consumers.
#[derive(Debug)]
pub struct ConsumerOffsets {
    store: Arc<Store>,
    committed: Arc<RwLock<BTreeMap<OffsetKey, Committed>>>,
}

impl ConsumerOffsets {
    pub(crate) fn new(store: Arc<Store>, stored: Vec<(OffsetKey, (i64, u64))>) -> Self {
        let committed =
            stored.into_iter().map(|(key, (offset, modified_ms))| (key, Committed { offset, modified_ms })).collect();
        Self { store, committed: Arc::new(RwLock::new(committed)) }
    }

    /// The offset that a consumer committed for a partition.
    #[must_use]
    pub fn get(&self, topic: &str, partition: u32, consumer: &str) -> Option<i64> {
        self.committed.read().get(&key(topic, partition, consumer)).map(|committed| committed.offset)
    }

    /// Every committed offset, in the order of topic, partition, consumer.
    #[must_use]
    pub fn list(&self) -> Vec<(OffsetKey, Committed)> {
        self.committed.read().iter().map(|(key, committed)| (key.clone(), *committed)).collect()
    }

    /// Commits an offset; returns when it is on disk.
    ///
    /// # Errors
    /// When the store cannot be written; the old offset then stands.
    pub async fn set(&self, topic: &str, partition: u32, consumer: &str, offset: i64) -> Result<(), Error> {
        let key = key(topic, partition, consumer);
        let committed = Committed { offset, modified_ms: now_ms() };
        let change = Change::Offset(key.clone(), Some((offset, committed.modified_ms)));
        let map = Arc::clone(&self.committed);
        let apply = move || {
            map.write().insert(key, committed);
        };
        self.store.commit(vec![change], apply).await
    }

    /// Forgets a committed offset; says whether there was one.
    ///
    /// # Errors
    /// When the store cannot be written; the offset then stands.
    pub async fn delete(&self, topic: &str, partition: u32, consumer: &str) -> Result<bool, Error> {
        let key = key(topic, partition, consumer);
        let existed = self.committed.read().contains_key(&key);
        if existed {
            self.forget(vec![key]).await?;
        }
        Ok(existed)
    }

    /// Forgets all that was committed for a topic, which is about to go.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete_topic(&self, topic: &str) -> Result<(), Error> {
        let of_topic = {
            let committed = self.committed.read();
            let from = (Bound::Included(key(topic, 0, "")), Bound::Unbounded);
            committed.range(from).map(|(key, _)| key).take_while(|key| key.topic == topic).cloned().collect()
        };
        self.forget(of_topic).await
    }

    async fn forget(&self, keys: Vec<OffsetKey>) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let changes = keys.iter().map(|key| Change::Offset(key.clone(), None)).collect();
        let map = Arc::clone(&self.committed);
        self.store
            .commit(changes, move || {
                let mut map = map.write();
                for key in &keys {
                    map.remove(key);
                }
            })
            .await
    }
}

fn key(topic: &str, partition: u32, consumer: &str) -> OffsetKey {
    OffsetKey { topic: topic.to_owned(), partition, consumer: consumer.to_owned() }
}

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio::task::JoinSet;

    use super::*;

    fn open(dir: &Path) -> (Arc<Store>, Arc<ConsumerOffsets>) {
        let (store, contents) = Store::open(dir).unwrap();
        let store = Arc::new(store);
        let offsets = ConsumerOffsets::new(Arc::clone(&store), contents.offsets);
        (store, Arc::new(offsets))
    }

    #[tokio::test]
    async fn commits_at_the_same_time_all_stand_also_after_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let (store, offsets) = open(dir.path());

        let mut commits = JoinSet::new();
        for partition in 0..200 {
            let offsets = Arc::clone(&offsets);
            commits.spawn(async move { offsets.set("triggers", partition, "reader", i64::from(partition)).await });
        }
        for committed in commits.join_all().await {
            committed.unwrap();
        }

        let stand = |offsets: &ConsumerOffsets| {
            offsets.list().iter().map(|(key, committed)| (key.partition, committed.offset)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..200).map(|partition| (partition, i64::from(partition))).collect();
        assert_eq!(stand(&offsets), all);
        store.close();
        assert_eq!(stand(&open(dir.path()).1), all);
    }

    #[tokio::test]
    async fn the_last_of_two_commits_stands_in_memory_and_on_disk_even_when_nobody_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let (store, offsets) = open(dir.path());

        for offset in [5, 3] {
            let mut commit = Box::pin(offsets.set("triggers", 0, "reader", offset));
            // Sent at the first poll, and given up at once.
            assert!(futures_util::poll!(commit.as_mut()).is_pending());
        }
        store.close();

        assert_eq!(offsets.get("triggers", 0, "reader"), Some(3));
        assert_eq!(open(dir.path()).1.get("triggers", 0, "reader"), Some(3));
    }

    #[tokio::test]
    async fn a_topic_takes_only_its_own_offsets_along() {
        let dir = tempfile::tempdir().unwrap();
        let (_store, offsets) = open(dir.path());
        for (topic, partition, consumer) in [("a", 0, "z"), ("b", 0, "x"), ("b", 1, ""), ("b-c", 0, "x")] {
            offsets.set(topic, partition, consumer, 1).await.unwrap();
        }

        offsets.delete_topic("b").await.unwrap();

        let left: Vec<_> = offsets.list().into_iter().map(|(key, _)| key.topic).collect();
        assert_eq!(left, ["a", "b-c"]);
    }

    #[tokio::test]
    async fn a_closed_store_refuses_and_the_old_offset_stands() {
        let dir = tempfile::tempdir().unwrap();
        let (store, offsets) = open(dir.path());
        offsets.set("triggers", 0, "reader", 7).await.unwrap();
        store.close();

        assert!(matches!(offsets.set("triggers", 0, "reader", 8).await, Err(Error::Closed)));
        assert_eq!(offsets.get("triggers", 0, "reader"), Some(7));
    }
}
