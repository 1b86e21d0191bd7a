//! Feeds an input to the source topic: each line once, in order per partition, acknowledged.
//!
//! Which line becomes which record is decided by [`feed`](crate::feed). This reads the input on a thread of its own,
//! because standard input blocks, and writes whatever has come by then: a slow input is fed line by line, a fast one in
//! large batches.

use std::{
    io::{self, BufRead},
    path::Path,
};

use futures_util::future::try_join_all;
use tokio::sync::mpsc;

use crate::{
    broker::{self, Cluster, WriteError, Writer},
    feed::{Counts, Feed, Record, Resume, ResumeError},
};

/// The most records that are written together.
const GROUP_MAX: usize = 10_000;

/// Why feeding stopped before the input's end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the input cannot be read: {0}")]
    Input(#[source] io::Error),
    #[error(transparent)]
    Broker(#[from] broker::Error),
    #[error("a record of the input was not acknowledged: {0}")]
    Write(#[from] WriteError),
    #[error("{path} cannot be kept: {error}")]
    Progress { path: String, error: io::Error },
    #[error("cannot go on feeding where an earlier run stopped: {0}")]
    Resume(#[from] ResumeError),
}

impl Error {
    /// What a person can do about it, where we know.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Broker(error) => error.hint(),
            Self::Resume(_) => Some("with another input or a changed topic, start on an empty --data-dir"),
            Self::Input(_) | Self::Write(_) | Self::Progress { .. } => None,
        }
    }
}

/// Feeds all of `input`. With `progress`, a file beside the log, a run that was killed is gone on with.
///
/// # Errors
/// When the input cannot be read, or a record was not acknowledged.
pub async fn feed(
    cluster: &Cluster,
    topic: &str,
    input: Box<dyn BufRead + Send>,
    progress: Option<&Path>,
) -> Result<Counts, Error> {
    let missing = || broker::Error::TopicMissing { topic: topic.to_owned() };
    let partitions = cluster.partitions(topic).await?.ok_or_else(missing)?;
    let mut feed = Feed::new(input, partitions);
    if let Some(path) = progress {
        feed = feed.skipping(already_fed(cluster, topic, partitions, path).await?);
    }
    let (sender, mut records) = mpsc::channel(GROUP_MAX);
    let reading = tokio::task::spawn_blocking(move || read(feed, &sender));
    let writer = Writer::new(cluster);
    let mut group = Vec::new();
    while records.recv_many(&mut group, GROUP_MAX).await > 0 {
        write(&writer, topic, std::mem::take(&mut group)).await?;
    }
    reading.await.map_err(|died| Error::Input(io::Error::other(died)))?
}

fn read(mut feed: Feed<Box<dyn BufRead + Send>>, records: &mpsc::Sender<Record>) -> Result<Counts, Error> {
    while let Some(record) = feed.next_record().map_err(Error::Input)? {
        if records.blocking_send(record).is_err() {
            // Writing failed, and that is what is reported.
            break;
        }
    }
    Ok(feed.counts())
}

async fn write(writer: &Writer, topic: &str, records: Vec<Record>) -> Result<(), Error> {
    let mut by_partition: std::collections::BTreeMap<u32, Vec<broker::Entry>> = Default::default();
    for Record { partition, key, value } in records {
        by_partition.entry(partition).or_default().push((key, value));
    }
    let writes = by_partition.into_iter().map(|(partition, entries)| writer.write_all(topic, partition, entries));
    try_join_all(writes).await?;
    Ok(())
}

/// How many records of the input each partition's log holds already. On the first run it is noted where the logs end,
/// before anything is written.
async fn already_fed(cluster: &Cluster, topic: &str, partitions: u32, path: &Path) -> Result<Vec<u64>, Error> {
    let failed = |error| Error::Progress { path: path.display().to_string(), error };
    let mut ends = Vec::new();
    for partition in 0..partitions {
        ends.push(cluster.offsets(topic, partition).await?.end);
    }
    let resume = match std::fs::read(path) {
        Ok(kept) => serde_json::from_slice(&kept).map_err(|error| failed(error.into()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let resume = Resume { base: ends.clone() };
            keep(path, &resume).map_err(failed)?;
            resume
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(resume.already_fed(&ends)?)
}

/// Whole or not at all, also after a crash.
fn keep(path: &Path, resume: &Resume) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, resume)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    std::fs::File::open(folder)?.sync_all()
}
