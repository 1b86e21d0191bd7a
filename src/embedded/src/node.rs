//! The node as a whole: one data directory, two addresses, and a lifetime.
//!
//! A node owns its directory (a second one on it is refused) and ends completely: with [`Node::stop`] every connection,
//! stream, watch and file of it is gone before the call returns, so the directory can be opened again at once.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::data::DataPlane;
use crate::meta::{self, Metadata};
use crate::offsets::ConsumerOffsets;
use crate::sc::{self, Cluster};
use crate::spu;
use crate::store::{self, Contents, Store};

/// The folder of the data directory that holds the records.
const TOPICS_DIR: &str = "topics";

/// What a node needs to start.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where everything is kept; made when it does not exist.
    pub data_dir: PathBuf,
    /// Where clients connect to; port 0 takes a free one.
    pub sc_addr: SocketAddr,
    /// Where clients are sent for records; port 0 takes a free one.
    pub spu_addr: SocketAddr,
    /// How long streams still get the old build of a SmartModule after a `create`.
    pub smartmodule_delay_ms: u64,
    /// How often retention is enforced.
    pub clean_interval_ms: u64,
    /// Whether the creation of a topic is answered; a real controller sometimes misses the moment to do so.
    pub answers_creations: bool,
}

impl Config {
    /// A node on free ports of 127.0.0.1 with the habits of a real cluster.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            data_dir: data_dir.into(),
            sc_addr: free,
            spu_addr: free,
            smartmodule_delay_ms: 200,
            clean_interval_ms: 10_000,
            answers_creations: true,
        }
    }
}

/// Why a node could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data directory cannot be made.
    #[error("make data directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store is in use, or cannot be opened.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The stored metadata cannot be read.
    #[error(transparent)]
    Metadata(#[from] meta::Error),
    /// The records of a topic cannot be opened.
    #[error("open topic `{topic}`")]
    Topic {
        /// The topic's name.
        topic: String,
        /// What the log said.
        source: io::Error,
    },
    /// The records' folder cannot be opened.
    #[error("open {}", path.display())]
    Data {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An address is taken or not ours.
    #[error("listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A running node. Dropping it ends its services; [`Node::stop`] also waits for them.
#[derive(Debug)]
pub struct Node {
    address: SocketAddr,
    spu_address: SocketAddr,
    store: Arc<Store>,
    data: Arc<DataPlane>,
    services: JoinSet<()>,
}

impl Node {
    /// Opens the data directory, recovers what it holds, and serves. Needs tokio's multi-threaded runtime.
    ///
    /// # Errors
    /// When the directory is in use or damaged, or an address is taken; nothing is left running then.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let (sc_listener, address) = listen(config.sc_addr).await?;
        let (spu_listener, spu_address) = listen(config.spu_addr).await?;
        let opening = tokio::task::spawn_blocking(move || open(&config, spu_address).map(|cluster| (cluster, config)));
        let ((cluster, store), config) = opening.await.expect("opening does not panic")?;

        let cluster = Arc::new(cluster);
        let data = Arc::clone(&cluster.data);
        let shared = Arc::new(spu::Shared {
            data: Arc::clone(&data),
            meta: Arc::clone(&cluster.meta),
            offsets: Arc::clone(&cluster.offsets),
        });
        let mut services = JoinSet::new();
        services.spawn(spu::serve(spu_listener, shared));
        services.spawn(sc::serve(sc_listener, cluster));
        services.spawn(clean(Arc::clone(&data), Duration::from_millis(config.clean_interval_ms)));
        tracing::info!(%address, %spu_address, dir = %config.data_dir.display(), "Embedded node started.");
        Ok(Self { address, spu_address, store, data, services })
    }

    /// Where clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients are sent for records.
    #[must_use]
    pub fn spu_address(&self) -> SocketAddr {
        self.spu_address
    }

    /// Ends all services and lets go of the data directory.
    pub async fn stop(mut self) {
        self.services.shutdown().await;
        self.data.close().await;
        let store = Arc::clone(&self.store);
        let closing = tokio::task::spawn_blocking(move || store.close());
        closing.await.expect("closing does not panic");
        tracing::info!(address = %self.address, "Embedded node stopped.");
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let listening = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listening.await.map_err(|source| Error::Listen { address, source })
}

/// Opens the store first: it is the directory's lock.
fn open(config: &Config, spu: SocketAddr) -> Result<(Cluster, Arc<Store>), Error> {
    let path = &config.data_dir;
    std::fs::create_dir_all(path).map_err(|source| Error::Directory { path: path.clone(), source })?;
    let (store, mut contents) = Store::open(path)?;
    let store = Arc::new(store);
    let offsets = ConsumerOffsets::new(Arc::clone(&store), std::mem::take(&mut contents.offsets));
    let cluster = Cluster {
        meta: Arc::new(metadata(config, &store, &contents)?),
        data: Arc::new(data_plane(path)?),
        offsets: Arc::new(offsets),
        spu,
        answers_creations: config.answers_creations,
    };
    for (topic, spec) in cluster.meta.topics() {
        cluster.open_partitions(&topic, &spec).map_err(|source| Error::Topic { topic, source })?;
    }
    Ok((cluster, store))
}

fn metadata(config: &Config, store: &Arc<Store>, contents: &Contents) -> Result<Metadata, meta::Error> {
    let delay = Duration::from_millis(config.smartmodule_delay_ms);
    Metadata::new(Arc::clone(store), contents, delay)
}

fn data_plane(data_dir: &Path) -> Result<DataPlane, Error> {
    let path = data_dir.join(TOPICS_DIR);
    DataPlane::open(&path).map_err(|source| Error::Data { path, source })
}

/// Enforces retention until the node stops.
async fn clean(data: Arc<DataPlane>, interval: Duration) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let data = Arc::clone(&data);
        if let Err(error) = tokio::task::spawn_blocking(move || data.clean()).await {
            tracing::error!(%error, "Retention could not be enforced.");
        }
    }
}
