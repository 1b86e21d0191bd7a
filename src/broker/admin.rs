//! Topics and modules: what a topology needs, created where it is missing, and never taken away.
//!
//! `apply` may run any number of times and by several people at once. It creates missing topics, gives derived topics
//! the source's number of partitions before the source itself grows (a record keeps its partition, so the place must
//! be there first), and uploads modules whose bytes differ. It does not change the retention of a topic that exists
//! and never deletes.

use std::{
    io::{Read as _, Write as _},
    pin::pin,
    time::Duration,
};

use bytes::Bytes;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use fluvio_protocol::link::ErrorCode;
use fluvio_sc_schema::{
    CreatableAdminSpec, DeletableAdminSpec, Status, UpdatableAdminSpec,
    objects::{
        CommonCreateRequest, CreateRequest, DeleteRequest, ObjectApiCreateRequest, ObjectApiDeleteRequest,
        ObjectApiUpdateRequest, UpdateRequest,
    },
    smartmodule::{SmartModuleSpec, SmartModuleWasm},
    topic::{AddPartition, CleanupPolicy, SegmentBasedPolicy, TopicSpec, TopicStorageConfig, UpdateTopicAction},
};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::{Cluster, Error, connection::list, link::Link};

/// The longest that creating may take: a controller gives up after 90 s.
const CREATE_MAX: Duration = Duration::from_secs(120);

/// How often a leader is asked whether it has a new partition yet.
const ANSWER_CHECK_EVERY: Duration = Duration::from_millis(500);

/// What a topology needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its partition count is the least that it gets; a source that exists keeps a larger one.
    pub source: TopicPlan,
    pub derived: Vec<DerivedPlan>,
    pub modules: Vec<ModulePlan>,
}

/// A topic that has to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPlan {
    pub name: String,
    pub partitions: u32,
    pub storage: Storage,
}

/// A topic derived from the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedPlan {
    pub name: String,
    /// `None`: as many as the source.
    pub partitions: Option<u32>,
    pub storage: Storage,
}

/// How a new topic is stored; `None` is the cluster's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Storage {
    pub retention: Option<Duration>,
    pub segment_bytes: Option<u32>,
    /// The log's size from which on its oldest segments go, per partition.
    pub partition_bytes_max: Option<u64>,
}

/// A module that has to be there with exactly these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModulePlan {
    pub name: String,
    pub wasm: Bytes,
}

/// Something that [`apply`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    TopicCreated { name: String, partitions: u32 },
    TopicGrown { name: String, from: u32, to: u32 },
    ModuleUploaded { name: String, sha256: String, replaced: Option<String> },
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TopicCreated { name, partitions } => write!(f, "created topic {name} with {partitions} partitions"),
            Self::TopicGrown { name, from, to } => write!(f, "grew topic {name} from {from} to {to} partitions"),
            Self::ModuleUploaded { name, sha256, replaced: None } => write!(f, "uploaded module {name} {sha256}"),
            Self::ModuleUploaded { name, sha256, replaced: Some(old) } => {
                write!(f, "replaced module {name} {old} by {sha256}")
            }
        }
    }
}

/// A topic as the cluster has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    pub partitions: u32,
    pub retention: Duration,
    /// `None`: the cluster's default.
    pub segment_bytes: Option<u32>,
}

/// A module as the cluster has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uploaded {
    pub wasm: Bytes,
    /// Of the uncompressed bytes.
    pub sha256: String,
}

/// Makes the cluster have what the plan names; says what it changed, in order.
///
/// # Errors
/// When the cluster refuses or does not answer. What was done until then stays, and the next run goes on.
pub async fn apply(cluster: &Cluster, plan: &Plan) -> Result<Vec<Change>, Error> {
    let link = cluster.dial_controller().await?;
    let existing = topics_on(&link).await?;
    let count = |name: &str| existing.iter().find(|topic| topic.name == name).map(|topic| topic.partitions);
    let mut changes = Vec::new();
    for step in topic_steps(plan, count) {
        changes.extend(step.carry_out(cluster).await?);
        cluster.forget_listing().await;
    }
    for module in &plan.modules {
        changes.extend(upload(&link, module).await?);
    }
    Ok(changes)
}

/// One thing to do to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Create { name: String, partitions: u32, storage: Storage },
    Grow { name: String, from: u32, to: u32 },
}

/// What has to be done, derived topics first. `count` says how many partitions a topic has now.
fn topic_steps(plan: &Plan, count: impl Fn(&str) -> Option<u32>) -> Vec<Step> {
    let of_source = count(&plan.source.name).unwrap_or(0).max(plan.source.partitions);
    let derived = plan.derived.iter().map(|topic| (&topic.name, topic.partitions.unwrap_or(of_source), topic.storage));
    let source = (&plan.source.name, of_source, plan.source.storage);
    derived.chain([source]).filter_map(|(name, wanted, storage)| step(name, count(name), wanted, storage)).collect()
}

fn step(name: &str, existing: Option<u32>, wanted: u32, storage: Storage) -> Option<Step> {
    let name = name.to_owned();
    match existing {
        None => Some(Step::Create { name, partitions: wanted, storage }),
        Some(from) if from < wanted => Some(Step::Grow { name, from, to: wanted }),
        Some(_) => None,
    }
}

