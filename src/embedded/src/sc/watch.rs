//! Watches: a client is told all objects of a kind, and then every change, for as long as it stays connected.
//!
//! A watch remembers what it told and compares when the metadata's epoch moves, so changes that come faster than it
//! speaks become one. A client takes an empty first message for no message at all; that is why the node always has one
//! topic, one partition and one SPU to tell of.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use fluvio_controlplane_metadata::message::Message;
use fluvio_controlplane_metadata::spg::SpuGroupSpec;
use fluvio_controlplane_metadata::spu::{CustomSpuSpec, SpuSpec};
use fluvio_controlplane_metadata::tableformat::TableFormatSpec;
use fluvio_sc_schema::TryEncodableFrom;
use fluvio_sc_schema::objects::{
    Metadata, MetadataUpdate, ObjectApiWatchRequest, ObjectApiWatchResponse, WatchRequest, WatchResponse,
};
use fluvio_sc_schema::partition::PartitionSpec;
use fluvio_sc_schema::smartmodule::SmartModuleSpec;
use fluvio_sc_schema::topic::TopicSpec;
use tokio::task::JoinSet;

use super::Cluster;
use super::connection::{Answers, downcast, unserved};
use super::objects::Object;

type Tasks = JoinSet<io::Result<()>>;

/// Starts the watch that is asked for, of whatever kind it is, beside the connection's other tasks.
pub(super) fn spawn(
    tasks: &mut Tasks,
    request: &ObjectApiWatchRequest,
    cluster: &Arc<Cluster>,
    answers: &Answers,
) -> io::Result<()> {
    let kinds = [
        spawn_of::<TopicSpec>,
        spawn_of::<PartitionSpec>,
        spawn_of::<SpuSpec>,
        spawn_of::<SmartModuleSpec>,
        spawn_of::<CustomSpuSpec>,
        spawn_of::<TableFormatSpec>,
        spawn_of::<SpuGroupSpec>,
    ];
    for spawn_of in kinds {
        if spawn_of(tasks, request, cluster, answers)? {
            return Ok(());
        }
    }
    Err(unserved("watch of this kind of object"))
}

fn spawn_of<S: Object>(
    tasks: &mut Tasks,
    request: &ObjectApiWatchRequest,
    cluster: &Arc<Cluster>,
    answers: &Answers,
) -> io::Result<bool> {
    let Some(request) = downcast::<WatchRequest<S>, _>(request)? else { return Ok(false) };
    let watch = Watch { cluster: Arc::clone(cluster), answers: answers.clone(), summary: request.summary };
    tasks.spawn(watch.run::<S>());
    Ok(true)
}

struct Watch {
    cluster: Arc<Cluster>,
    answers: Answers,
    summary: bool,
}

impl Watch {
    async fn run<S: Object>(self) -> io::Result<()> {
        let mut epoch = self.cluster.meta.epoch();
        let now = *epoch.borrow_and_update();
        let all = S::all(&self.cluster);
        let mut told = specs(&all);
        self.tell(MetadataUpdate::with_all(now, self.shown(all))).await?;

        // Ends with the metadata, that is, with the node.
        while epoch.changed().await.is_ok() {
            let now = *epoch.borrow_and_update();
            let all = S::all(&self.cluster);
            let current = specs(&all);
            let changes = self.changes(&told, all);
            told = current;
            if !changes.is_empty() {
                self.tell(MetadataUpdate::with_changes(now, changes)).await?;
            }
        }
        Ok(())
    }

    fn changes<S: Object>(&self, told: &BTreeMap<String, S>, all: Vec<Metadata<S>>) -> Vec<Message<Metadata<S>>> {
        let gone = told
            .iter()
            .filter(|(name, _)| !all.iter().any(|object| object.name == **name))
            .map(|(name, spec)| Metadata { name: name.clone(), spec: spec.clone(), status: S::Status::default() })
            .collect();
        let gone: Vec<_> = self.shown(gone).into_iter().map(Message::delete).collect();
        let changed = all.into_iter().filter(|object| told.get(&object.name) != Some(&object.spec)).collect();
        self.shown(changed).into_iter().map(Message::update).chain(gone).collect()
    }

    /// A summary leaves out a SmartModule's bytes.
    fn shown<S: Object>(&self, objects: Vec<Metadata<S>>) -> Vec<Metadata<S>> {
        if self.summary { objects.into_iter().map(Metadata::summary).collect() } else { objects }
    }

    async fn tell<S: Object>(&self, update: MetadataUpdate<S>) -> io::Result<()> {
        let response = ObjectApiWatchResponse::try_encode_from(WatchResponse::new(update), self.answers.version())
            .map_err(io::Error::other)?;
        self.answers.send(&response).await
    }
}

fn specs<S: Object>(objects: &[Metadata<S>]) -> BTreeMap<String, S> {
    objects.iter().map(|object| (object.name.clone(), object.spec.clone())).collect()
}
