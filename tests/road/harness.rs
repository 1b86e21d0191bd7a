//! A whole road in a test: cluster, topics, modules, downstream, guard and host, started like `eddy run` starts them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use eddy::{
    audit,
    broker::{Entry, Record, Writer, admin, positions},
    deploy,
    dev::resolved::{End, resolved},
    guard::EmbeddedGuard,
    host::{Counts, Host, Monitor},
    letters, sinks,
};
use eddy_contract::{Envelope, RecordId};
use eddy_topology::{
    Definition, Timestamp, TopicName, Topology, audit::Report, gate::Status, names::Names, testing::trigger_json,
};
use futures_util::FutureExt;
use tempfile::TempDir;

use crate::{
    cluster::{SOURCE, TestCluster},
    downstream::{Downstream, Received, Reply},
};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often a test looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// See the module's documentation.
pub(crate) struct Road {
    pub(crate) cluster: TestCluster,
    pub(crate) downstream: Downstream,
    folder: TempDir,
    definition: toml::Table,
    topology: Arc<Topology>,
    running: Option<Running>,
}

struct Running {
    host: Host,
    guard: Arc<EmbeddedGuard>,
}

/// A record in the dead-letter topic.
#[derive(Debug, Clone)]
pub(crate) struct DeadLetter {
    pub(crate) partition: u32,
    pub(crate) key: Option<Bytes>,
    pub(crate) envelope: Envelope,
}

impl DeadLetter {
    pub(crate) fn reason(&self) -> &str {
        self.envelope.reason.as_deref().unwrap_or_default()
    }
}

impl Road {
    /// Everything is there and runs. `over` is put over the default definition.
    pub(crate) async fn start<R: Into<Reply>>(over: &str, script: impl Fn(&[u8]) -> R + Send + Sync + 'static) -> Self {
        let cluster = TestCluster::start().await;
        let downstream = Downstream::start(script).await;
        let definition = definition(over, &cluster.name(SOURCE), &downstream.url());
        let topology = Arc::new(topology(&definition));
        let folder = TempDir::new().unwrap();
        let mut road = Self { cluster, downstream, folder, definition, topology, running: None };
        road.go_on().await;
        road
    }

    /// Starts a host on what is there.
    pub(crate) async fn go_on(&mut self) {
        let cluster = &self.cluster.cluster;
        admin::apply(cluster, &deploy::plan(&self.topology)).await.unwrap();
        let guard = EmbeddedGuard::open(self.folder.path(), &self.topology.guard().into()).unwrap();
        let guard = Arc::new(guard);
        let sink = sinks::open(&self.topology, cluster).await.unwrap();
        let host = Host::start(Arc::clone(&self.topology), cluster.clone(), guard.clone(), sink).await.unwrap();
        self.running = Some(Running { host, guard });
    }

    /// Stops the host as SIGTERM does.
    pub(crate) async fn stop(&mut self) {
        let Running { host, guard: _ } = self.running.take().unwrap();
        host.drain().await.unwrap();
    }

    /// From the next start on another definition holds.
    pub(crate) fn redefine(&mut self, over: &str) {
        merge(&mut self.definition, over.parse().unwrap());
        self.topology = Arc::new(topology(&self.definition));
    }

    /// Stops everything and removes it from the cluster.
    pub(crate) async fn finish(mut self) {
        if self.running.is_some() {
            self.stop().await;
        }
        self.cluster.finish().await;
    }

    /// Produces records, each with its partition; the answers are their ids.
    pub(crate) async fn produce(&self, records: impl IntoIterator<Item = (u32, Entry)>) -> Vec<RecordId> {
        let mut by_partition: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
        let mut places = Vec::new();
        for (partition, entry) in records {
            let entries = by_partition.entry(partition).or_default();
            places.push((partition, entries.len()));
            entries.push(entry);
        }
        let writer = Writer::new(&self.cluster.cluster);
        let source = self.names().source.as_str();
        let mut first = BTreeMap::new();
        for (partition, entries) in by_partition {
            first.insert(partition, writer.write_all(source, partition, entries).await.unwrap());
        }
        let id = |(partition, index): (u32, usize)| {
            let offset = first[&partition] + i64::try_from(index).unwrap();
            RecordId { topic: source.to_owned(), partition, offset, part: 0 }
        };
        places.into_iter().map(id).collect()
    }

