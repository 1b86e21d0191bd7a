//! The host: carries a topology's decisions out on a cluster.
//!
//! One task per road and partition owns its reader and its engine; the sink and the guard are shared handles. The
//! host reads, writes, delivers and tells the time; it decides nothing about a record. It starts nothing that is not
//! there: topics and modules are applied before, by `eddy apply` or `eddy dev`.

mod clock;
mod committer;
mod counters;
mod judges;
mod partition;
mod sink_handle;

use std::{sync::Arc, time::Duration};

use eddy_topology::{
    engine::{Engine, Road},
    gate::Status,
    names::TopicName,
    topology::Topology,
};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

use self::{
    clock::Clock, committer::Committer, counters::Counters, judges::Judges, partition::PartitionTask,
    sink_handle::SinkHandle,
};
pub use self::{counters::Counts, partition::Progress};
use crate::{
    broker::{self, Cluster, Writer, judged, positions, pull},
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
        let partitions = partitions_of(&topology, &cluster).await?;
        let sink = SinkHandle::new(sink, topology.gate());
        let writer = Writer::new(&cluster);
        let shared = Arc::new(Shared {
            topology,
            cluster,
            clock: Clock::default(),
            guard,
            sink,
            writer,
            counters: Counters::default(),
        });
        let stop = watch::Sender::new(false);
        let mut host = Self { shared, tasks: JoinSet::new(), roads: Vec::new(), stop };
        let judges = Judges::load(&host.shared).await?;
        for road in Road::all(&host.shared.topology) {
            for partition in 0..partitions {
                host.open(road, partition, &judges).await?;
            }
        }
        Ok(host)
    }

    async fn open(&mut self, road: Road, partition: u32, judges: &Judges) -> Result<(), Error> {
        let Shared { topology, cluster, .. } = &*self.shared;
        let topic = road.topic(topology).clone();
        let consumer = road.consumer_id(topology);
        let position = positions::load(cluster, &consumer, topic.as_str(), partition).await?;
        if let positions::Origin::Clamped { stored } = position.origin {
            tracing::error!(%topic, partition, stored, log_end = position.log.end, "The log ends before the committed position: the broker lost records.");
        }
        let start = position.offset;
        let reader = match road {
            Road::Intake => judged::read(cluster, topic.as_str(), partition, start, judges.validate.clone()),
            Road::Route => judged::read(cluster, topic.as_str(), partition, start, judges.classify.clone()),
            Road::Tier(_) => pull::read(cluster, topic.as_str(), partition, start),
        };
        let engine = Engine::new(Arc::clone(topology), road, partition, start);
        let claimant = Claimant(self.roads.len() as u64);
        let task = PartitionTask::new(Arc::clone(&self.shared), (topic.clone(), partition), claimant, engine, reader);
        let progress = task.progress();
        let committer = Committer::new(cluster, &consumer, topic.as_str(), partition, start);
        self.roads.push((topic, partition, progress.clone()));
        let stop = self.stop.subscribe();
        self.tasks.spawn(async move {
            let committing = tokio::spawn(committer.run(progress));
            // The task drops its end of the progress when it is done; the committer then stores the last one.
            let done = task.run(stop).await;
            committing.await??;
            done
        });
        Ok(())
    }

    /// A view of this host, for as long as anybody wants it.
    pub fn monitor(&self) -> Monitor {
        Monitor { shared: Arc::clone(&self.shared), roads: self.roads.clone() }
    }

    /// Waits until a task fails; that is never while all is well. Safe to cancel.
    pub async fn failed(&mut self) -> Error {
        match self.tasks.join_next().await {
            Some(Ok(Ok(()))) | None => Error::ReaderEnded,
            Some(Ok(Err(error))) => error,
            Some(Err(died)) => died.into(),
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
async fn partitions_of(topology: &Topology, cluster: &Cluster) -> Result<u32, Error> {
    let names = topology.names();
    let count = async |topic: &TopicName| {
        let missing = || broker::Error::TopicMissing { topic: topic.as_str().to_owned() };
        Ok::<_, Error>(cluster.partitions(topic.as_str()).await?.ok_or_else(missing)?)
    };
    let source_partitions = count(&names.source).await?;
    for topic in [&names.failures, &names.dlq, &names.parked].into_iter().chain(&names.tiers) {
        let partitions = count(topic).await?;
        if partitions < source_partitions {
            return Err(Error::TooFewPartitions { topic: topic.clone(), partitions, source_partitions });
        }
    }
    Ok(source_partitions)
}
