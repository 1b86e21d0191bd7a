//! Where things are: the cluster's settings, its topics, partitions and leaders, and links to the servers.
//!
//! Metadata is listed when it is needed and kept for a few seconds, or until a link to a leader fails; nothing watches
//! it, so nothing can go stale unseen: a server that no longer leads a partition answers, and only says no. What is
//! normal for a moment after a topic was created or a server restarted (no such topic, no leader) is waited out for a
//! few seconds before it counts as an error.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use fluvio::{FluvioClusterConfig, config::ConfigFile};
use fluvio_protocol::{Decoder, Encoder, link::ErrorCode};
use fluvio_sc_schema::{
    AdminSpec, TryEncodableFrom,
    objects::{ListFilters, ListRequest, ListResponse, Metadata, ObjectApiListRequest},
    partition::PartitionSpec,
    spu::SpuSpec,
    topic::TopicSpec,
};
use fluvio_socket::ClientConfig;
use fluvio_spu_schema::server::fetch_offset::FetchOffsetsRequest;
use tokio::sync::Mutex;

use super::{Error, backoff::Patience, link::Link};

/// How long a missing topic or leader is waited for before it is an error.
const SETTLE_MAX: Duration = Duration::from_secs(5);

/// The longest that a listing may take.
const LIST_MAX: Duration = Duration::from_secs(15);

/// Listings younger than this are not repeated: many readers lose their leader at the same moment.
const LISTING_FRESH: Duration = Duration::from_millis(100);

/// The oldest listing by which a leader is looked up.
const LISTING_AGE_MAX: Duration = Duration::from_secs(2);

/// Which cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `HOST:PORT` of the SC, without TLS.
    Address(String),
    /// A profile of Fluvio's configuration; `None` is the current one.
    Profile(Option<String>),
}

/// A cluster that can be reached. Cheap to clone; all clones share what is known about it.
#[derive(Debug, Clone)]
pub struct Cluster(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: FluvioClusterConfig,
    listing: Mutex<Option<Arc<Listing>>>,
}

/// The first offset of a log and the one behind its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    pub start: i64,
    pub end: i64,
}

impl Cluster {
    /// Connects once, so that a wrong address is known at once.
    ///
    /// # Errors
    /// When the profile does not exist or the cluster does not answer.
    pub async fn connect(target: &Target) -> Result<Self, Error> {
        let cluster = Self(Arc::new(Inner { config: settings(target)?, listing: Mutex::new(None) }));
        cluster.listing(None).await?;
        Ok(cluster)
    }

    /// The address of the SC.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.0.config.endpoint
    }

    /// How many partitions a topic has; `None` when there is no such topic.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn partitions(&self, topic: &str) -> Result<Option<u32>, Error> {
        Ok(self.listing(Some(Instant::now())).await?.topics.get(topic).copied())
    }

    /// Where a partition's log starts and ends.
    ///
    /// # Errors
    /// When the topic does not exist or its leader does not answer within a few seconds.
    pub async fn offsets(&self, topic: &str, partition: u32) -> Result<Offsets, Error> {
        let mut patience = Patience::new(SETTLE_MAX);
        loop {
            let answer = match self.dial(topic, partition).await {
                Ok(link) => offsets(&link, topic, partition).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(offsets) => return Ok(offsets),
                Err(error) => patience.wait_out(error).await?,
            }
        }
    }

    /// Forgets what was listed: it was just changed from here, and whoever asks next must see that.
    pub(crate) async fn forget_listing(&self) {
        *self.0.listing.lock().await = None;
    }

    /// A new link to the SC.
    pub(crate) async fn dial_controller(&self) -> Result<Link, Error> {
        Link::open(self.client_config()?).await
    }

    /// A new link to the leader of a partition.
    pub(crate) async fn dial(&self, topic: &str, partition: u32) -> Result<Link, Error> {
        let mut patience = Patience::new(SETTLE_MAX);
        let mut newer_than = Instant::now().checked_sub(LISTING_AGE_MAX);
        let leader = loop {
            let listing = self.listing(newer_than).await?;
            newer_than = Some(Instant::now());
            match listing.leader(topic, partition) {
                Ok(leader) => break leader,
                Err(error) => patience.wait_out(error).await?,
            }
        };
        let mut config = self.client_config()?.with_prefix_sni_domain(&leader.name);
        config.set_addr(leader.address);
        match Link::open(config).await {
            Ok(link) => Ok(link),
            Err(error) => {
                // The leader may have moved: ask again the next time.
                self.forget_listing().await;
                Err(error)
            }
        }
    }

    fn client_config(&self) -> Result<ClientConfig, Error> {
        ClientConfig::try_from(self.0.config.clone()).map_err(|error| Error::Profile { reason: error.to_string() })
    }

    /// What the cluster has; listed anew unless a listing newer than the given moment is known.
    async fn listing(&self, newer_than: Option<Instant>) -> Result<Arc<Listing>, Error> {
        let mut known = self.0.listing.lock().await;
        if let Some(listing) = known.as_ref()
            && newer_than.is_none_or(|moment| listing.listed_at + LISTING_FRESH > moment)
        {
            return Ok(Arc::clone(listing));
        }
        let listing =
            Arc::new(Listing::read(&self.dial_controller().await?, self.0.config.use_spu_local_address).await?);
        *known = Some(Arc::clone(&listing));
        Ok(listing)
    }
}

