//! The services that a client finds at the cluster's address: what a Fluvio SC answers.
//!
//! Clients bring their wishes about topics and SmartModules here, and learn from here where the SPU is and which
//! partitions it has. Records never pass through.
//!
//! Not served: SPU registration, mirrors, table formats as more than an empty list, authorisation.

mod connection;
mod objects;
mod smartmodules;
mod topics;
mod watch;

use std::net::SocketAddr;
use std::sync::Arc;

use fluvio_protocol::link::ErrorCode;
use fluvio_sc_schema::Status;
use tokio::net::TcpListener;

use crate::data::DataPlane;
use crate::meta::rules::Refusal;
use crate::meta::{self, Metadata};
use crate::offsets::ConsumerOffsets;
use crate::{listener, store};

/// The id of the node's only SPU, the first that a cluster registers.
const SPU_ID: i32 = 5001;

/// Everything that an administrator's request can touch.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) meta: Arc<Metadata>,
    pub(crate) data: Arc<DataPlane>,
    pub(crate) offsets: Arc<ConsumerOffsets>,
    /// Where clients are sent for records.
    pub(crate) spu: SocketAddr,
    pub(crate) answers_creations: bool,
}

/// Why a request is answered with an error.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("topic `{0}` already exists")]
    TopicExists(String),
    #[error("topic `{0}` not found")]
    TopicUnknown(String),
    #[error("system topic `{0}` cannot be deleted")]
    SystemDeletion(String),
    #[error("system topic `{0}` cannot be changed")]
    SystemUpdate(String),
    #[error("SmartModule `{0}` not found")]
    SmartModuleUnknown(String),
    #[error("this node does not mirror")]
    NoMirrors,
    #[error(transparent)]
    Metadata(#[from] meta::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("open or remove the partitions of topic `{topic}`")]
    Partitions { topic: String, source: std::io::Error },
}

impl Error {
    /// The code by which clients know the error.
    fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal_code(refusal),
            Self::TopicExists(_) => ErrorCode::TopicAlreadyExists,
            Self::TopicUnknown(_) => ErrorCode::TopicNotFound,
            Self::SystemDeletion(name) => {
                ErrorCode::SystemSpecDeletionAttempt { kind: "Topic".to_owned(), name: name.clone() }
            }
            Self::SystemUpdate(name) => {
                ErrorCode::SystemSpecUpdatingAttempt { kind: "Topic".to_owned(), name: name.clone() }
            }
            Self::SmartModuleUnknown(name) => ErrorCode::SmartModuleNotFound { name: name.clone() },
            Self::NoMirrors => ErrorCode::MirrorInvalidType,
            Self::Metadata(_) | Self::Store(_) | Self::Partitions { .. } => ErrorCode::StorageError,
        }
    }
}

fn refusal_code(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::TopicName(_) => ErrorCode::TopicInvalidName,
        Refusal::Limits { .. } | Refusal::Partitions { .. } | Refusal::Deduplication(_) => {
            ErrorCode::TopicInvalidConfiguration
        }
        Refusal::Replicas { .. } => ErrorCode::TopicNotProvisioned,
        Refusal::Placement(_) => ErrorCode::TopicInvalidReplicaType,
        Refusal::SmartModuleName(name) | Refusal::EmptySmartModule(name) => {
            ErrorCode::SmartModuleInvalid { error: refusal.to_string(), name: Some(name.clone()) }
        }
    }
}

/// What a client is told about its request.
fn status(name: String, outcome: Result<(), Error>) -> Status {
    match outcome {
        Ok(()) => Status::new_ok(name),
        Err(error) => {
            let code = error.code();
            // With all causes in one line, for there is one line to say it in.
            let message = format!("{:#}", anyhow::Error::from(error));
            tracing::debug!(%name, message, "An admin request was refused.");
            Status::new(name, code, Some(message))
        }
    }
}

/// Serves clients until the future is dropped; every connection and watch ends with it.
pub(crate) async fn serve(listener: TcpListener, cluster: Arc<Cluster>) {
    listener::serve(listener, |stream| connection::converse(stream, Arc::clone(&cluster))).await;
}
