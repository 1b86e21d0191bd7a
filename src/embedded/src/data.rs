//! All partitions of the node: opened and recovered by name, found by name, removed with their topic.
//!
//! Which topics should exist is decided by the metadata; this module only keeps their logs, each in a folder
//! `<topic>/<partition>`. A removed topic's folder is first renamed out of the way in one step, so that a crash in the
//! middle cannot bring back half of it under a topic of the same name.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::RwLock;

use crate::log::{Log, LogConfig};

/// Not a topic name, so it is in nobody's way.
const TRASH: &str = ".removed";

/// A partition of a topic, and its log.
#[derive(Debug)]
pub struct Replica {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: u32,
    /// Its records.
    pub log: Arc<Log>,
}

/// The logs of every partition that this node serves.
#[derive(Debug)]
pub struct DataPlane {
    dir: PathBuf,
    replicas: RwLock<BTreeMap<String, BTreeMap<u32, Arc<Replica>>>>,
}

impl DataPlane {
    /// Takes the folder; its partitions are opened one by one with [`Self::ensure_partition`].
    pub fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        remove_if_there(&dir.join(TRASH))?;
        Ok(Self { dir: dir.to_path_buf(), replicas: RwLock::default() })
    }

    /// The partition; opened and recovered from its files, or made, if it is not open yet.
    pub fn ensure_partition(&self, topic: &str, partition: u32, config: LogConfig) -> io::Result<Arc<Replica>> {
        let mut replicas = self.replicas.write();
        if let Some(open) = replicas.get(topic).and_then(|partitions| partitions.get(&partition)) {
            return Ok(Arc::clone(open));
        }
        let dir = self.dir.join(topic).join(partition.to_string());
        let log = Arc::new(Log::open(&dir, config)?);
        sync_dir(&self.dir.join(topic))?;
        sync_dir(&self.dir)?;
        let replica = Arc::new(Replica { topic: topic.to_owned(), partition, log });
        replicas.entry(topic.to_owned()).or_default().insert(partition, Arc::clone(&replica));
        Ok(replica)
    }

    /// Ends all streams of the topic with `TopicDeleted` and deletes its files.
    pub fn remove_topic(&self, topic: &str) -> io::Result<()> {
        let removed = self.replicas.write().remove(topic).unwrap_or_default();
        for replica in removed.values() {
            replica.log.mark_deleted();
        }
        let trash = self.dir.join(TRASH);
        fs::create_dir_all(&trash)?;
        match fs::rename(self.dir.join(topic), trash.join(topic)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => remove_if_there(&trash),
        }
    }

    /// The partition, when this node has it.
    pub fn replica(&self, topic: &str, partition: u32) -> Option<Arc<Replica>> {
        self.replicas.read().get(topic)?.get(&partition).cloned()
    }

    /// Every partition, ordered by topic and number.
    pub fn replicas(&self) -> Vec<Arc<Replica>> {
        self.replicas.read().values().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Deletes closed segments that are too old or too many; to be called now and then.
    pub fn clean(&self) {
        for replica in self.replicas() {
            if let Err(error) = replica.log.clean(SystemTime::now()) {
                tracing::warn!(topic = replica.topic, partition = replica.partition, %error, "retention failed");
            }
        }
    }

    /// Takes no more appends and waits for those under way; after it the folder may be opened again.
    pub async fn close(&self) {
        for replica in self.replicas() {
            replica.log.close().await;
        }
    }
}

/// Makes the names in a folder durable; without it a power cut may take a whole log along.
fn sync_dir(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

fn remove_if_there(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
