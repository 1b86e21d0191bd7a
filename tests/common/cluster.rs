//! A cluster for tests: the one that `EDDY_TEST_CLUSTER=HOST:PORT` names, or an embedded node of the test's own.
//!
//! Topics get random names, so that tests neither meet each other nor anything else on a shared cluster, and are
//! removed at the end.

use std::{net::SocketAddr, path::Path, sync::atomic::AtomicU32, time::Duration};

use eddy::broker::{
    Cluster, Target,
    admin::{self, DerivedPlan, Plan, Storage, TopicPlan},
};
use eddy_embedded::{Config, Node};
use fluvio::{Fluvio, FluvioClusterConfig};
use tempfile::TempDir;

/// See the module's documentation.
pub(crate) struct TestCluster {
    pub(crate) cluster: Cluster,
    prefix: String,
    own: Option<OwnNode>,
}

struct OwnNode {
    node: Option<Node>,
    dir: TempDir,
    addresses: (SocketAddr, SocketAddr),
}

/// What a test calls the source of a topology, from which the names of its modules derive.
pub(crate) const SOURCE: &str = "in";

impl TestCluster {
    pub(crate) async fn start() -> Self {
        let (target, own) = match std::env::var("EDDY_TEST_CLUSTER") {
            Ok(address) => (address, None),
            Err(_) => {
                let own = OwnNode::start().await;
                (own.addresses.0.to_string(), Some(own))
            }
        };
        let kind = if own.is_some() { "an embedded node" } else { "the cluster of EDDY_TEST_CLUSTER" };
        println!("broker under test: {kind} at {target}");
        let cluster = Cluster::connect(&Target::Address(target)).await.expect("the cluster answers");
        Self { cluster, prefix: format!("eddy-test-{}", unique()), own }
    }

    /// Whether the broker is the test's own and may be restarted.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// A topic of this test.
    pub(crate) fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// Creates a topic of this test with one partition.
    pub(crate) async fn topic(&self, name: &str) -> String {
        self.topic_stored(name, Storage::default()).await
    }

    pub(crate) async fn topic_stored(&self, name: &str, storage: Storage) -> String {
        let source = TopicPlan { name: self.name(name), partitions: 1, storage };
        let plan = Plan { source, derived: Vec::<DerivedPlan>::new(), modules: vec![] };
        admin::apply(&self.cluster, &plan).await.expect("the topic is created");
        plan.source.name
    }

    /// Stops the test's own node for a while and starts it again on the same addresses.
    pub(crate) async fn restart(&mut self, down: Duration) {
        self.restart_after(down, |_| ()).await;
    }

    /// The same, and `meanwhile` gets the folder where the node keeps the topics.
    pub(crate) async fn restart_after(&mut self, down: Duration, meanwhile: impl FnOnce(&Path)) {
        let own = self.own.as_mut().expect("only a test's own node is restarted");
        own.node.take().expect("the node runs").stop().await;
        meanwhile(&own.dir.path().join("topics"));
        tokio::time::sleep(down).await;
        own.node = Some(own.start_again().await);
    }

    /// Removes the positions in this test's topics; a cluster keeps them when a topic goes.
    pub(crate) async fn forget_positions(&self) {
        let client = FluvioClusterConfig::new(self.cluster.address());
        let client = Fluvio::connect_with_config(&client).await.expect("the cluster answers");
        let stored = client.consumer_offsets().await.expect("the cluster lists consumer offsets");
        for offset in stored.into_iter().filter(|offset| offset.topic.starts_with(&self.prefix)) {
            let replica = (offset.topic, offset.partition);
            client.delete_consumer_offset(offset.consumer_id, replica).await.expect("the offset is removed");
        }
    }

    /// Removes this test's positions, topics and modules.
    pub(crate) async fn finish(self) {
        self.forget_positions().await;
        for module in ["validate", "classify"] {
            let name = format!("{}-{module}", self.name(SOURCE));
            admin::delete_module(&self.cluster, &name).await.expect("the module is removed");
        }
        for topic in admin::topics(&self.cluster).await.expect("the cluster answers") {
            if topic.name.starts_with(&self.prefix) {
                admin::delete_topic(&self.cluster, &topic.name).await.expect("the topic is removed");
            }
        }
        if let Some(OwnNode { node: Some(node), .. }) = self.own {
            node.stop().await;
        }
    }
}

impl OwnNode {
    async fn start() -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        let mut config = Config::new(dir.path());
        config.clean_interval_ms = 100;
        let node = Node::start(config).await.expect("a node on free ports");
        let addresses = (node.address(), node.spu_address());
        Self { node: Some(node), dir, addresses }
    }

    async fn start_again(&self) -> Node {
        let mut config = Config::new(self.dir.path());
        (config.sc_addr, config.spu_addr) = self.addresses;
        Node::start(config).await.expect("the node's folder and ports are free again")
    }
}

fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = std::time::UNIX_EPOCH.elapsed().expect("it is after 1970").as_millis() % 100_000_000;
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{:x}-{now:x}-{count}", std::process::id())
}
