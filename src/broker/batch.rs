//! Fluvio's batches as bytes: cut out of a fetched slice, read without copying, and written.
//!
//! The layout (big endian): base offset 8, length of what follows 4, leader epoch 4, magic 1, crc32c of what follows
//! 4, attributes 2 (the low three bits name the codec, `0x10` a schema id behind the header), last offset delta 4,
//! first and largest timestamp 8 each, producer id 8, producer epoch 2, first sequence 4; then, compressed together
//! when there is a codec, the number of records and the records. The protocol crate's own types copy every byte of
//! every value one by one, and keep the last batch of a slice even when it is cut; hence this module.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use fluvio::Compression;
use fluvio_protocol::{Decoder, Encoder, Version};

use super::Record;

/// Base offset and length.
const PREAMBLE_BYTES: usize = 12;

/// Everything before the records.
const HEADER_BYTES: usize = 57;

const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const CODEC_MASK: i16 = 0x07;
const SCHEMA_PRESENT: i16 = 0x10;
const SCHEMA_BYTES: usize = 4;

/// The records field of a request or an answer, left as bytes.
#[derive(Default, Clone)]
pub(crate) struct Slice(pub(crate) Bytes);

impl std::fmt::Debug for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slice({} bytes)", self.0.len())
    }
}

impl Encoder for Slice {
    fn write_size(&self, _: Version) -> usize {
        size_of::<i32>() + self.0.len()
    }

    fn encode<T: BufMut>(&self, dest: &mut T, _: Version) -> io::Result<()> {
        let length = i32::try_from(self.0.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        dest.put_i32(length);
        dest.put_slice(&self.0);
        Ok(())
    }
}

impl Decoder for Slice {
    fn decode<T: Buf>(&mut self, src: &mut T, _: Version) -> io::Result<()> {
        let length = src.try_get_i32().map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let length = usize::try_from(length).unwrap_or(0);
        if src.remaining() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.0 = src.copy_to_bytes(length);
        Ok(())
    }
}

/// A slice of a log, cut into its whole batches.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) batches: Vec<Batch>,
    /// The size of the batch that the slice ends in the middle of; 0 when even that is cut off.
    pub(crate) cut_batch_bytes: Option<usize>,
}

/// One whole batch.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) base_offset: i64,
    last_offset_delta: i32,
    first_timestamp_ms: i64,
    attributes: i16,
    records: Bytes,
}

/// Why a batch cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Corrupt(pub(crate) &'static str);

/// Cuts a slice into its whole batches. Never fails: what is not whole is left out and reported as cut.
pub(crate) fn cut(mut slice: Bytes) -> Cut {
    let mut batches = Vec::new();
    while !slice.is_empty() {
        let Some(bytes) = batch_bytes(&slice) else {
            return Cut { batches, cut_batch_bytes: Some(0) };
        };
        if bytes > slice.len() {
            return Cut { batches, cut_batch_bytes: Some(bytes) };
        }
        batches.push(Batch::read(slice.split_to(bytes)));
    }
    Cut { batches, cut_batch_bytes: None }
}

/// The size of the batch that a slice begins with, when the slice is long enough to say.
fn batch_bytes(slice: &[u8]) -> Option<usize> {
    let length = slice.get(8..PREAMBLE_BYTES)?;
    let length = i32::from_be_bytes(length.try_into().ok()?);
    let bytes = PREAMBLE_BYTES + usize::try_from(length).ok()?;
    Some(bytes.max(HEADER_BYTES))
}

impl Batch {
    /// `bytes` is a whole batch, so at least a header long.
    fn read(mut bytes: Bytes) -> Self {
        let base_offset = bytes.get_i64();
        bytes.advance(ATTRIBUTES_AT - 8);
        let attributes = bytes.get_i16();
        let last_offset_delta = bytes.get_i32();
        let first_timestamp_ms = bytes.get_i64();
        bytes.advance(HEADER_BYTES - ATTRIBUTES_AT - 14);
        if attributes & SCHEMA_PRESENT != 0 {
            bytes.advance(SCHEMA_BYTES.min(bytes.len()));
        }
        Self { base_offset, last_offset_delta, first_timestamp_ms, attributes, records: bytes }
    }