impl Step {
    async fn carry_out(self, cluster: &Cluster) -> Result<Option<Change>, Error> {
        match self {
            Self::Create { name, partitions, storage } => {
                match create_topic(cluster, &name, partitions, storage).await {
                    Ok(()) => Ok(Some(Change::TopicCreated { name, partitions })),
                    // Somebody else was faster.
                    Err(Error::Refused { code: ErrorCode::TopicAlreadyExists, .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Self::Grow { name, from, to } => {
                let action = UpdateTopicAction::AddPartition(AddPartition { count: to - from });
                update::<TopicSpec>(&cluster.dial_controller().await?, &name, name.clone(), action).await?;
                Ok(Some(Change::TopicGrown { name, from, to }))
            }
        }
    }
}

/// Creates a topic and returns when it can be used.
///
/// The controller's answer alone will not do: it comes when the controller has heard that every partition is online, and
/// a controller can miss that. Then the answer stays out for longer than a connection lives, while the topic works. So the
/// leaders are asked, too.
async fn create_topic(cluster: &Cluster, name: &str, partitions: u32, storage: Storage) -> Result<(), Error> {
    // A link of its own, because requests behind an unanswered one are not answered either.
    let link = cluster.dial_controller().await?;
    let mut usable = pin!(timeout(CREATE_MAX, all_answer(cluster, name, partitions)));
    let lost = tokio::select! {
        biased;
        answer = create(&link, name, topic_spec(partitions, storage)) => match answer {
            Err(error @ Error::Broken { .. }) => error,
            answer => return answer,
        },
        _ = &mut usable => return Ok(()),
    };
    match topics(cluster).await? {
        listed if listed.iter().any(|topic| topic.name == name) => usable.await.map_err(|_| lost),
        _ => Err(lost),
    }
}

/// Returns once the leader of every partition of a topic answers for it. Waits before it asks: as a rule the controller
/// answers sooner, and then nobody has to be asked.
async fn all_answer(cluster: &Cluster, topic: &str, partitions: u32) {
    tokio::time::sleep(ANSWER_CHECK_EVERY).await;
    for partition in 0..partitions {
        while cluster.offsets(topic, partition).await.is_err() {
            tokio::time::sleep(ANSWER_CHECK_EVERY).await;
            cluster.forget_listing().await;
        }
    }
}

fn topic_spec(partitions: u32, storage: Storage) -> TopicSpec {
    /// One copy: eddy is written for what that promises, and more is the operator's to configure.
    const REPLICATION: u32 = 1;

    let mut spec = TopicSpec::new_computed(partitions, REPLICATION, None);
    if let Some(retention) = storage.retention {
        let time_in_seconds = u32::try_from(retention.as_secs()).unwrap_or(u32::MAX);
        spec.set_cleanup_policy(CleanupPolicy::Segment(SegmentBasedPolicy { time_in_seconds }));
    }
    if storage.segment_bytes.is_some() || storage.partition_bytes_max.is_some() {
        spec.set_storage(TopicStorageConfig {
            segment_size: storage.segment_bytes,
            max_partition_size: storage.partition_bytes_max,
        });
    }
    spec
}

async fn upload(link: &Link, module: &ModulePlan) -> Result<Option<Change>, Error> {
    let wanted = sha256(&module.wasm);
    let present = match module_on(link, &module.name).await {
        Ok(present) => present.map(|uploaded| uploaded.sha256),
        // What cannot be read is replaced.
        Err(Error::ModuleUnreadable { .. }) => None,
        Err(error) => return Err(error),
    };
    if present.as_ref() == Some(&wanted) {
        return Ok(None);
    }
    let spec =
        SmartModuleSpec { wasm: SmartModuleWasm::from_compressed_gzip(gzip(&module.wasm)), ..Default::default() };
    create(link, &module.name, spec).await?;
    Ok(Some(Change::ModuleUploaded { name: module.name.clone(), sha256: wanted, replaced: present }))
}

/// All topics of the cluster but its own, by name.
///
/// # Errors
/// When the cluster does not answer.
pub async fn topics(cluster: &Cluster) -> Result<Vec<Topic>, Error> {
    topics_on(&cluster.dial_controller().await?).await
}

async fn topics_on(link: &Link) -> Result<Vec<Topic>, Error> {
    let listed = list::<TopicSpec>(link, None, false).await?;
    let mut topics: Vec<_> = listed
        .into_iter()
        .map(|topic| Topic {
            name: topic.name,
            partitions: topic.spec.partitions(),
            retention: Duration::from_secs(topic.spec.retention_secs().into()),
            segment_bytes: topic.spec.get_storage().and_then(|storage| storage.segment_size),
        })
        .collect();
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(topics)
}

/// The bytes of a module that the cluster has.
///
/// # Errors
/// [`Error::ModuleMissing`] when there is none of that name.
pub async fn module(cluster: &Cluster, name: &str) -> Result<Uploaded, Error> {
    let found = module_on(&cluster.dial_controller().await?, name).await?;
    found.ok_or_else(|| Error::ModuleMissing { name: name.to_owned() })
}

async fn module_on(link: &Link, name: &str) -> Result<Option<Uploaded>, Error> {
    let listed = list::<SmartModuleSpec>(link, Some(name), false).await?;
    let Some(module) = listed.into_iter().find(|module| module.name == name) else {
        return Ok(None);
    };
    let mut wasm = Vec::new();
    let payload: &[u8] = &module.spec.wasm.payload;
    GzDecoder::new(payload)
        .read_to_end(&mut wasm)
        .map_err(|error| Error::ModuleUnreadable { name: name.to_owned(), reason: error.to_string() })?;
    Ok(Some(Uploaded { sha256: sha256(&wasm), wasm: wasm.into() }))
}

/// Deletes a topic; its data goes a little later. A topic that does not exist is deleted already.
///
/// # Errors
/// When the cluster refuses or does not answer.
pub async fn delete_topic(cluster: &Cluster, name: &str) -> Result<(), Error> {
    let link = cluster.dial_controller().await?;
    let answer = delete::<TopicSpec>(&link, name, name.to_owned()).await;
    cluster.forget_listing().await;
    match answer {
        Err(Error::Refused { code: ErrorCode::TopicNotFound, .. }) => Ok(()),
        answer => answer,
    }
}

/// Deletes a module. One that does not exist is deleted already.
///
/// # Errors
/// When the cluster refuses or does not answer.
pub async fn delete_module(cluster: &Cluster, name: &str) -> Result<(), Error> {
    let link = cluster.dial_controller().await?;
    match delete::<SmartModuleSpec>(&link, name, name.to_owned()).await {
        Err(Error::Refused { code: ErrorCode::SmartModuleNotFound { .. }, .. }) => Ok(()),
        answer => answer,
    }
}

/// The build of a module: the sha256 of its uncompressed bytes, in hex.
#[must_use]
pub fn sha256(wasm: &[u8]) -> String {
    Sha256::digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn gzip(wasm: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(wasm).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

async fn create<S>(link: &Link, name: &str, spec: S) -> Result<(), Error>
where
    S: CreatableAdminSpec,
{
    let common = CommonCreateRequest { name: name.to_owned(), dry_run: false, timeout: None };
    let request = CreateRequest::new(common, spec);
    let status = link.ask::<ObjectApiCreateRequest, _>("a creation", request, CREATE_MAX).await?;
    accepted(status, || format!("to create `{name}`"))
}

async fn update<S>(link: &Link, name: &str, key: S::UpdateKey, action: S::UpdateAction) -> Result<(), Error>
where
    S: UpdatableAdminSpec,
{
    let request = UpdateRequest::<S>::new(key, action);
    let status = link.ask::<ObjectApiUpdateRequest, _>("an update", request, CREATE_MAX).await?;
    accepted(status, || format!("to change `{name}`"))
}

async fn delete<S>(link: &Link, name: &str, key: S::DeleteKey) -> Result<(), Error>
where
    S: DeletableAdminSpec,
{
    let request = DeleteRequest::<S>::new(key);
    let status = link.ask::<ObjectApiDeleteRequest, _>("a deletion", request, CREATE_MAX).await?;
    accepted(status, || format!("to delete `{name}`"))
}

fn accepted(status: Status, what: impl FnOnce() -> String) -> Result<(), Error> {
    if status.error_code.is_ok() { Ok(()) } else { Err(Error::Refused { what: what(), code: status.error_code }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(partitions: u32) -> Plan {
        let derived =
            |name: &str, partitions| DerivedPlan { name: name.into(), partitions, storage: Storage::default() };
        Plan {
            source: TopicPlan { name: "orders".into(), partitions, storage: Storage::default() },
            derived: vec![derived("orders-dlq", None), derived("orders-control", Some(1))],
            modules: vec![],
        }
    }

    fn created(name: &str, partitions: u32) -> Step {
        Step::Create { name: name.into(), partitions, storage: Storage::default() }
    }

    #[test]
    fn an_empty_cluster_gets_every_topic_and_the_source_last() {
        let steps = topic_steps(&plan(3), |_| None);

        assert_eq!(steps, [created("orders-dlq", 3), created("orders-control", 1), created("orders", 3)]);
    }

    #[test]
    fn derived_topics_follow_a_source_that_has_more_partitions() {
        let steps = topic_steps(&plan(1), |name| (name == "orders").then_some(4));

        assert_eq!(steps, [created("orders-dlq", 4), created("orders-control", 1)]);
    }

    #[test]
    fn derived_topics_grow_before_the_source() {
        let steps = topic_steps(&plan(5), |name| Some(if name == "orders-control" { 1 } else { 2 }));

        let grow = |name: &str| Step::Grow { name: name.into(), from: 2, to: 5 };
        assert_eq!(steps, [grow("orders-dlq"), grow("orders")]);
    }

    #[test]
    fn a_second_run_has_nothing_to_do() {
        assert_eq!(topic_steps(&plan(2), |name| Some(if name == "orders-control" { 1 } else { 2 })), []);
    }
}
