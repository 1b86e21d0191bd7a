//! SmartModules as an administrator handles them, and as streams meet them.

use fluvio::FluvioAdmin;
use fluvio_sc_schema::ApiError;
use fluvio_sc_schema::errors::ErrorCode;
use fluvio_sc_schema::message::MsgType;
use fluvio_sc_schema::objects::{Metadata, WatchResponse};
use fluvio_sc_schema::smartmodule::{
    FluvioSemVersion, SmartModuleMetadata, SmartModulePackage, SmartModuleSpec, SmartModuleWasm,
};
use futures_util::{Stream, StreamExt};

use crate::cluster::{Cluster, soon};

fn build(payload: &[u8]) -> SmartModuleSpec {
    let wasm = SmartModuleWasm::from_compressed_gzip(payload.to_vec());
    SmartModuleSpec { wasm, ..SmartModuleSpec::default() }
}

async fn create(admin: &FluvioAdmin, name: &str, spec: SmartModuleSpec) {
    soon("creating a SmartModule", admin.create(name.to_owned(), false, spec)).await.unwrap();
}

async fn list(admin: &FluvioAdmin, names: &[&str]) -> Vec<Metadata<SmartModuleSpec>> {
    let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    soon("listing SmartModules", admin.list::<SmartModuleSpec, _>(names)).await.unwrap()
}

/// What a watch tells next: whether as a change, and name and size of each module.
async fn told(
    watch: &mut (impl Stream<Item = Result<WatchResponse<SmartModuleSpec>, std::io::Error>> + Unpin),
) -> Vec<(Option<MsgType>, String, u32)> {
    let update = soon("a watch", watch.next()).await.unwrap().unwrap().inner();
    let length = |module: &Metadata<SmartModuleSpec>| module.spec.summary.as_ref().unwrap().wasm_length;
    let all = update.all.iter().map(|module| (None, module.name.clone(), length(module)));
    let changed = |change: &fluvio_sc_schema::message::Message<Metadata<SmartModuleSpec>>| {
        (Some(change.header.clone()), change.content.name.clone(), length(&change.content))
    };
    all.chain(update.changes.iter().map(changed)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_created_module_is_listed_with_its_bytes() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;

    create(&admin, "judge", build(b"first build")).await;

    let listed = list(&admin, &["judge"]).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name, "judge");
    assert_eq!(listed[0].spec, build(b"first build"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_gives_the_length_and_not_the_bytes() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "judge", build(b"first build")).await;

    let listing = admin.list_with_params::<SmartModuleSpec, String>(vec![], true);
    let listed = soon("listing summaries", listing).await.unwrap();

    assert_eq!(listed[0].spec.summary.as_ref().unwrap().wasm_length, 11);
    assert!(listed[0].spec.wasm.payload.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creating_a_module_again_replaces_its_build() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "judge", build(b"first build")).await;

    create(&admin, "judge", build(b"second build")).await;

    let listed = list(&admin, &[]).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].spec, build(b"second build"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_with_package_metadata_is_found_by_its_qualified_name() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let package = SmartModulePackage {
        name: "judge".to_owned(),
        group: "eddy".to_owned(),
        version: FluvioSemVersion::parse("0.2.0").unwrap(),
        ..SmartModulePackage::default()
    };
    let meta = SmartModuleMetadata { package, ..SmartModuleMetadata::default() };

    create(&admin, "ignored", SmartModuleSpec { meta: Some(meta), ..build(b"packaged") }).await;

    assert_eq!(list(&admin, &["eddy/judge@0.2.0"]).await[0].name, "judge-eddy-0.2.0");
    assert!(list(&admin, &["eddy/judge@0.3.0"]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_tells_all_modules_and_then_each_change() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "judge", build(b"first")).await;

    // An unread watch would block its connection, so it has one of its own.
    let watcher = cluster.admin().await;
    let mut watch = soon("opening a watch", watcher.watch::<SmartModuleSpec>()).await.unwrap();

    assert_eq!(told(&mut watch).await, [(None, "judge".to_owned(), 5)]);
    create(&admin, "judge", build(b"second")).await;
    assert_eq!(told(&mut watch).await, [(Some(MsgType::UPDATE), "judge".to_owned(), 6)]);
    create(&admin, "classify", build(b"other")).await;
    assert_eq!(told(&mut watch).await, [(Some(MsgType::UPDATE), "classify".to_owned(), 5)]);
    soon("deleting", admin.delete::<SmartModuleSpec>("judge")).await.unwrap();
    assert_eq!(told(&mut watch).await, [(Some(MsgType::DELETE), "judge".to_owned(), 6)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_module_is_gone_and_cannot_be_deleted_again() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    create(&admin, "judge", build(b"first build")).await;

    soon("deleting", admin.delete::<SmartModuleSpec>("judge")).await.unwrap();

    assert!(list(&admin, &[]).await.is_empty());
    let again = soon("deleting again", admin.delete::<SmartModuleSpec>("judge")).await.unwrap_err();
    let code = again.downcast::<ApiError>().unwrap();
    assert!(matches!(code, ApiError::Code(ErrorCode::SmartModuleNotFound { name }, _) if name == "judge"));
}
