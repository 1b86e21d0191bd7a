//! Topics and modules: applied once or many times, the result is the same.

use std::time::{Duration, Instant};

use bytes::Bytes;
use eddy::broker::{
    Cluster, Error, Target, Writer,
    admin::{self, Change, DerivedPlan, ModulePlan, Plan, Storage, TopicPlan},
};
use eddy_embedded::{Config, Node};

use crate::cluster::TestCluster;

fn plan(test: &TestCluster, partitions: u32, wasm: &'static [u8]) -> Plan {
    let retention =
        Storage { retention: Some(Duration::from_secs(3600)), segment_bytes: Some(1 << 20), ..Storage::default() };
    let derived = |name: &str, partitions| DerivedPlan { name: test.name(name), partitions, storage: retention };
    Plan {
        source: TopicPlan { name: test.name("orders"), partitions, storage: Storage::default() },
        derived: vec![derived("orders-dlq", None), derived("orders-control", Some(1))],
        modules: vec![ModulePlan { name: test.name("validate"), wasm: Bytes::from_static(wasm) }],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn applying_creates_what_is_missing_and_then_has_nothing_to_do() {
    let test = TestCluster::start().await;
    let plan = plan(&test, 2, b"first build");

    let changes = admin::apply(&test.cluster, &plan).await.unwrap();
    let again = admin::apply(&test.cluster, &plan).await.unwrap();

    let created = |name: &str, partitions| Change::TopicCreated { name: test.name(name), partitions };
    assert_eq!(changes[..3], [created("orders-dlq", 2), created("orders-control", 1), created("orders", 2)]);
    assert!(matches!(&changes[3], Change::ModuleUploaded { replaced: None, .. }));
    assert_eq!(again, []);
    let topics = admin::topics(&test.cluster).await.unwrap();
    let dlq = topics.iter().find(|topic| topic.name == test.name("orders-dlq")).unwrap();
    assert_eq!((dlq.partitions, dlq.retention, dlq.segment_bytes), (2, Duration::from_secs(3600), Some(1 << 20)));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn derived_topics_grow_with_the_source_and_new_partitions_take_records() {
    let test = TestCluster::start().await;
    admin::apply(&test.cluster, &plan(&test, 1, b"build")).await.unwrap();

    let changes = admin::apply(&test.cluster, &plan(&test, 3, b"build")).await.unwrap();

    let grown = |name: &str| Change::TopicGrown { name: test.name(name), from: 1, to: 3 };
    assert_eq!(changes, [grown("orders-dlq"), grown("orders")]);
    assert_eq!(test.cluster.partitions(&test.name("orders")).await.unwrap(), Some(3));
    let offset = Writer::new(&test.cluster).write(&test.name("orders"), 2, None, "there".into()).await.unwrap();
    assert_eq!(offset, 0);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_is_uploaded_only_when_its_bytes_differ_and_comes_back_exactly() {
    let test = TestCluster::start().await;
    admin::apply(&test.cluster, &plan(&test, 1, b"first build")).await.unwrap();

    let changes = admin::apply(&test.cluster, &plan(&test, 1, b"second build")).await.unwrap();

    let [Change::ModuleUploaded { sha256, replaced, .. }] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(replaced.as_deref(), Some(admin::sha256(b"first build").as_str()));
    let uploaded = admin::module(&test.cluster, &test.name("validate")).await.unwrap();
    assert_eq!((uploaded.wasm, &uploaded.sha256), (Bytes::from_static(b"second build"), sha256));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_does_not_exist_is_named() {
    let test = TestCluster::start().await;

    let error = admin::module(&test.cluster, "eddy-test-no-such-module").await.unwrap_err();

    assert_eq!(error.to_string(), "SmartModule `eddy-test-no-such-module` does not exist");
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_can_be_written_and_read_right_after_the_topic_was_created() {
    let test = TestCluster::start().await;

    for number in 0..10 {
        let topic = test.topic(&format!("fresh-{number}")).await;
        Writer::new(&test.cluster).write(&topic, 0, None, "first".into()).await.unwrap();
    }

    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_where_no_cluster_is_fails_at_once_and_is_named() {
    let start = Instant::now();

    let error = Cluster::connect(&Target::Address("127.0.0.1:1".into())).await.unwrap_err();

    assert!(matches!(error, Error::Unreachable { .. }));
    assert!(error.to_string().contains("127.0.0.1:1") && error.hint().is_some());
    assert!(start.elapsed() < Duration::from_secs(2));
}

/// A controller that misses the moment when the last partition comes online never answers, and answers nothing behind it.
#[tokio::test(flavor = "multi_thread")]
async fn topics_whose_creation_is_never_answered_are_used_once_their_leaders_answer() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut config = Config::new(folder.path());
    config.answers_creations = false;
    let node = Node::start(config).await.unwrap();
    let cluster = Cluster::connect(&Target::Address(node.address().to_string())).await.unwrap();
    let derived = DerivedPlan { name: "orders-dlq".into(), partitions: None, storage: Storage::default() };
    let source = TopicPlan { name: "orders".into(), partitions: 3, storage: Storage::default() };

    let changes = admin::apply(&cluster, &Plan { source, derived: vec![derived], modules: vec![] }).await.unwrap();

    let created = |name: &str| Change::TopicCreated { name: name.into(), partitions: 3 };
    assert_eq!(changes, [created("orders-dlq"), created("orders")]);
    assert_eq!(Writer::new(&cluster).write("orders", 2, None, "there".into()).await.unwrap(), 0);
    node.stop().await;
}
