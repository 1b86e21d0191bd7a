//! The host: carries a topology's decisions out on a cluster.
//!
//! One task per road and partition owns its reader and its engine; the sink and the guard are shared handles. Tiers that
//! an earlier definition had and this one has not are drained beside the others. The host reads, writes, delivers and tells the time; it decides nothing about a record. It starts nothing that is not
//! there: topics and modules are applied before, by `eddy apply` or `eddy dev`.

mod clock;
mod committer;
mod counters;
mod judges;
mod partition;
mod road;
mod sink_handle;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use eddy_topology::{engine::Road, gate::Status, names::TopicName, outcome::Refusal, topology::Topology};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

use self::{clock::Clock, counters::Counters, judges::Judges, road::RoadTask, sink_handle::SinkHandle};
pub use self::{counters::Counts, partition::Progress};
use crate::{
    broker::{self, Cluster, Writer, admin},
    guard::{Claimant, Guard},
    modules::ParamsError,
    sinks::Sink,
};

/// How long a drain waits for what is in flight, beyond the sink's own timeout.
const DRAIN_MARGIN: Duration = Duration::from_secs(5);

/// Why a host cannot start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Broker(#[from] broker::Error),
    #[error("topic `{topic}` has {partitions} partitions, fewer than the {source_partitions} of the source")]
    TooFewPartitions { topic: TopicName, partitions: u32, source_partitions: u32 },
    #[error(transparent)]
    Params(#[from] ParamsError),
    #[error("a reader ended")]
    ReaderEnded,
    #[error("a task of the host died: {0}")]
    Died(#[from] JoinError),
    #[error("{unfinished} partitions had not drained within {grace_ms} ms; what was in flight is done again")]
    NotDrained { unfinished: usize, grace_ms: u128 },
}

impl Error {
    /// What a person can do about it, where we know.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Broker(error) => error.hint(),
            Self::TooFewPartitions { .. } => Some("`eddy apply` gives the derived topics as many as the source"),
            Self::Params(_) | Self::ReaderEnded | Self::Died(_) | Self::NotDrained { .. } => None,
        }
    }
}

/// What all tasks of a host share.
struct Shared {
    topology: Arc<Topology>,
    cluster: Cluster,
    clock: Clock,
    guard: Arc<dyn Guard>,
    sink: SinkHandle,
    writer: Writer,
    counters: Counters,
}

/// How far one road through one partition is.
#[derive(Debug, Clone)]
pub struct RoadProgress {
    pub topic: TopicName,
    pub partition: u32,
    pub progress: Progress,
}

/// A running host.
pub struct Host {
    shared: Arc<Shared>,
    tasks: JoinSet<Result<(), Error>>,
    roads: Vec<(TopicName, u32, watch::Receiver<Progress>)>,
    stop: watch::Sender<bool>,
}

impl Host {
    /// Starts every road of `topology` at its committed positions.
    ///
    /// # Errors
    /// When the cluster does not answer, or does not have what the topology needs.
    pub async fn start(
        topology: Arc<Topology>,
        cluster: Cluster,
        guard: Arc<dyn Guard>,
        sink: Arc<dyn Sink>,
    ) -> Result<Self, Error> {
        let topics: BTreeMap<String, u32> =
            admin::topics(&cluster).await?.into_iter().map(|topic| (topic.name, topic.partitions)).collect();
        let topology = Arc::unwrap_or_clone(topology).with_leftovers(topics.keys().map(String::as_str));
        let partitions = partitions_of(&topology, &topics)?;
        let sink = SinkHandle::new(sink, topology.gate());
        let writer = Writer::new(&cluster);
        let shared = Arc::new(Shared {
            topology: Arc::new(topology),
            cluster,
            clock: Clock::default(),
            guard,
            sink,
            writer,
            counters: Counters::default(),
        });
        let stop = watch::Sender::new(false);
        let mut host = Self { shared, tasks: JoinSet::new(), roads: Vec::new(), stop };
        let judges = Arc::new(Judges::load(&host.shared).await?);
        let roads: Vec<Road> = Road::all(&host.shared.topology).collect();
        for road in roads {
            // A leftover tier may be older than the source's newest partitions.
            let partitions = topics[road.topic(&host.shared.topology).as_str()].min(partitions);
            for partition in 0..partitions {
                host.open(road, partition, &judges).await?;
            }
        }
        Ok(host)
    }

