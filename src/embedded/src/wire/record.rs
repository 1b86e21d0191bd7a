//! Encoding the records that a module made, without the crate's byte-by-byte encoder.

use bytes::BufMut;
use fluvio_protocol::record::Record;

use super::batch::{CHECKED_FROM, CRC, HEADER_BYTES, PREAMBLE_BYTES};

const NO_TIMESTAMP: i64 = -1;
const MAGIC: i8 = 2;
const COUNT_BYTES: usize = 4;

/// A batch being filled with records, in memory, without a codec or timestamps.
#[derive(Debug)]
pub struct Builder {
    bytes: Vec<u8>,
    count: i32,
}

impl Default for Builder {
    fn default() -> Self {
        Self { bytes: vec![0; HEADER_BYTES + COUNT_BYTES], count: 0 }
    }
}

impl Builder {
    /// Whether it holds no record yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a record whose offset delta is corrected by `shift`.
    pub fn push(&mut self, record: &Record, shift: i64) {
        put_record(&mut self.bytes, record, shift);
        self.count += 1;
    }

    /// The batch as it goes over the wire, claiming `offsets` offsets from `base_offset` on.
    pub fn finish(mut self, base_offset: i64, offsets: i64) -> Vec<u8> {
        let len = i32::try_from(self.bytes.len() - PREAMBLE_BYTES).expect("one answer is bounded by an i32");
        let last_delta = i32::try_from(offsets - 1).expect("the offsets of one answer are bounded by an i32");
        let mut header = &mut self.bytes[..HEADER_BYTES + COUNT_BYTES];
        header.put_i64(base_offset);
        header.put_i32(len);
        header.put_i32(-1); // leader epoch
        header.put_i8(MAGIC);
        header.put_u32(0); // checksum, set below
        header.put_i16(0); // attributes: no codec
        header.put_i32(last_delta);
        header.put_i64(NO_TIMESTAMP);
        header.put_i64(NO_TIMESTAMP);
        header.put_i64(-1); // producer id, epoch and sequence: Fluvio never uses them
        header.put_i16(-1);
        header.put_i32(-1);
        header.put_i32(self.count);
        let crc = crc32c::crc32c(&self.bytes[CHECKED_FROM..]);
        self.bytes[CRC].copy_from_slice(&crc.to_be_bytes());
        self.bytes
    }
}

/// What all records take up once encoded, without their count.
pub fn encoded_len(records: &[Record]) -> usize {
    records
        .iter()
        .map(|record| {
            let body = body_len(record, record.preamble.offset_delta());
            varint_len(body as i64) + body
        })
        .sum()
}

fn put_record(out: &mut Vec<u8>, record: &Record, shift: i64) {
    let offset_delta = record.preamble.offset_delta() + shift;
    put_varint(out, body_len(record, offset_delta) as i64);
    out.put_i8(0); // attributes
    put_varint(out, record.preamble.get_timestamp_delta());
    put_varint(out, offset_delta);
    match &record.key {
        None => out.put_u8(0),
        Some(key) => {
            out.put_u8(1);
            put_sized(out, key.as_ref());
        }
    }
    put_sized(out, record.value.as_ref());
    put_varint(out, record.headers);
}

fn body_len(record: &Record, offset_delta: i64) -> usize {
    let key = record.key.as_ref().map_or(0, |key| sized_len(key.as_ref()));
    2 + varint_len(record.preamble.get_timestamp_delta())
        + varint_len(offset_delta)
        + key
        + sized_len(record.value.as_ref())
        + varint_len(record.headers)
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

fn sized_len(bytes: &[u8]) -> usize {
    varint_len(bytes.len() as i64) + bytes.len()
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn put_varint(out: &mut Vec<u8>, number: i64) {
    let mut rest = zigzag(number);
    while rest >= 0x80 {
        out.push((rest as u8 & 0x7f) | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn varint_len(number: i64) -> usize {
    let bits = 64 - zigzag(number).leading_zeros() as usize;
    bits.div_ceil(7).max(1)
}
