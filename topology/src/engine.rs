//! The engine of one (topic, partition).

use std::sync::Arc;

use bytes::Bytes;

/// One record as the host read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Through a module: `output` is the verdict header and the original bytes; `build` the sha256 of the module.
    Judged { offset: i64, key: Option<Bytes>, output: Bytes, build: Arc<str> },
    /// Without a module: an envelope from a tier.
    Raw { offset: i64, timestamp_ms: i64, key: Option<Bytes>, value: Bytes },
    /// The log has no record at this offset, confirmed; the position may pass.
    Hole { offset: i64 },
}