    async fn open(&mut self, road: Road, partition: u32, judges: &Arc<Judges>) -> Result<(), Error> {
        let claimant = Claimant(self.roads.len() as u64);
        let task = RoadTask::open(&self.shared, road, partition, claimant, judges).await?;
        self.roads.push((road.topic(&self.shared.topology).clone(), partition, task.progress()));
        self.tasks.spawn(task.run(self.stop.subscribe()));
        Ok(())
    }

    /// The topology as it runs: with the leftover tiers that the cluster has.
    pub fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    /// A view of this host, for as long as anybody wants it.
    pub fn monitor(&self) -> Monitor {
        Monitor { shared: Arc::clone(&self.shared), roads: self.roads.clone() }
    }

    /// Waits until a task fails; that is never while all is well. Safe to cancel.
    pub async fn failed(&mut self) -> Error {
        loop {
            match self.tasks.join_next().await {
                // The topic of a leftover tier is gone.
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) => return error,
                Some(Err(died)) => return died.into(),
                None => return Error::ReaderEnded,
            }
        }
    }

    /// Stops gracefully: no delivery is started any more, what is in flight may finish, positions are stored.
    ///
    /// # Errors
    /// When something was still in flight after the sink's timeout and a margin, or a task failed.
    pub async fn drain(mut self) -> Result<(), Error> {
        self.stop.send_replace(true);
        let sink_timeout_ms = self.shared.topology.sink().timeout.as_ms();
        let grace = Duration::from_millis(u64::try_from(sink_timeout_ms).unwrap_or(0)) + DRAIN_MARGIN;
        let joined = async {
            while let Some(done) = self.tasks.join_next().await {
                done??;
            }
            Ok(())
        };
        match tokio::time::timeout(grace, joined).await {
            Ok(done) => done,
            Err(_) => Err(Error::NotDrained { unfinished: self.tasks.len(), grace_ms: grace.as_millis() }),
        }
    }
}

/// What can be seen of a host from outside.
#[derive(Clone)]
pub struct Monitor {
    shared: Arc<Shared>,
    roads: Vec<(TopicName, u32, watch::Receiver<Progress>)>,
}

impl Monitor {
    /// What was decided so far.
    pub fn counts(&self) -> Counts {
        self.shared.counters.total()
    }

    /// What the sink's gate lets through.
    pub fn sink_status(&self) -> Status {
        self.shared.sink.status()
    }

    /// What the sink said to the last delivery that failed, if any did.
    pub fn last_refusal(&self) -> Option<Refusal> {
        self.shared.sink.last_refusal()
    }

    /// How far every road is.
    pub fn progress(&self) -> Vec<RoadProgress> {
        let progress = |(topic, partition, progress): &(TopicName, u32, watch::Receiver<Progress>)| RoadProgress {
            topic: topic.clone(),
            partition: *partition,
            progress: *progress.borrow(),
        };
        self.roads.iter().map(progress).collect()
    }
}

/// The source's partition count; every derived topic must have as many.
fn partitions_of(topology: &Topology, topics: &BTreeMap<String, u32>) -> Result<u32, Error> {
    let names = topology.names();
    let count = |topic: &TopicName| {
        let missing = || broker::Error::TopicMissing { topic: topic.as_str().to_owned() };
        topics.get(topic.as_str()).copied().ok_or_else(missing)
    };
    let source_partitions = count(&names.source)?;
    for topic in names.data_topics() {
        let partitions = count(topic)?;
        if partitions < source_partitions {
            return Err(Error::TooFewPartitions { topic: topic.clone(), partitions, source_partitions });
        }
    }
    Ok(source_partitions)
}
