//! The only code that speaks to a Fluvio cluster.
//!
//! Four small pieces with one idea each:
//!
//! | piece | idea |
//! |---|---|
//! | [`pull`] | ask for offsets, get exactly these records, or know why not |
//! | [`judged`] | the same through a SmartModule, whatever the module or the broker does |
//! | [`writer`] | one request in flight per partition; nothing counts until it is acknowledged |
//! | [`positions`] | positions live in the cluster's own consumer offsets |
//!
//! [`connection`] finds the way to them and [`admin`] creates topics and uploads modules. The habits of Fluvio that
//! shaped the pieces are named where they bite. Nothing here decides what happens to a record.

pub mod admin;
mod backoff;
mod batch;
pub mod connection;
mod error;
pub mod judged;
mod link;
pub mod positions;
pub mod pull;
pub mod reader;
pub mod writer;

use bytes::Bytes;
use eddy_topology::engine::Input;

pub use connection::{Cluster, Offsets, Target};
pub use error::Error;
pub use reader::{Read, Reader};
pub use writer::{Entry, WriteError, Writer};

/// A record as the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub offset: i64,
    /// Milliseconds since 1970; -1 when the producer gave none.
    pub timestamp_ms: i64,
    /// No key and an empty key are two things.
    pub key: Option<Bytes>,
    pub value: Bytes,
}

impl From<Record> for Input {
    fn from(record: Record) -> Self {
        let Record { offset, timestamp_ms, key, value } = record;
        Self::Raw { offset, timestamp_ms, key, value }
    }
}
