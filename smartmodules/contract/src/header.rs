//! The verdict header: what a module writes in front of the untouched original bytes of a record.
//!
//! Layout, all integers big endian:
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | magic `eddy` |
//! | 4 | version, now 1 |
//! | 5 | verdict |
//! | 6..8 | code |
//! | 8..12 | header length, from the magic to the original bytes |
//! | 12..16 | length of the original bytes |
//! | 16..24 | true offset of the record in its log |
//! | 24..32 | the record's timestamp, milliseconds since 1970, -1 when it has none |
//! | 32..34 | parts made of the record, now 1 |
//! | 34..36 | this part's index, now 0 |
//! | 36..44 | event time, nanoseconds since 1970, 0 when unknown |
//! | 44.. | fields, each a 16-bit length and its bytes: idempotency key, device, fence, transition, traceparent, correlation id, schema version, detail |
//!
//! A later version may append fields; a decoder skips what it does not know up to the header length. Bad magic means
//! a faulty module and never a poison record.

use crate::{Code, Verdict};

/// The first four bytes of every header.
pub const MAGIC: [u8; 4] = *b"eddy";

/// The version that this build writes.
pub const VERSION: u8 = 1;

/// The longest copy of a field in a header, bytes. Longer values are cut at a UTF-8 boundary; the original bytes
/// behind the header are never cut.
pub const FIELD_BYTES_MAX: usize = 1024;

/// A decoded header, borrowing from the module's output. Absent fields are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    pub verdict: Verdict,
    pub code: Code,
    /// Offset of the record in its log.
    pub offset: i64,
    /// The record's own timestamp, milliseconds since 1970; -1 when it has none.
    pub timestamp_ms: i64,
    pub parts: u16,
    pub part: u16,
    /// Event time of the trigger, nanoseconds since 1970; 0 when unknown.
    pub event_time_ns: i64,
    /// The idempotency key that the trigger carries itself; empty when the host has to derive it.
    pub idempotency_key: &'a str,
    pub device: &'a str,
    pub fence: &'a str,
    pub transition: &'a str,
    pub traceparent: &'a str,
    pub correlation_id: &'a str,
    pub schema_version: &'a str,
    /// What exactly is wrong, for a person; empty when the verdict is `valid`.
    pub detail: &'a str,
}

/// Why bytes are not a module's output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("output does not start with a verdict header")]
    BadMagic,
    #[error("verdict header has version {0}, which this build does not know")]
    UnknownVersion(u8),
    #[error("verdict header is cut short or its lengths disagree")]
    BadLength,
    #[error("verdict {0} is not in the list")]
    UnknownVerdict(u8),
    #[error("code {0} is not in the list")]
    UnknownCode(u16),
    #[error("a field of the verdict header is not UTF-8")]
    NotUtf8,
}

impl<'a> Header<'a> {
    /// Appends this header and `original` to `out`.
    pub fn encode(&self, original: &[u8], out: &mut Vec<u8>) {
        let _ = (original, out);
        unimplemented!()
    }

    /// Splits a module's output into its header and the original bytes.
    ///
    /// # Errors
    /// When the bytes are not the output of a module that keeps the contract.
    pub fn decode(output: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let _ = output;
        unimplemented!()
    }
}