    /// Produces triggers of these devices to partition 0.
    pub(crate) async fn triggers(&self, devices: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<RecordId> {
        self.produce(devices.into_iter().map(|device| (0, trigger(device.as_ref())))).await
    }

    pub(crate) fn names(&self) -> &Names {
        self.topology.names()
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("the host runs")
    }

    fn monitor(&self) -> Monitor {
        self.running().host.monitor()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.monitor().counts()
    }

    pub(crate) fn sink_status(&self) -> Status {
        self.monitor().sink_status()
    }

    /// How far intake is in partition 0.
    pub(crate) fn intake_position(&self) -> i64 {
        self.monitor().progress()[0].progress.position
    }

    /// Where a host that starts now would begin to read partition 0 of the source.
    pub(crate) async fn stored_intake_position(&self) -> i64 {
        let source = &self.names().source;
        let consumer = self.names().consumer_id(source);
        positions::load(&self.cluster.cluster, &consumer, source.as_str(), 0).await.unwrap().offset
    }

    /// The redirect's target that an operator is shown.
    pub(crate) fn location_shown(&self) -> Option<String> {
        self.monitor().last_refusal()?.location
    }

    /// The one helper that waits.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            assert!(started.elapsed() < PATIENCE, "waited too long until {what}; {:?}", self.counts());
            self.assert_host_lives();
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until everything in the log is resolved.
    pub(crate) async fn until_resolved(&mut self) {
        assert_eq!(self.end_of_waiting().await, End::Resolved, "the sink is suspended");
    }

    /// Waits like `eddy dev --until-resolved`.
    pub(crate) async fn end_of_waiting(&mut self) -> End {
        let end = tokio::time::timeout(PATIENCE, resolved(&self.cluster.cluster, &self.monitor())).await;
        self.assert_host_lives();
        end.unwrap_or_else(|_| panic!("not resolved: {:?}", self.monitor().progress())).unwrap()
    }

    /// Waits until the host gives up, and says why it did.
    pub(crate) async fn until_the_host_fails(&mut self) -> String {
        let Running { mut host, guard: _ } = self.running.take().unwrap();
        tokio::time::timeout(PATIENCE, host.failed()).await.unwrap().to_string()
    }

    fn assert_host_lives(&mut self) {
        let host = &mut self.running.as_mut().expect("the host runs").host;
        if let Some(error) = host.failed().now_or_never() {
            panic!("the host died: {error}");
        }
    }

    /// Where every record of the source is, now.
    pub(crate) async fn audit(&self) -> Report {
        let Running { host, guard } = self.running();
        audit::audit(host.topology(), &self.cluster.cluster, &**guard, &self.monitor().progress()).await.unwrap()
    }

    /// Everything in a topic, with its partition.
    pub(crate) async fn records(&self, topic: &TopicName) -> Vec<(u32, Record)> {
        let mut records = Vec::new();
        letters::scan(&self.cluster.cluster, topic, |_| 0, |partition, record| records.push((partition, record)))
            .await
            .unwrap();
        records
    }

    pub(crate) async fn dead_letters(&self) -> Vec<DeadLetter> {
        let records = self.records(&self.names().dlq).await;
        let letter = |(partition, Record { key, value, .. })| DeadLetter {
            partition,
            key,
            envelope: Envelope::decode(&value).unwrap(),
        };
        records.into_iter().map(letter).collect()
    }

    /// The one dead letter of a record.
    pub(crate) async fn dead_letter(&self, id: &RecordId) -> DeadLetter {
        let mut letters = self.dead_letters().await;
        letters.retain(|letter| letter.envelope.id == *id);
        assert_eq!(letters.len(), 1, "dead letters of {id}");
        letters.remove(0)
    }

    /// The requests whose body contains `text`, in the order of arrival.
    pub(crate) fn received(&self, text: &str) -> Vec<Received> {
        self.downstream.received().into_iter().filter(|request| request.says(text)).collect()
    }

    /// Fails unless the downstream took so many effects, and each of them once.
    pub(crate) fn assert_taken_once_each(&self, count: usize) {
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for request in self.downstream.received().into_iter().filter(Received::was_taken) {
            *taken.entry(request.idempotency_key).or_default() += 1;
        }
        let repeated: Vec<_> = taken.iter().filter(|(_, times)| **times > 1).collect();
        assert!(repeated.is_empty(), "taken more than once: {repeated:?}");
        assert_eq!(taken.len(), count, "effects that took place");
    }
}

/// The record of a valid trigger of `device`, keyed by it, that differs from all before.
pub(crate) fn trigger(device: &str) -> Entry {
    (Some(device.to_owned().into()), trigger_text(device).into())
}

/// The text of a valid trigger of `device` that differs from all before.
pub(crate) fn trigger_text(device: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let now_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    trigger_json(device, Timestamp(i64::try_from(now_ms).unwrap()), number)
}

/// Names of so many devices.
pub(crate) fn devices(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("device-{number}"))
}

fn topology(definition: &toml::Table) -> Topology {
    Topology::try_new(&Definition::from_table(definition.clone()).unwrap()).unwrap()
}

/// Tiers and breaker of tests are fast; what `over` says comes last.
fn definition(over: &str, source: &str, url: &str) -> toml::Table {
    let mut table: toml::Table = format!(
        "source.topic = '{source}'\n\
         sink.url = '{url}'\n\
         sink.breaker.probe_interval = '50ms'\n\
         sink.breaker.probe_interval_max = '200ms'\n\
         retry.tiers = ['200ms', '400ms', '800ms']\n"
    )
    .parse()
    .unwrap();
    merge(&mut table, over.parse().unwrap());
    table
}

fn merge(table: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => merge(inner, value),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}
