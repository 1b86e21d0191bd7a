//! One client's connection to the SC: requests in their order, watches beside them.
//!
//! A watch can speak at any time between two answers. A client that does not read its watches blocks its own answers, as
//! with a real SC, but nobody else's.

use std::io;
use std::sync::Arc;

use fluvio_protocol::Encoder;
use fluvio_protocol::api::{Request as Api, RequestHeader};
use fluvio_protocol::link::versions::{ApiVersionKey, ApiVersionsRequest, ApiVersionsResponse, PlatformVersion};
use fluvio_sc_schema::objects::{
    CreateRequest, DeleteRequest, ObjectApiCreateRequest, ObjectApiDeleteRequest, ObjectApiListRequest,
    ObjectApiUpdateRequest, ObjectApiWatchRequest, UpdateRequest,
};
use fluvio_sc_schema::smartmodule::SmartModuleSpec;
use fluvio_sc_schema::topic::TopicSpec;
use fluvio_sc_schema::{Status, TryEncodableFrom};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Cluster, objects, smartmodules, status, topics, watch};
use crate::wire::{self, Request, Sink};

/// The platform version that clients are told; they refuse anything below 0.9.
const PLATFORM: semver::Version = semver::Version::new(0, 18, 1);

/// Watches that one connection may open; a client needs six, an administrator one or two more.
const WATCHES_MAX: usize = 64;

/// Where answers to one request go.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    sink: Arc<Sink>,
    header: RequestHeader,
}

impl Answers {
    /// The version of the protocol that the request came in, and its answers go out in.
    pub(super) fn version(&self) -> i16 {
        self.header.api_version()
    }

    /// Sends an answer; fails when the connection is gone.
    pub(super) async fn send(&self, body: &impl Encoder) -> io::Result<()> {
        self.sink.send(&self.header, body).await
    }
}

/// Serves a client until it leaves or breaks the protocol.
pub(super) async fn converse(stream: TcpStream, cluster: Arc<Cluster>) -> io::Result<()> {
    let (mut reader, sink) = wire::split(stream)?;
    let sink = Arc::new(sink);
    // Dropped with this function, and all watches with it.
    let mut watches = JoinSet::new();
    while let Some(request) = reader.next().await? {
        let answers = Answers { sink: Arc::clone(&sink), header: request.header.clone() };
        if request.header.api_key() != ObjectApiWatchRequest::API_KEY {
            answer(&request, &cluster, &answers).await?;
        } else if watches.len() < WATCHES_MAX {
            watch::spawn(&mut watches, &request.decode()?, &cluster, &answers)?;
        } else {
            return Err(io::Error::other(format!("more than {WATCHES_MAX} watches on one connection")));
        }
    }
    Ok(())
}

async fn answer(request: &Request, cluster: &Cluster, answers: &Answers) -> io::Result<()> {
    match request.header.api_key() {
        ApiVersionsRequest::API_KEY => {
            request.decode::<ApiVersionsRequest>()?;
            answers.send(&versions()).await
        }
        ObjectApiListRequest::API_KEY => {
            answers.send(&objects::list(&request.decode()?, cluster, answers.version())?).await
        }
        ObjectApiCreateRequest::API_KEY => answers.send(&create(&request.decode()?, cluster).await?).await,
        ObjectApiDeleteRequest::API_KEY => answers.send(&delete(&request.decode()?, cluster).await?).await,
        ObjectApiUpdateRequest::API_KEY => answers.send(&update(&request.decode()?, cluster).await?).await,
        key => Err(unserved(&format!("request with key {key}"))),
    }
}

async fn create(request: &ObjectApiCreateRequest, cluster: &Cluster) -> io::Result<Status> {
    let topic: Option<CreateRequest<TopicSpec>> = downcast(request)?;
    if let Some((common, spec)) = topic.map(CreateRequest::parts) {
        let outcome = topics::create(cluster, &common.name, spec, common.dry_run).await;
        if outcome.is_ok() && !cluster.answers_creations {
            std::future::pending::<()>().await;
        }
        return Ok(status(common.name, outcome));
    }
    let module: Option<CreateRequest<SmartModuleSpec>> = downcast(request)?;
    if let Some((common, spec)) = module.map(CreateRequest::parts) {
        let outcome = smartmodules::create(cluster, &common.name, spec, common.dry_run).await;
        return Ok(status(common.name, outcome));
    }
    Err(unserved("creation of this kind of object"))
}

async fn delete(request: &ObjectApiDeleteRequest, cluster: &Cluster) -> io::Result<Status> {
    let topic: Option<DeleteRequest<TopicSpec>> = downcast(request)?;
    if let Some(request) = topic {
        let force = request.is_force();
        let name = request.key();
        let outcome = topics::delete(cluster, &name, force).await;
        return Ok(status(name, outcome));
    }
    let module: Option<DeleteRequest<SmartModuleSpec>> = downcast(request)?;
    if let Some(name) = module.map(DeleteRequest::key) {
        let outcome = smartmodules::delete(cluster, &name).await;
        return Ok(status(name, outcome));
    }
    Err(unserved("deletion of this kind of object"))
}

async fn update(request: &ObjectApiUpdateRequest, cluster: &Cluster) -> io::Result<Status> {
    let topic: Option<UpdateRequest<TopicSpec>> = downcast(request)?;
    let request = topic.ok_or_else(|| unserved("update of this kind of object"))?;
    let action = request.action.clone();
    let name = request.key();
    let outcome = topics::update(cluster, &name, action).await;
    Ok(status(name, outcome))
}

/// A request says what kind of object it is about by a label; this is `None` for other kinds than `T`'s.
pub(super) fn downcast<T, R: TryEncodableFrom<T>>(request: &R) -> io::Result<Option<T>> {
    request.downcast().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// A real SC closes the connection on what it does not know; so does this one.
pub(super) fn unserved(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{what} is not served"))
}

fn versions() -> ApiVersionsResponse {
    ApiVersionsResponse {
        api_keys: vec![
            served::<ApiVersionsRequest>(),
            served::<ObjectApiCreateRequest>(),
            served::<ObjectApiDeleteRequest>(),
            served::<ObjectApiListRequest>(),
            served::<ObjectApiWatchRequest>(),
            served::<ObjectApiUpdateRequest>(),
        ],
        platform_version: PlatformVersion::from(PLATFORM),
        ..ApiVersionsResponse::default()
    }
}

fn served<R: Api>() -> ApiVersionKey {
    ApiVersionKey {
        api_key: i16::try_from(R::API_KEY).expect("api keys are small"),
        min_version: R::MIN_API_VERSION,
        max_version: R::MAX_API_VERSION,
    }
}