/// Where a partition's log starts and ends, asked on a link to its leader.
pub(crate) async fn offsets(link: &Link, topic: &str, partition: u32) -> Result<Offsets, Error> {
    let answer = link.call("its offsets", FetchOffsetsRequest::new(topic.to_owned(), partition)).await?;
    let found = answer.find_partition(&(topic.to_owned(), partition).into());
    let Some(found) = found else {
        return Err(Error::NoLeader { topic: topic.to_owned(), partition });
    };
    Error::check("offsets", topic, partition, found.error_code)?;
    Ok(Offsets { start: found.start_offset, end: found.last_stable_offset })
}

/// All objects of one kind that a cluster has.
pub(crate) async fn list<S>(link: &Link, name: Option<&str>, system: bool) -> Result<Vec<Metadata<S>>, Error>
where
    S: AdminSpec,
    S::Status: Encoder + Decoder,
{
    let filters = name.map_or_else(ListFilters::default, ListFilters::from);
    let request = ListRequest::<S>::new(filters, false).system(system);
    let answer = link.ask::<ObjectApiListRequest, _>("a listing", request, LIST_MAX).await?;
    let listed: Option<ListResponse<S>> = answer.downcast().map_err(|error| unreadable::<S>(&error.to_string()))?;
    Ok(listed.ok_or_else(|| unreadable::<S>("it is of another kind"))?.inner())
}

fn unreadable<S: AdminSpec>(reason: &str) -> Error {
    Error::Refused { what: format!("a readable listing of {}", S::LABEL), code: ErrorCode::Other(reason.to_owned()) }
}

fn settings(target: &Target) -> Result<FluvioClusterConfig, Error> {
    let unusable = |error: &dyn std::fmt::Display| Error::Profile { reason: error.to_string() };
    match target {
        Target::Address(address) => Ok(FluvioClusterConfig::new(address)),
        Target::Profile(Some(name)) => FluvioClusterConfig::load_with_profile(name)
            .map_err(|error| unusable(&error))?
            .ok_or_else(|| unusable(&format!("there is none called `{name}`"))),
        // Not `FluvioClusterConfig::load`, which creates a profile when there is none.
        Target::Profile(None) => ConfigFile::load(None)
            .map_err(|error| unusable(&error))?
            .config()
            .current_cluster()
            .cloned()
            .map_err(|error| unusable(&error)),
    }
}

/// The cluster's topics, partitions and servers at one moment.
#[derive(Debug)]
struct Listing {
    listed_at: Instant,
    /// Topic to its number of partitions.
    topics: BTreeMap<String, u32>,
    /// `TOPIC-PARTITION` to the id of its leader.
    leaders: BTreeMap<String, i32>,
    servers: BTreeMap<i32, Leader>,
}

/// A server that leads partitions.
#[derive(Debug, Clone)]
struct Leader {
    name: String,
    address: String,
}

impl Listing {
    async fn read(link: &Link, local_addresses: bool) -> Result<Self, Error> {
        let mut topics = BTreeMap::new();
        let mut leaders = BTreeMap::new();
        for system in [false, true] {
            let listed = list::<TopicSpec>(link, None, system).await?;
            topics.extend(listed.into_iter().map(|topic| (topic.name, topic.spec.partitions())));
            let listed = list::<PartitionSpec>(link, None, system).await?;
            leaders.extend(listed.into_iter().map(|partition| (partition.name, partition.spec.leader)));
        }
        let servers = list::<SpuSpec>(link, None, false).await?;
        let servers = servers.into_iter().map(|spu| {
            let address = match spu.spec.public_endpoint_local {
                Some(local) if local_addresses => format!("{}:{}", local.host, local.port),
                Some(_) | None => spu.spec.public_endpoint.addr(),
            };
            (spu.spec.id, Leader { name: spu.name, address })
        });
        Ok(Self { listed_at: Instant::now(), topics, leaders, servers: servers.collect() })
    }

    fn leader(&self, topic: &str, partition: u32) -> Result<Leader, Error> {
        let topic_owned = || topic.to_owned();
        match self.topics.get(topic) {
            None => return Err(Error::TopicMissing { topic: topic_owned() }),
            Some(count) if partition >= *count => {
                return Err(Error::PartitionMissing { topic: topic_owned(), partition });
            }
            Some(_) => {}
        }
        self.leaders
            .get(&format!("{topic}-{partition}"))
            .and_then(|id| self.servers.get(id))
            .cloned()
            .ok_or_else(|| Error::NoLeader { topic: topic_owned(), partition })
    }
}
