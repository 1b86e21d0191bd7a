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