    /// The offset behind the last that this batch covers, also when it has fewer records.
    pub(crate) fn next_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta) + 1
    }

    /// How many bytes the batch has in the log.
    pub(crate) fn bytes(&self) -> usize {
        HEADER_BYTES + self.records.len()
    }

    /// How many offsets the batch covers.
    pub(crate) fn offsets(&self) -> usize {
        usize::try_from(self.last_offset_delta + 1).unwrap_or(0)
    }

    /// Its records, uncompressed.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Corrupt> {
        let codec = i8::try_from(self.attributes & CODEC_MASK).unwrap_or_default();
        let codec = Compression::try_from(codec).map_err(|_| Corrupt("its codec is unknown"))?;
        let mut bytes = match codec.uncompress(&self.records) {
            Ok(None) => self.records.clone(),
            Ok(Some(bytes)) => Bytes::from(bytes),
            Err(_) => return Err(Corrupt("it does not uncompress")),
        };
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let count = bytes.try_get_i32().map_err(|_| CUT_SHORT)?;
        let mut records = Vec::with_capacity(usize::try_from(count).unwrap_or(0).min(bytes.len()));
        for _ in 0..count {
            records.push(self.record(&mut bytes)?);
        }
        Ok(records)
    }

    fn record(&self, bytes: &mut Bytes) -> Result<Record, Corrupt> {
        let mut record = take(bytes)?;
        record.try_get_i8().map_err(|_| CUT_SHORT)?;
        let timestamp_delta_ms = varint(&mut record)?;
        let offset_delta = varint(&mut record)?;
        let key = match record.try_get_u8().map_err(|_| CUT_SHORT)? {
            0 => None,
            _ => Some(take(&mut record)?),
        };
        let value = take(&mut record)?;
        let timestamp_ms = if self.first_timestamp_ms > 0 { self.first_timestamp_ms + timestamp_delta_ms } else { -1 };
        Ok(Record { offset: self.base_offset + offset_delta, timestamp_ms, key, value })
    }
}

const CUT_SHORT: Corrupt = Corrupt("it ends in the middle of a record");

/// Bytes with their length in front.
fn take(bytes: &mut Bytes) -> Result<Bytes, Corrupt> {
    let length = usize::try_from(varint(bytes)?).map_err(|_| Corrupt("a length in it is negative"))?;
    if length > bytes.len() {
        return Err(CUT_SHORT);
    }
    Ok(bytes.split_to(length))
}

/// A zigzag number of seven bits a byte, low bits first.
fn varint(bytes: &mut Bytes) -> Result<i64, Corrupt> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = bytes.try_get_u8().map_err(|_| CUT_SHORT)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
        }
    }
    Err(Corrupt("a number in it does not end"))
}

