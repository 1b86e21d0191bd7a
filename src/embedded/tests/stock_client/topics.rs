//! Topics as an administrator handles them.

use fluvio::FluvioAdmin;
use fluvio::metadata::partition::PartitionSpec;
use fluvio::metadata::topic::{
    AddPartition, CleanupPolicy, SegmentBasedPolicy, TopicSpec, TopicStorageConfig, UpdateTopicAction,
};
use fluvio_sc_schema::ApiError;
use fluvio_sc_schema::errors::ErrorCode;
use fluvio_sc_schema::objects::ListRequest;

use crate::cluster::{Cluster, soon};

async fn create(admin: &FluvioAdmin, name: &str, spec: TopicSpec) -> Result<(), ErrorCode> {
    soon("creating a topic", admin.create(name.to_owned(), false, spec)).await.map_err(code)
}

async fn delete(admin: &FluvioAdmin, name: &str) -> Result<(), ErrorCode> {
    soon("deleting a topic", admin.delete::<TopicSpec>(name)).await.map_err(code)
}

fn code(error: anyhow::Error) -> ErrorCode {
    match error.downcast::<ApiError>() {
        Ok(ApiError::Code(code, _)) => code,
        other => panic!("not an answer of the SC: {other:?}"),
    }
}

async fn topics(admin: &FluvioAdmin) -> Vec<String> {
    let all = soon("listing topics", admin.all::<TopicSpec>()).await.unwrap();
    all.into_iter().map(|topic| topic.name).collect()
}

async fn partitions(admin: &FluvioAdmin) -> Vec<(String, bool)> {
    let all = soon("listing partitions", admin.all::<PartitionSpec>()).await.unwrap();
    all.into_iter().map(|partition| (partition.name, partition.status.is_online())).collect()
}

fn one_partition() -> TopicSpec {
    TopicSpec::new_computed(1, 1, None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_created_topic_is_listed_with_its_partitions_online() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;

    create(&admin, "triggers", TopicSpec::new_computed(2, 1, None)).await.unwrap();

    assert_eq!(topics(&admin).await, ["triggers"]);
    assert_eq!(partitions(&admin).await, [("triggers-0".to_owned(), true), ("triggers-1".to_owned(), true)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_is_described_as_it_was_created() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let mut spec = TopicSpec::new_computed(3, 1, None);
    spec.set_cleanup_policy(CleanupPolicy::Segment(SegmentBasedPolicy { time_in_seconds: 3600 }));
    spec.set_storage(TopicStorageConfig { segment_size: Some(65_536), max_partition_size: Some(1 << 20) });

    create(&admin, "triggers", spec.clone()).await.unwrap();

    let described = soon("describing", admin.list::<TopicSpec, _>(vec!["triggers".to_owned()])).await.unwrap();
    assert_eq!(described.len(), 1);
    assert_eq!(described[0].spec, spec);
    assert!(described[0].status.is_resolution_provisioned());
    assert_eq!(described[0].status.replica_map_cnt(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_exists_is_not_created_again() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "triggers", one_partition()).await.unwrap();

    assert_eq!(create(&admin, "triggers", one_partition()).await, Err(ErrorCode::TopicAlreadyExists));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_creates_nothing() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;

    soon("a dry run", admin.create("triggers".to_owned(), true, one_partition())).await.unwrap();

    assert!(topics(&admin).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_breaks_a_rule_is_refused_with_the_codes_of_a_real_cluster() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let mut short_lived = one_partition();
    short_lived.set_cleanup_policy(CleanupPolicy::Segment(SegmentBasedPolicy { time_in_seconds: 1 }));

    assert_eq!(create(&admin, "Triggers_1", one_partition()).await, Err(ErrorCode::TopicInvalidName));
    assert_eq!(create(&admin, "triggers", short_lived).await, Err(ErrorCode::TopicInvalidConfiguration));
    let two_replicas = TopicSpec::new_computed(1, 2, None);
    assert_eq!(create(&admin, "triggers", two_replicas).await, Err(ErrorCode::TopicNotProvisioned));
    assert!(topics(&admin).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_topic_is_gone_and_cannot_be_deleted_again() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "triggers", one_partition()).await.unwrap();

    delete(&admin, "triggers").await.unwrap();

    assert!(topics(&admin).await.is_empty());
    assert!(partitions(&admin).await.is_empty());
    assert_eq!(delete(&admin, "triggers").await, Err(ErrorCode::TopicNotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn added_partitions_come_on_top_of_the_old_ones() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "triggers", one_partition()).await.unwrap();

    let action = UpdateTopicAction::AddPartition(AddPartition { count: 2 });
    soon("growing", admin.update::<TopicSpec>("triggers", action)).await.unwrap();

    let names: Vec<_> = partitions(&admin).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["triggers-0", "triggers-1", "triggers-2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_system_topic_of_consumer_offsets_exists_is_hidden_and_stays() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;

    let request = ListRequest::<TopicSpec>::new(vec![], false).system(true);
    let system = soon("listing", admin.list_with_config::<TopicSpec, String>(request)).await.unwrap();

    assert_eq!(system.into_iter().map(|topic| topic.name).collect::<Vec<_>>(), ["consumer-offset"]);
    assert!(topics(&admin).await.is_empty());
    assert!(matches!(delete(&admin, "consumer-offset").await, Err(ErrorCode::SystemSpecDeletionAttempt { .. })));
}
