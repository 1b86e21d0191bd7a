//! Topics in memory.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Timestamp, Topology};

/// One record in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Of the topic.
    pub partition: u32,
    /// In the partition.
    pub offset: i64,
    /// When it was written.
    pub timestamp: Timestamp,
    /// Null is not empty.
    pub key: Option<Bytes>,
    /// What was written.
    pub value: Bytes,
}

/// Every topic of every topology that ever ran on it.
#[derive(Debug, Default)]
pub struct Log {
    topics: BTreeMap<String, Vec<Vec<Stored>>>,
}

impl Log {
    /// Topics that are there stay as they are.
    pub(super) fn create_topics(&mut self, topology: &Topology) {
        for name in topology.names().data_topics() {
            let empty = || vec![Vec::new(); topology.partitions() as usize];
            self.topics.entry(name.to_string()).or_insert_with(empty);
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.topics.keys().map(String::as_str)
    }

    pub(super) fn append(
        &mut self,
        topic: &str,
        partition: u32,
        timestamp: Timestamp,
        key: Option<Bytes>,
        value: Bytes,
    ) -> i64 {
        let records = &mut self.topics.get_mut(topic).expect("a topic of the topology")[partition as usize];
        let offset = records.len() as i64;
        records.push(Stored { partition, offset, timestamp, key, value });
        offset
    }

    pub(super) fn get(&self, topic: &str, partition: u32, offset: i64) -> Option<&Stored> {
        self.topics[topic][partition as usize].get(usize::try_from(offset).ok()?)
    }

    pub(super) fn end(&self, topic: &str, partition: u32) -> i64 {
        self.topics[topic][partition as usize].len() as i64
    }

    pub(super) fn topic(&self, topic: &str) -> Vec<&Stored> {
        self.topics[topic].iter().flatten().collect()
    }

    pub(super) fn records(&self) -> usize {
        self.topics.values().flatten().map(Vec::len).sum()
    }
}
