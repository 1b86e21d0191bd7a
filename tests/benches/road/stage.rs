//! What everything runs on: one embedded node, and topologies applied to it.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use eddy::{
    broker::{Cluster, Entry, Target, Writer, admin},
    deploy,
    feed::Record,
};
use eddy_embedded::{Config, Node};
use eddy_topology::{Definition, topology::Topology};
use futures_util::future::try_join_all;
use tempfile::TempDir;

use super::{
    Options,
    measure::{Measured, Stopwatch},
};

pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) dir: TempDir,
    node: Node,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let node = Node::start(Config::new(dir.path().join("node"))).await.expect("a node on free ports");
        let target = Target::Address(node.address().to_string());
        let cluster = Cluster::connect(&target).await.expect("the node answers");
        Self { cluster, dir, node }
    }

    /// A topology with a source of its own and a sink of this kind, with all that it needs.
    pub(crate) async fn topology(&self, options: &Options, source: &str, kind: &str, target: &str) -> Arc<Topology> {
        let mut definition = Definition::parse(&options.set.join("\n")).expect("--set takes keys of a definition");
        source.clone_into(&mut definition.source.topic);
        definition.source.partitions = options.partitions;
        kind.clone_into(&mut definition.sink.kind);
        definition.sink.url = Some(target.to_owned()).filter(|_| kind == "webhook");
        definition.sink.topic = Some(target.to_owned()).filter(|_| kind == "topic");
        let topology = Topology::try_new(&definition).expect("a definition without mistakes");
        admin::apply(&self.cluster, &deploy::plan(&topology)).await.expect("the node has room");
        Arc::new(topology)
    }

    /// Writes the triggers to the source under the keys that `eddy produce` gives them, until all are acknowledged.
    pub(crate) async fn feed(&self, topology: &Topology, triggers: &[Bytes]) -> Measured {
        let mut partitions: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
        for trigger in triggers {
            let Record { partition, key, value } = Record::of_line(trigger.clone(), topology.partitions());
            partitions.entry(partition).or_default().push((key, value));
        }
        let writer = Writer::new(&self.cluster);
        let source = topology.names().source.as_str();
        let watch = Stopwatch::start();
        let writes = partitions.into_iter().map(|(partition, entries)| writer.write_all(source, partition, entries));
        try_join_all(writes).await.expect("the node takes every batch");
        watch.stop("written to the source", triggers.len())
    }

    /// Where the source's partitions end.
    pub(crate) async fn ends(&self, topology: &Topology) -> Vec<i64> {
        let source = topology.names().source.as_str();
        let end = async |partition| self.cluster.offsets(source, partition).await.map(|offsets| offsets.end);
        try_join_all((0..topology.partitions()).map(end)).await.expect("the node knows where its logs end")
    }

    pub(crate) async fn stop(self) {
        self.node.stop().await;
    }
}
