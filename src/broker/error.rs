//! What can go wrong between eddy and a Fluvio cluster, and whether waiting helps.

use fluvio_protocol::link::ErrorCode;

/// An error of the broker client. [`Error::is_transient`] says whether the same call may succeed later.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no usable Fluvio profile: {reason}")]
    Profile { reason: String },
    #[error("no Fluvio cluster answers at {address}: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("the connection to {address} broke: {reason}")]
    Broken { address: String, reason: String },
    #[error("{address} did not answer {what} within {after_ms} ms")]
    TimedOut { what: &'static str, address: String, after_ms: u64 },
    #[error("topic `{topic}` does not exist")]
    TopicMissing { topic: String },
    #[error("topic `{topic}` has no partition {partition}")]
    PartitionMissing { topic: String, partition: u32 },
    #[error("partition {partition} of topic `{topic}` has no leader now")]
    NoLeader { topic: String, partition: u32 },
    #[error("SmartModule `{name}` does not exist")]
    ModuleMissing { name: String },
    #[error("SmartModule `{name}` is not valid gzip: {reason}")]
    ModuleUnreadable { name: String, reason: String },
    #[error("offset {asked} of {topic}/{partition} is evicted; the log starts at {next_available}")]
    Evicted { topic: String, partition: u32, asked: i64, next_available: i64 },
    #[error("offset {position} of {topic}/{partition} is beyond the log's end")]
    BeyondEnd { topic: String, partition: u32, position: i64 },
    #[error("{topic}/{partition} cannot be read at offset {offset}: {reason}")]
    Corrupt { topic: String, partition: u32, offset: i64, reason: &'static str },
    #[error(
        "the batch at offset {offset} of {topic}/{partition} has {bytes} bytes, more than the {bytes_max} that are read"
    )]
    BatchTooLarge { topic: String, partition: u32, offset: i64, bytes: usize, bytes_max: usize },
    #[error("the cluster refused {what}: {code}")]
    Refused { what: String, code: ErrorCode },
}

impl Error {
    /// Whether the same call may succeed later on a new connection.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken { .. } | Self::TimedOut { .. } | Self::NoLeader { .. } => true,
            Self::Refused { code, .. } => !is_final(code),
            Self::Profile { .. }
            | Self::TopicMissing { .. }
            | Self::PartitionMissing { .. }
            | Self::ModuleMissing { .. }
            | Self::ModuleUnreadable { .. }
            | Self::Evicted { .. }
            | Self::BeyondEnd { .. }
            | Self::Corrupt { .. }
            | Self::BatchTooLarge { .. } => false,
        }
    }

    /// Whether the call is normal to fail for a moment after a topic was created or a broker restarted.
    pub(crate) const fn is_settling(&self) -> bool {
        matches!(self, Self::TopicMissing { .. } | Self::PartitionMissing { .. } | Self::NoLeader { .. })
    }

    /// What a person can do about it, where we know.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TopicMissing { .. } | Self::PartitionMissing { .. } | Self::ModuleMissing { .. } => {
                Some("`eddy apply` creates the topics and uploads the modules")
            }
            Self::Unreachable { .. } | Self::TimedOut { .. } => {
                Some("check `--cluster HOST:PORT`; it is the address of the cluster's SC, usually port 9003")
            }
            Self::Profile { .. } => Some("name the cluster with `--cluster HOST:PORT`"),
            Self::BeyondEnd { .. } => Some("the broker lost acknowledged records; the committed position is clamped"),
            Self::Broken { .. }
            | Self::NoLeader { .. }
            | Self::ModuleUnreadable { .. }
            | Self::Evicted { .. }
            | Self::Corrupt { .. }
            | Self::BatchTooLarge { .. }
            | Self::Refused { .. } => None,
        }
    }

    /// The error behind a code that a broker answered for a partition, if it is one.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the broker's codes are many and the list is not ours")]
    pub(crate) fn check(what: &'static str, topic: &str, partition: u32, code: ErrorCode) -> Result<(), Self> {
        let topic = topic.to_owned();
        match code {
            ErrorCode::None => Ok(()),
            ErrorCode::NotLeaderForPartition | ErrorCode::PartitionNotLeader => {
                Err(Self::NoLeader { topic, partition })
            }
            ErrorCode::TopicNotFound | ErrorCode::TopicDeleted => Err(Self::TopicMissing { topic }),
            code => Err(Self::Refused { what: format!("{what} on {topic}/{partition}"), code }),
        }
    }
}

/// Codes that no waiting cures.
const fn is_final(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::PermissionDenied
            | ErrorCode::MessageTooLarge
            | ErrorCode::TopicAlreadyExists
            | ErrorCode::TopicInvalidConfiguration
            | ErrorCode::TopicInvalidName
            | ErrorCode::TopicInvalidReplicaType
            | ErrorCode::InvalidCreateRequest
            | ErrorCode::InvalidDeleteRequest
            | ErrorCode::CompressionError
    )
}
