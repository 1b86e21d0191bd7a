//! All partitions of the node: opened and recovered by name, found by name, removed with their topic.
//!
//! Which topics should exist is decided by the metadata; this module only keeps their logs. One data folder
//! belongs to one open `DataPlane` at a time, in this process and in every other.

use std::{io, path::Path, sync::Arc};

use crate::log::{LogConfig, Replica};

/// The logs of every partition that this node serves.
#[derive(Debug)]
pub struct DataPlane;

impl DataPlane {
    /// Opens the folder and locks it; partitions are opened one by one with [`Self::ensure_partition`].
    pub fn open(dir: &Path) -> io::Result<Self> {
        todo!()
    }

    /// Opens the partition, recovering what its files hold, or makes an empty one; the known one if it is open.
    pub fn ensure_partition(&self, topic: &str, partition: u32, config: LogConfig) -> io::Result<Arc<Replica>> {
        todo!()
    }

    /// Ends all streams of the topic with `TopicDeleted` and deletes its files.
    pub fn remove_topic(&self, topic: &str) -> io::Result<()> {
        todo!()
    }

    /// The partition's log, when this node has it.
    pub fn replica(&self, topic: &str, partition: u32) -> Option<Arc<Replica>> {
        todo!()
    }

    /// Every partition, ordered by topic and number.
    pub fn replicas(&self) -> Vec<Arc<Replica>> {
        todo!()
    }

    /// Deletes closed segments that are too old or too many; called on a timer.
    pub fn clean(&self) {
        todo!()
    }

    /// Refuses further appends and waits for those under way; after it the folder may be opened again.
    pub async fn close(&self) {
        todo!()
    }
}
