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
//! Fields may be appended without a new version: a decoder skips what it does not know, up to the header length. A
//! new version means that the layout changed. Bad magic means a faulty module and never a poison record.

use crate::bytes::Bytes;
use crate::{Code, Verdict};

/// The first four bytes of every header.
pub const MAGIC: [u8; 4] = *b"eddy";

/// The version that this build writes.
pub const VERSION: u8 = 1;

/// The longest copy of a field in a header, bytes. Longer values are cut at a UTF-8 boundary; the original bytes
/// behind the header are never cut.
pub const FIELD_BYTES_MAX: usize = 256;

/// Bytes before the first field.
const FIXED_BYTES: usize = 44;

/// Fields that this build writes.
const FIELDS: usize = 8;

/// The longest header that this build writes.
pub const HEADER_BYTES_MAX: usize = FIXED_BYTES + FIELDS * (2 + FIELD_BYTES_MAX);

/// A decoded header, borrowing from the module's output. Absent fields are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    pub verdict: Verdict,
    pub code: Code,
    /// Offset of the record in its log.
    pub offset: i64,
    /// The record's own timestamp, milliseconds since 1970; -1 when it has none.
    pub timestamp_ms: i64,
    /// Parts made of the record, 1 or more.
    pub parts: u16,
    /// This part's index, less than `parts`.
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
    #[error("verdict header says part {part} of {parts}")]
    BadParts { part: u16, parts: u16 },
    #[error("a field of the verdict header is not UTF-8")]
    NotUtf8,
}

impl<'a> Header<'a> {
    /// A header that says nothing of the record but where it is from.
    pub const fn new(verdict: Verdict, code: Code, offset: i64, timestamp_ms: i64) -> Self {
        Self {
            verdict,
            code,
            offset,
            timestamp_ms,
            parts: 1,
            part: 0,
            event_time_ns: 0,
            idempotency_key: "",
            device: "",
            fence: "",
            transition: "",
            traceparent: "",
            correlation_id: "",
            schema_version: "",
            detail: "",
        }
    }

    /// Appends this header and `original` to `out`.
    ///
    /// # Panics
    /// When `original` is longer than 4 GiB, which no record is.
    pub fn encode(&self, original: &[u8], out: &mut Vec<u8>) {
        let fields = self.fields().map(|field| &field[..field.floor_char_boundary(FIELD_BYTES_MAX)]);
        let header_length = FIXED_BYTES + fields.iter().map(|field| 2 + field.len()).sum::<usize>();
        let original_length = u32::try_from(original.len()).expect("a record is shorter than 4 GiB");

        out.reserve(header_length + original.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, self.verdict.number()]);
        out.extend_from_slice(&self.code.number().to_be_bytes());
        out.extend_from_slice(&(header_length as u32).to_be_bytes());
        out.extend_from_slice(&original_length.to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
        out.extend_from_slice(&self.timestamp_ms.to_be_bytes());
        out.extend_from_slice(&self.parts.to_be_bytes());
        out.extend_from_slice(&self.part.to_be_bytes());
        out.extend_from_slice(&self.event_time_ns.to_be_bytes());
        for field in fields {
            out.extend_from_slice(&(field.len() as u16).to_be_bytes());
            out.extend_from_slice(field.as_bytes());
        }
        out.extend_from_slice(original);
    }

    /// Splits a module's output into its header and the original bytes.
    ///
    /// # Errors
    /// When the bytes are not the output of a module that keeps the contract.
    pub fn decode(output: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut fixed = Bytes(output);
        if number(&mut fixed)? != MAGIC {
            return Err(DecodeError::BadMagic);
        }
        let [version, verdict] = number(&mut fixed)?;
        if version != VERSION {
            return Err(DecodeError::UnknownVersion(version));
        }
        let verdict = Verdict::from_number(verdict).ok_or(DecodeError::UnknownVerdict(verdict))?;
        let code = u16::from_be_bytes(number(&mut fixed)?);
        let code = Code::from_number(code).ok_or(DecodeError::UnknownCode(code))?;
        let header_length = u32::from_be_bytes(number(&mut fixed)?) as usize;
        let original_length = u32::from_be_bytes(number(&mut fixed)?) as usize;
        let (header, original) = output.split_at_checked(header_length).ok_or(DecodeError::BadLength)?;
        if original.len() != original_length {
            return Err(DecodeError::BadLength);
        }

        let mut rest = Bytes(header.get(HEAD_BYTES..).ok_or(DecodeError::BadLength)?);
        let decoded = Self {
            verdict,
            code,
            offset: i64::from_be_bytes(number(&mut rest)?),
            timestamp_ms: i64::from_be_bytes(number(&mut rest)?),
            parts: u16::from_be_bytes(number(&mut rest)?),
            part: u16::from_be_bytes(number(&mut rest)?),
            event_time_ns: i64::from_be_bytes(number(&mut rest)?),
            idempotency_key: field(&mut rest)?,
            device: field(&mut rest)?,
            fence: field(&mut rest)?,
            transition: field(&mut rest)?,
            traceparent: field(&mut rest)?,
            correlation_id: field(&mut rest)?,
            schema_version: field(&mut rest)?,
            detail: field(&mut rest)?,
        };
        if decoded.part >= decoded.parts {
            return Err(DecodeError::BadParts { part: decoded.part, parts: decoded.parts });
        }
        Ok((decoded, original))
    }

    /// The fields in the order of the layout.
    const fn fields(&self) -> [&'a str; FIELDS] {
        [
            self.idempotency_key,
            self.device,
            self.fence,
            self.transition,
            self.traceparent,
            self.correlation_id,
            self.schema_version,
            self.detail,
        ]
    }
}

/// Bytes before the offset: what [`Header::decode`] needs to split the header from the original bytes.
const HEAD_BYTES: usize = 16;

/// The next field of a header.
fn field<'a>(rest: &mut Bytes<'a>) -> Result<&'a str, DecodeError> {
    let length = rest.array().map(u16::from_be_bytes).ok_or(DecodeError::BadLength)?;
    let field = rest.take(usize::from(length)).ok_or(DecodeError::BadLength)?;
    std::str::from_utf8(field).map_err(|_| DecodeError::NotUtf8)
}

/// The next number of a header, as its bytes.
fn number<const N: usize>(rest: &mut Bytes<'_>) -> Result<[u8; N], DecodeError> {
    rest.array().ok_or(DecodeError::BadLength)
}
