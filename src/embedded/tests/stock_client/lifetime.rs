//! Starting, stopping and starting again.

use eddy_embedded::{Config, Node};
use fluvio::metadata::topic::TopicSpec;
use fluvio_sc_schema::smartmodule::{SmartModuleSpec, SmartModuleWasm};
use tempfile::TempDir;

use crate::cluster::{Cluster, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_and_modules_survive_a_restart() {
    let cluster = Cluster::start().await;
    cluster.create_topic("triggers", 2).await;
    let wasm = SmartModuleWasm::from_compressed_gzip(b"first build".to_vec());
    let module = SmartModuleSpec { wasm, ..SmartModuleSpec::default() };
    let admin = cluster.admin().await;
    soon("creating", admin.create("judge".to_owned(), false, module.clone())).await.unwrap();

    let cluster = cluster.restart().await;

    let admin = cluster.admin().await;
    let topics = soon("listing topics", admin.all::<TopicSpec>()).await.unwrap();
    assert_eq!(topics.len(), 1);
    assert_eq!((topics[0].name.as_str(), topics[0].spec.partitions()), ("triggers", 2));
    let modules = soon("listing modules", admin.all::<SmartModuleSpec>()).await.unwrap();
    assert_eq!(modules.len(), 1);
    assert_eq!((modules[0].name.as_str(), &modules[0].spec), ("judge", &module));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_node_on_the_same_directory_is_refused_by_name() {
    let cluster = Cluster::start().await;

    let refused = Node::start(Config::new(cluster.dir())).await.unwrap_err();

    let expected = format!("data directory {} is in use by another node", cluster.dir().display());
    assert_eq!(refused.to_string(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_occupied_port_is_an_error_that_names_the_address() {
    let cluster = Cluster::start().await;
    let dir = TempDir::new().unwrap();

    let taken = Config { sc_addr: cluster.node().address(), ..Config::new(dir.path()) };
    let refused = Node::start(taken).await.unwrap_err();

    assert_eq!(refused.to_string(), format!("listen on {}", cluster.node().address()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_node_lets_go_of_its_ports() {
    let dir = TempDir::new().unwrap();
    let node = Node::start(Config::new(dir.path())).await.unwrap();
    let same = Config { sc_addr: node.address(), spu_addr: node.spu_address(), ..Config::new(dir.path()) };
    soon("stopping", node.stop()).await;

    let node = Node::start(same.clone()).await.unwrap();

    assert_eq!(node.address(), same.sc_addr);
}
