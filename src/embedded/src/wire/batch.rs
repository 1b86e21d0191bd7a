//! One stored batch, read where it lies.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | base offset; not covered by the checksum, so the log may set it |
//! | 8..12 | length of everything behind it |
//! | 17..21 | crc32c over 21.. |
//! | 21..23 | attributes: codec in the low three bits, 0x10 when a schema id of four bytes follows the header |
//! | 23..27 | offset of the last record relative to the base |
//! | 27..35, 35..43 | first and largest timestamp |
//! | 57.. | records: a count and the records, compressed together when there is a codec |

use bytes::{BufMut, Bytes};

/// Offset and length: what must be read to know where a batch ends.
pub const PREAMBLE_BYTES: usize = 12;
/// Where the header ends.
pub(super) const HEADER_BYTES: usize = 57;
const SCHEMA_ID_BYTES: usize = 4;
pub(super) const CRC: std::ops::Range<usize> = 17..21;
pub(super) const CHECKED_FROM: usize = 21;
const CODEC_MASK: i16 = 0x07;
const SCHEMA_PRESENT: i16 = 0x10;

/// Why bytes are no batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer bytes than the batch says it has: a torn write, or the end of a slice cut in mid-batch.
    #[error("batch is cut short")]
    Short,
    /// A length or count that cannot be.
    #[error("batch header is not sound")]
    Header,
    /// The bytes are not those that were written.
    #[error("batch checksum does not match")]
    Checksum,
}

/// The whole length of the batch that starts with these bytes.
pub fn whole_len(preamble: &[u8; PREAMBLE_BYTES]) -> Result<usize, Malformed> {
    let [.., a, b, c, d] = *preamble;
    let len = usize::try_from(i32::from_be_bytes([a, b, c, d])).map_err(|_| Malformed::Header)?;
    let whole = PREAMBLE_BYTES + len;
    if whole < HEADER_BYTES { Err(Malformed::Header) } else { Ok(whole) }
}

/// A batch with a sound header; its records may still be anything.
#[derive(Debug, Clone)]
pub struct Batch(Bytes);

impl Batch {
    /// Takes the first batch off the front of the bytes.
    pub fn split_from(bytes: &mut Bytes) -> Result<Self, Malformed> {
        let preamble = bytes.first_chunk().ok_or(Malformed::Short)?;
        let whole = whole_len(preamble)?;
        if bytes.len() < whole {
            return Err(Malformed::Short);
        }
        let batch = Self(bytes.split_to(whole));
        let head = HEADER_BYTES + if batch.attributes() & SCHEMA_PRESENT == 0 { 0 } else { SCHEMA_ID_BYTES };
        if batch.last_offset_delta() < 0 || whole < head { Err(Malformed::Header) } else { Ok(batch) }
    }

    /// All batches in the bytes.
    pub fn split_all(mut bytes: Bytes) -> Result<Vec<Self>, Malformed> {
        let mut batches = Vec::new();
        while !bytes.is_empty() {
            batches.push(Self::split_from(&mut bytes)?);
        }
        Ok(batches)
    }

    /// Whether the stored checksum is that of the stored bytes.
    pub fn check(&self) -> Result<(), Malformed> {
        let stored = u32::from_be_bytes(self.array(CRC.start));
        if stored == self.checksum() { Ok(()) } else { Err(Malformed::Checksum) }
    }

    /// Writes the batch at a new place in the log, with the checksum of what is written.
    ///
    /// A client's own checksum is not trusted, as a real SPU does not: recovery would take a wrong one for damage.
    pub fn write_at(&self, base_offset: i64, out: &mut Vec<u8>) {
        out.put_i64(base_offset);
        out.put_slice(&self.0[8..CRC.start]);
        out.put_u32(self.checksum());
        out.put_slice(&self.0[CHECKED_FROM..]);
    }

    /// Bytes of the whole batch.
    pub fn bytes_len(&self) -> usize {
        self.0.len()
    }

    /// The offset of its first record.
    pub fn base_offset(&self) -> i64 {
        i64::from_be_bytes(self.array(0))
    }

    /// The offset after its last record.
    pub fn end_offset(&self) -> i64 {
        self.base_offset() + self.offsets()
    }

    /// How many offsets it takes up.
    pub fn offsets(&self) -> i64 {
        i64::from(self.last_offset_delta()) + 1
    }

    /// The base of its records' timestamps.
    pub fn first_timestamp_ms(&self) -> i64 {
        i64::from_be_bytes(self.array(27))
    }

    /// How its records are compressed; the engine knows the numbers.
    pub fn codec(&self) -> i8 {
        (self.attributes() & CODEC_MASK) as i8
    }

    /// The stored records: a count and the records, compressed when there is a codec.
    pub fn records(&self) -> &[u8] {
        let schema = if self.attributes() & SCHEMA_PRESENT == 0 { 0 } else { SCHEMA_ID_BYTES };
        &self.0[HEADER_BYTES + schema..]
    }

    fn last_offset_delta(&self) -> i32 {
        i32::from_be_bytes(self.array(23))
    }

    fn attributes(&self) -> i16 {
        i16::from_be_bytes(self.array(21))
    }

    fn checksum(&self) -> u32 {
        crc32c::crc32c(&self.0[CHECKED_FROM..])
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.0[at..].first_chunk().expect("every field read lies within the header, whose length was checked")
    }
}
