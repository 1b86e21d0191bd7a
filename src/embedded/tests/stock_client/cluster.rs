//! A node with a directory of its own, and clients of it.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use eddy_embedded::{Config, Node};
use fluvio::metadata::topic::TopicSpec;
use fluvio::{Fluvio, FluvioAdmin, FluvioClusterConfig};
use tempfile::TempDir;

/// No step of a test takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node that ends with the test.
pub(crate) struct Cluster {
    node: Node,
    dir: TempDir,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// Starts a node that is configured otherwise than usual.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let dir = TempDir::new().unwrap();
        let mut config = Config::new(dir.path());
        change(&mut config);
        let node = Node::start(config).await.unwrap();
        Self { node, dir }
    }

    /// Stops the node and starts another on the same directory.
    pub(crate) async fn restart(self) -> Self {
        let Self { node, dir } = self;
        soon("stopping the node", node.stop()).await;
        let node = Node::start(Config::new(dir.path())).await.unwrap();
        Self { node, dir }
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// A client with connections of its own.
    pub(crate) async fn client(&self) -> Fluvio {
        install_crypto_provider();
        let config = FluvioClusterConfig::new(self.node.address().to_string());
        soon("connecting", Fluvio::connect_with_config(&config)).await.unwrap()
    }

    pub(crate) async fn admin(&self) -> FluvioAdmin {
        self.client().await.admin().await
    }

    pub(crate) async fn create_topic(&self, name: &str, partitions: u32) {
        let spec = TopicSpec::new_computed(partitions, 1, None);
        let admin = self.admin().await;
        soon("creating a topic", admin.create(name.to_owned(), false, spec)).await.unwrap();
    }
}

/// Waits for something that must not take long.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} took longer than {PATIENCE:?}"),
    }
}

/// Asks again and again until the answer is there; for what a client learns with a delay.
pub(crate) async fn eventually<T, W: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> W) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(answer) = soon(what, ask()).await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not happen within {PATIENCE:?}")
}

/// The client installs a provider at its first connect; two at once would race.
fn install_crypto_provider() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| drop(rustls::crypto::aws_lc_rs::default_provider().install_default()));
}
