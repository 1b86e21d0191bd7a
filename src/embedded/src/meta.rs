//! What the cluster knows: its topics and its SmartModules, and who is told of changes.
//!
//! Every change is on disk before anyone sees it. Watchers follow an epoch: a number that rises with each change; they
//! compare what they told their client with what is true now, so a slow one misses nothing and holds nothing up.
//!
//! Specs are kept as the client sent them and stored in the protocol's own encoding. What is not here: records and
//! their partitions ([`crate::data`]), and the rules of who may create what ([`rules`]).

pub mod rules;
mod spu_view;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fluvio_controlplane_metadata::smartmodule::SmartModuleSpec;
use fluvio_controlplane_metadata::topic::{ReplicaSpec, TopicSpec};
use fluvio_protocol::{Decoder, Encoder};
use parking_lot::RwLock;
use tokio::sync::watch;

use self::spu_view::SpuView;
use crate::store::{self, Change, Contents, Store};

/// The version of the protocol that stored specs are encoded in.
const SPEC_VERSION: i16 = 19;

/// The system topic in which a real cluster keeps consumer offsets. Clients look it up before they open a managed
/// consumer and wait for ever when it is missing, so it exists here as well, and stays empty.
pub const CONSUMER_OFFSET_TOPIC: &str = "consumer-offset";

/// Why the metadata could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A stored spec cannot be read: another version of eddy wrote it, or the file is damaged.
    #[error("read stored {kind} `{name}`")]
    Unreadable {
        /// Topic or SmartModule.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What the decoder said.
        source: std::io::Error,
    },
}

/// The topics and SmartModules of the node.
#[derive(Debug)]
pub struct Metadata {
    store: Arc<Store>,
    state: Arc<RwLock<State>>,
    epoch: watch::Sender<i64>,
    /// Admin changes go one after the other: each is checked against what the one before it left.
    pub(crate) changes: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    topics: BTreeMap<String, Arc<TopicSpec>>,
    smartmodules: BTreeMap<String, Arc<SmartModuleSpec>>,
    spu: SpuView,
}

impl Metadata {
    /// Takes over what the store remembered. The SPU hears of later SmartModules `propagation` late.
    pub(crate) fn new(store: Arc<Store>, contents: &Contents, propagation: Duration) -> Result<Self, Error> {
        let mut topics = decode_all::<TopicSpec>("topic", &contents.topics)?;
        topics.insert(CONSUMER_OFFSET_TOPIC.to_owned(), Arc::new(consumer_offset_topic()));
        let smartmodules = decode_all::<SmartModuleSpec>("SmartModule", &contents.smartmodules)?;
        let spu = SpuView::new(smartmodules.clone(), propagation);
        let state = Arc::new(RwLock::new(State { topics, smartmodules, spu }));
        Ok(Self { store, state, epoch: watch::Sender::new(1), changes: tokio::sync::Mutex::new(()) })
    }

    /// The spec of a topic.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<Arc<TopicSpec>> {
        self.state.read().topics.get(name).cloned()
    }

    /// All topics by name, system topics included.
    #[must_use]
    pub fn topics(&self) -> Vec<(String, Arc<TopicSpec>)> {
        self.state.read().topics.iter().map(|(name, spec)| (name.clone(), Arc::clone(spec))).collect()
    }

    /// All SmartModules by store key, as an administrator sees them: the newest builds.
    #[must_use]
    pub fn smartmodules(&self) -> Vec<(String, Arc<SmartModuleSpec>)> {
        self.state.read().smartmodules.iter().map(|(key, spec)| (key.clone(), Arc::clone(spec))).collect()
    }

    /// The gzipped bytes of a SmartModule as the SPU knows it, which is a little late after a change, as in a real
    /// cluster. The name is plain or qualified (`group/name@version`).
    #[must_use]
    pub fn smartmodule(&self, name: &str) -> Option<Bytes> {
        let spec = self.state.write().spu.find(name, Instant::now())?;
        Some(Bytes::clone(&spec.wasm.payload))
    }

    /// A number that rises with each change; what a watcher waits for.
    #[must_use]
    pub fn epoch(&self) -> watch::Receiver<i64> {
        self.epoch.subscribe()
    }

    pub(crate) async fn put_topic(&self, name: &str, spec: TopicSpec) -> Result<(), Error> {
        let change = Change::Topic(name.to_owned(), Some(encode(&spec)));
        let name = name.to_owned();
        self.commit(change, move |state| drop(state.topics.insert(name, Arc::new(spec)))).await
    }

    pub(crate) async fn remove_topic(&self, name: &str) -> Result<(), Error> {
        let change = Change::Topic(name.to_owned(), None);
        let name = name.to_owned();
        self.commit(change, move |state| drop(state.topics.remove(&name))).await
    }

    pub(crate) async fn put_smartmodule(&self, key: &str, spec: SmartModuleSpec) -> Result<(), Error> {
        let change = Change::SmartModule(key.to_owned(), Some(encode(&spec)));
        let (key, spec) = (key.to_owned(), Arc::new(spec));
        self.commit(change, move |state| {
            state.spu.change(Instant::now(), key.clone(), Some(Arc::clone(&spec)));
            state.smartmodules.insert(key, spec);
        })
        .await
    }

    pub(crate) async fn remove_smartmodule(&self, key: &str) -> Result<(), Error> {
        let change = Change::SmartModule(key.to_owned(), None);
        let key = key.to_owned();
        self.commit(change, move |state| {
            state.smartmodules.remove(&key);
            state.spu.change(Instant::now(), key, None);
        })
        .await
    }

    async fn commit(&self, change: Change, apply: impl FnOnce(&mut State) + Send + 'static) -> Result<(), Error> {
        let (state, epoch) = (Arc::clone(&self.state), self.epoch.clone());
        let apply = move || {
            apply(&mut state.write());
            epoch.send_modify(|epoch| *epoch += 1);
        };
        Ok(self.store.commit(vec![change], apply).await?)
    }
}

fn consumer_offset_topic() -> TopicSpec {
    let mut spec = TopicSpec::from(ReplicaSpec::new_computed(1, 1, None));
    spec.set_system(true);
    spec
}

fn encode(spec: &impl Encoder) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(spec.write_size(SPEC_VERSION));
    spec.encode(&mut bytes, SPEC_VERSION).expect("a vector takes any spec");
    bytes
}

fn decode_all<S: Decoder>(kind: &'static str, stored: &[(String, Vec<u8>)]) -> Result<BTreeMap<String, Arc<S>>, Error> {
    let decode = |(name, bytes): &(String, Vec<u8>)| match S::decode_from(&mut bytes.as_slice(), SPEC_VERSION) {
        Ok(spec) => Ok((name.clone(), Arc::new(spec))),
        Err(source) => Err(Error::Unreadable { kind, name: name.clone(), source }),
    };
    stored.iter().map(decode).collect()
}
