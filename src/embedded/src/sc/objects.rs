//! The kinds of objects that clients list and watch, and what each looks like on this node.
//!
//! Clients believe only what is online: the SPU, every partition and every topic say so. Offsets and sizes of
//! partitions are true at the moment of asking; watchers are not told when only these change.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use fluvio_controlplane_metadata::partition::{PartitionResolution, PartitionStatus, ReplicaStatus};
use fluvio_controlplane_metadata::smartmodule::{SmartModulePackageKey, SmartModuleStatus};
use fluvio_controlplane_metadata::spg::SpuGroupSpec;
use fluvio_controlplane_metadata::spu::{CustomSpuSpec, SpuSpec, SpuStatus, SpuStatusResolution};
use fluvio_controlplane_metadata::tableformat::TableFormatSpec;
use fluvio_controlplane_metadata::topic::{TopicResolution, TopicStatus};
use fluvio_protocol::record::ReplicaKey;
use fluvio_protocol::{Decoder, Encoder};
use fluvio_sc_schema::objects::{
    ListFilter, ListRequest, ListResponse, Metadata, ObjectApiListRequest, ObjectApiListResponse,
};
use fluvio_sc_schema::partition::PartitionSpec;
use fluvio_sc_schema::smartmodule::SmartModuleSpec;
use fluvio_sc_schema::topic::TopicSpec;
use fluvio_sc_schema::{AdminSpec, TryEncodableFrom};

use super::connection::{downcast, unserved};
use super::{Cluster, SPU_ID};

/// A kind of object that this node can show.
pub(super) trait Object: AdminSpec<Status: Encoder + Decoder + Debug + Send + Sync> {
    /// All objects of the kind, as they are now.
    fn all(cluster: &Cluster) -> Vec<Metadata<Self>>;

    /// Whether the object belongs to the cluster rather than to its users.
    fn is_system(&self) -> bool {
        false
    }

    /// Whether a list is asked for this object.
    fn is_wanted(object: &Metadata<Self>, filters: &[ListFilter]) -> bool {
        filters.is_empty() || filters.iter().any(|filter| object.name.contains(&filter.name))
    }
}

impl Object for TopicSpec {
    fn all(cluster: &Cluster) -> Vec<Metadata<Self>> {
        let topic = |(name, spec): (String, Arc<Self>)| {
            let replicas = vec![vec![SPU_ID]; spec.partitions() as usize];
            let status = TopicStatus::new(TopicResolution::Provisioned, replicas, "");
            Metadata { name, spec: Self::clone(&spec), status }
        };
        cluster.meta.topics().into_iter().map(topic).collect()
    }

    fn is_system(&self) -> bool {
        Self::is_system(self)
    }
}

impl Object for PartitionSpec {
    fn all(cluster: &Cluster) -> Vec<Metadata<Self>> {
        let partitions = |(topic, spec): (String, Arc<TopicSpec>)| {
            (0..spec.partitions()).map(move |partition| Metadata {
                name: ReplicaKey::new(topic.clone(), partition).to_string(),
                spec: Self::from_replicas(vec![SPU_ID], &spec, None),
                status: partition_status(cluster, &topic, partition),
            })
        };
        cluster.meta.topics().into_iter().flat_map(partitions).collect()
    }

    fn is_system(&self) -> bool {
        self.system
    }
}

fn partition_status(cluster: &Cluster, topic: &str, partition: u32) -> PartitionStatus {
    let Some(replica) = cluster.data.replica(topic, partition) else {
        return PartitionStatus::default();
    };
    let log = &replica.log;
    let end = log.end_offset();
    PartitionStatus::new2(
        ReplicaStatus::new(SPU_ID, end, end),
        Vec::new(),
        i64::try_from(log.size_bytes()).unwrap_or(i64::MAX),
        PartitionResolution::Online,
        log.start_offset(),
    )
}

impl Object for SpuSpec {
    fn all(cluster: &Cluster) -> Vec<Metadata<Self>> {
        let spec = Self::new_public_addr(SPU_ID, cluster.spu.port(), cluster.spu.ip().to_string()).set_custom();
        vec![Metadata { name: spu_name(), spec, status: online() }]
    }
}

impl Object for CustomSpuSpec {
    fn all(cluster: &Cluster) -> Vec<Metadata<Self>> {
        let custom = |spu: Metadata<SpuSpec>| Metadata { name: spu.name, spec: spu.spec.into(), status: spu.status };
        SpuSpec::all(cluster).into_iter().map(custom).collect()
    }
}

fn spu_name() -> String {
    format!("custom-spu-{SPU_ID}")
}

fn online() -> SpuStatus {
    SpuStatus { resolution: SpuStatusResolution::Online }
}

impl Object for SmartModuleSpec {
    fn all(cluster: &Cluster) -> Vec<Metadata<Self>> {
        let module =
            |(name, spec): (String, Arc<Self>)| Metadata { name, spec: Self::clone(&spec), status: SmartModuleStatus };
        cluster.meta.smartmodules().into_iter().map(module).collect()
    }

    /// SmartModules are asked for by plain or qualified name, in full; other objects by a part of it.
    fn is_wanted(object: &Metadata<Self>, filters: &[ListFilter]) -> bool {
        let package = object.spec.meta.as_ref().map(|meta| &meta.package);
        let names = |filter: &ListFilter| {
            SmartModulePackageKey::from_qualified_name(&filter.name)
                .is_ok_and(|wanted| wanted.is_match(&object.name, package))
        };
        filters.is_empty() || filters.iter().any(names)
    }
}

impl Object for TableFormatSpec {
    fn all(_: &Cluster) -> Vec<Metadata<Self>> {
        Vec::new()
    }
}

impl Object for SpuGroupSpec {
    fn all(_: &Cluster) -> Vec<Metadata<Self>> {
        Vec::new()
    }
}

/// Answers a list, of whatever kind it is.
pub(super) fn list(
    request: &ObjectApiListRequest,
    cluster: &Cluster,
    version: i16,
) -> io::Result<ObjectApiListResponse> {
    let kinds = [
        list_of::<TopicSpec>,
        list_of::<PartitionSpec>,
        list_of::<SpuSpec>,
        list_of::<SmartModuleSpec>,
        list_of::<CustomSpuSpec>,
        list_of::<TableFormatSpec>,
        list_of::<SpuGroupSpec>,
    ];
    let answer = kinds.iter().find_map(|list_of| list_of(request, cluster, version).transpose());
    answer.unwrap_or_else(|| Err(unserved("list of this kind of object")))
}

fn list_of<S: Object>(
    request: &ObjectApiListRequest,
    cluster: &Cluster,
    version: i16,
) -> io::Result<Option<ObjectApiListResponse>> {
    let Some(ListRequest { name_filters, summary, system, .. }) = downcast::<ListRequest<S>, _>(request)? else {
        return Ok(None);
    };
    let filters = Vec::from(name_filters);
    let mut objects = S::all(cluster);
    objects.retain(|object| object.spec.is_system() == system && S::is_wanted(object, &filters));
    if summary {
        objects = objects.into_iter().map(Metadata::summary).collect();
    }
    ObjectApiListResponse::try_encode_from(ListResponse::new(objects), version).map(Some).map_err(io::Error::other)
}
