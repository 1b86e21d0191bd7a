//! What every module of eddy shares: the view of a record, its parameters, and the entry that the engine calls.
//!
//! eddy's modules are **total 1:1 maps**: one output record for each input record, with the key and the deltas of offset
//! and time copied byte for byte, and never an error, because a module's error stalls or skips a partition. A module is
//! a plain function behind [`Module`], which the host calls natively as well; the macro `export_module!` makes
//! it callable by Fluvio's engine.
//!
//! The entry is eddy's own instead of the macro's from Fluvio's guest crate, for two reasons. That one leaks its output buffer in
//! every call, so that a long stream ends in a trap; here input and output live in one buffer each, kept
//! between calls (the engine reads the output after the call returned). And that one decodes a batch into a list of
//! owned records; here one walk over the borrowed bytes is enough ([`batch`]).

pub mod batch;
#[cfg(target_arch = "wasm32")]
pub mod entry;
pub mod param;

/// A record as a module sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordView<'a> {
    pub key: Option<&'a [u8]>,
    pub value: &'a [u8],
    /// Offset in its log.
    pub offset: i64,
    /// Milliseconds since 1970; -1 when it has none.
    pub timestamp_ms: i64,
}

/// A module: parameters, and what it does to one record.
pub trait Module: Sized {
    /// Reads the parameters that a module is opened with.
    ///
    /// # Errors
    /// When a parameter is unknown or has a value that makes no sense. The stream is then not opened.
    fn with_params(params: &[(&str, &str)]) -> Result<Self, param::Error>;

    /// Appends a verdict header and the original bytes to `out`. Total: it neither fails nor panics.
    fn judge(&self, record: RecordView<'_>, out: &mut Vec<u8>);
}