fn put_varint(out: &mut BytesMut, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

fn varint_bytes(number: usize) -> usize {
    (usize::BITS - (number << 1 | 1).leading_zeros()).div_ceil(7) as usize
}

/// An uncompressed batch under construction; the broker gives it its offsets.
#[derive(Debug)]
pub(crate) struct BatchWriter {
    out: BytesMut,
    count: i32,
}

impl BatchWriter {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut out = BytesMut::with_capacity(HEADER_BYTES + size_of::<i32>() + bytes);
        out.put_bytes(0, HEADER_BYTES + size_of::<i32>());
        Self { out, count: 0 }
    }

    pub(crate) fn push(&mut self, key: Option<&[u8]>, value: &[u8]) {
        let delta = usize::try_from(self.count).unwrap_or(0);
        let field = |bytes: &[u8]| varint_bytes(bytes.len()) + bytes.len();
        // Attributes, timestamp delta, key flag and headers take a byte each.
        let length = 4 + varint_bytes(delta) + key.map_or(0, field) + field(value);
        put_length(&mut self.out, length);
        self.out.put_u8(0);
        self.out.put_u8(0);
        put_length(&mut self.out, delta);
        self.out.put_u8(u8::from(key.is_some()));
        for field in key.into_iter().chain([value]) {
            put_length(&mut self.out, field.len());
            self.out.put_slice(field);
        }
        self.out.put_u8(0);
        self.count += 1;
    }

    /// The finished batch, all records with one timestamp.
    pub(crate) fn finish(mut self, timestamp_ms: i64) -> Bytes {
        /// What a producer without a transaction writes as its id, epoch and sequence.
        const NONE: i64 = -1;
        const MAGIC: u8 = 2;

        let length = i32::try_from(self.out.len() - PREAMBLE_BYTES).unwrap_or(i32::MAX);
        let mut header = &mut self.out[..HEADER_BYTES + size_of::<i32>()];
        header.put_i64(0);
        header.put_i32(length);
        header.put_i32(-1);
        header.put_u8(MAGIC);
        header.put_u32(0);
        header.put_i16(0);
        header.put_i32(self.count - 1);
        header.put_i64(timestamp_ms);
        header.put_i64(timestamp_ms);
        header.put_i64(NONE);
        header.put_i16(-1);
        header.put_i32(-1);
        header.put_i32(self.count);
        let crc = crc32c::crc32c(&self.out[ATTRIBUTES_AT..]);
        self.out[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
        self.out.freeze()
    }
}

fn put_length(out: &mut BytesMut, length: usize) {
    put_varint(out, i64::try_from(length).unwrap_or(i64::MAX));
}

#[cfg(test)]
mod tests {
    use fluvio_protocol::record::{self, MemoryRecords, RawRecords, RecordData, RecordKey, RecordSet};
    use proptest::prelude::*;

    use super::*;

    type Pair = (Option<Vec<u8>>, Vec<u8>);

    fn pairs() -> impl Strategy<Value = Vec<Pair>> {
        let bytes = |max| proptest::collection::vec(any::<u8>(), 0..max);
        proptest::collection::vec((proptest::option::of(bytes(300)), bytes(9000)), 1..20)
    }

    fn written(pairs: &[Pair], timestamp_ms: i64) -> Bytes {
        let mut batch = BatchWriter::with_capacity(0);
        for (key, value) in pairs {
            batch.push(key.as_deref(), value);
        }
        batch.finish(timestamp_ms)
    }

    /// The same records as Fluvio's own types write them.
    fn fluvios(pairs: &[Pair], codec: Compression, base_offset: i64, timestamp_ms: i64) -> Bytes {
        let records: MemoryRecords = pairs
            .iter()
            .map(|(key, value)| match key {
                Some(key) => record::Record::new_key_value(RecordKey::from(key.clone()), value.clone()),
                None => record::Record::new(value.clone()),
            })
            .collect();
        let mut batch = record::Batch::from(records);
        batch.base_offset = base_offset;
        batch.header.first_timestamp = timestamp_ms;
        batch.header.max_time_stamp = timestamp_ms;
        batch.header.set_compression(codec);
        let batch: record::Batch<RawRecords> = batch.try_into().unwrap();
        let mut out = Vec::new();
        batch.encode(&mut out, 0).unwrap();
        out.into()
    }

    fn read(slice: Bytes) -> Vec<Record> {
        cut(slice).batches.iter().flat_map(|batch| batch.records().unwrap()).collect()
    }

    fn expected(pairs: &[Pair], base_offset: i64, timestamp_ms: i64) -> Vec<Record> {
        let record = |(delta, (key, value)): (usize, &Pair)| Record {
            offset: base_offset + i64::try_from(delta).unwrap(),
            timestamp_ms,
            key: key.clone().map(Bytes::from),
            value: value.clone().into(),
        };
        pairs.iter().enumerate().map(record).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_written_batch_is_byte_for_byte_what_fluvios_own_types_write(pairs in pairs()) {
            prop_assert_eq!(written(&pairs, 1_700_000_000_000), fluvios(&pairs, Compression::None, 0, 1_700_000_000_000));
        }

        #[test]
        fn records_are_read_exactly_from_batches_of_every_codec(pairs in pairs()) {
            for codec in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
                prop_assert_eq!(read(fluvios(&pairs, codec, 77, 5)), expected(&pairs, 77, 5));
            }
        }

        #[test]
        fn a_slice_cut_anywhere_gives_only_whole_batches(pairs in pairs(), at in 0.0..1.0_f64) {
            let whole = fluvios(&pairs, Compression::None, 0, 5);
            let next = fluvios(&pairs, Compression::None, i64::try_from(pairs.len()).unwrap(), 5);
            let keep = whole.len() + (next.len() as f64 * at) as usize;
            let slice = Bytes::from([whole, next].concat()).slice(..keep);

            prop_assert_eq!(read(slice), expected(&pairs, 0, 5));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for batch in cut(bytes.into()).batches {
                batch.records().ok();
            }
        }
    }

    #[test]
    fn fluvios_own_types_read_a_written_batch() {
        let pairs = vec![(None, vec![]), (Some(vec![]), vec![0xff, 0x00]), (Some(vec![7; 1024]), vec![1])];

        let mut bytes = vec![];
        Slice(written(&pairs, 9)).encode(&mut bytes, 0).unwrap();
        let set = RecordSet::<RawRecords>::decode_from(&mut bytes.as_slice(), 0).unwrap();

        assert!(set.batches[0].validate_decoding());
        let records = set.batches[0].memory_records().unwrap();
        let keys: Vec<_> = records.iter().map(|record| record.key.clone()).collect();
        assert_eq!(keys, [None, Some(RecordData::from(vec![])), Some(RecordData::from(vec![7; 1024]))]);
        assert_eq!(records[1].value, RecordData::from(vec![0xff, 0x00]));
    }

    #[test]
    fn a_cut_batch_tells_how_large_it_is() {
        let batch = written(&[(None, vec![1; 5000])], 1);

        assert_eq!(cut(batch.slice(..100)).cut_batch_bytes, Some(batch.len()));
        assert_eq!(cut(batch.slice(..5)).cut_batch_bytes, Some(0));
        assert_eq!(cut(batch.clone()).cut_batch_bytes, None);
    }
}
