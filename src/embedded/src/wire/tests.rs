//! Batches as these modules and Fluvio's own codec see them.

use bytes::Bytes;
use fluvio_compression::Compression;
use fluvio_protocol::{
    Decoder, Encoder,
    record::{Batch as ProtocolBatch, RawRecords, Record, RecordSet},
};

use super::{Batch, Builder, Malformed, RawSet, encoded_len};

fn records() -> Vec<Record> {
    vec![
        Record::new("plain"),
        Record::new_key_value("key", "value"),
        Record::new_key_value("", ""),
        Record::new_key_value(vec![0, 0xff], vec![0xff; 200]),
        Record::new(vec![b'x'; 20_000]),
    ]
}

/// A batch as a producer sends it.
fn produced(compression: Compression) -> Bytes {
    let mut batch = ProtocolBatch::from(records());
    batch.header.first_timestamp = 1_700_000_000_000;
    batch.header.max_time_stamp = 1_700_000_000_009;
    batch.header.set_compression(compression);
    let raw = ProtocolBatch::<RawRecords>::try_from(batch).unwrap();
    raw.as_bytes(0).unwrap()
}

fn values(batch: &ProtocolBatch) -> Vec<(Option<Vec<u8>>, Vec<u8>)> {
    batch.records().iter().map(|record| (record.key.clone().map(|key| key.into_vec()), record.value.to_vec())).collect()
}

#[test]
fn a_producers_batch_is_read_where_it_lies() {
    let mut bytes = produced(Compression::Gzip);
    let whole = bytes.len();

    let batch = Batch::split_from(&mut bytes).unwrap();

    assert!(bytes.is_empty());
    assert_eq!((batch.bytes_len(), batch.offsets(), batch.codec()), (whole, 5, 1));
    assert_eq!(batch.first_timestamp_ms(), 1_700_000_000_000);
    assert_eq!(batch.check(), Ok(()));
    let unpacked = eddy_engine::decompress(batch.codec(), batch.records()).unwrap();
    assert_eq!(Vec::<Record>::decode_from(&mut unpacked.as_ref(), 0).unwrap().len(), 5);
}

#[test]
fn a_batch_written_elsewhere_differs_only_in_its_base_offset() {
    let original = produced(Compression::None);
    let batch = Batch::split_from(&mut original.clone()).unwrap();
    let mut written = Vec::new();

    batch.write_at(77, &mut written);

    assert_eq!(written[..8], 77_i64.to_be_bytes());
    assert_eq!(written[8..], original[8..]);
}

#[test]
fn a_wrong_checksum_is_replaced_when_the_batch_is_written() {
    let mut forged = produced(Compression::None).to_vec();
    forged[17] ^= 0xff;
    let batch = Batch::split_from(&mut forged.into()).unwrap();
    assert_eq!(batch.check(), Err(Malformed::Checksum));
    let mut written = Vec::new();

    batch.write_at(0, &mut written);

    assert_eq!(Batch::split_from(&mut written.into()).unwrap().check(), Ok(()));
}

#[test]
fn what_is_no_batch_is_refused() {
    let whole = produced(Compression::None);
    let edited = |at: usize, bytes: &[u8]| {
        let mut edited = whole.to_vec();
        edited[at..at + bytes.len()].copy_from_slice(bytes);
        Bytes::from(edited)
    };

    assert_eq!(Batch::split_all(whole.slice(..whole.len() - 1)).unwrap_err(), Malformed::Short);
    assert_eq!(Batch::split_all(whole.slice(..5)).unwrap_err(), Malformed::Short);
    assert_eq!(Batch::split_all(edited(8, &(-1_i32).to_be_bytes())).unwrap_err(), Malformed::Header);
    assert_eq!(Batch::split_all(edited(8, &44_i32.to_be_bytes())).unwrap_err(), Malformed::Header);
    assert_eq!(Batch::split_all(edited(23, &(-1_i32).to_be_bytes())).unwrap_err(), Malformed::Header);
    assert_eq!(Batch::split_all(Bytes::from_static(b"produced by nobody")).unwrap_err(), Malformed::Short);
}

#[test]
fn what_the_builder_writes_fluvio_reads_and_would_have_written_alike() {
    let mut builder = Builder::default();
    for (delta, mut record) in records().into_iter().enumerate() {
        record.preamble.set_offset_delta(delta as i64);
        record.preamble.set_timestamp_delta(delta as i64 * 1000);
        builder.push(&record, 0);
    }

    let built = builder.finish(40, 9);

    let read = ProtocolBatch::<RawRecords>::decode_from(&mut built.as_slice(), 0).unwrap();
    assert!(read.validate_decoding());
    assert_eq!((read.base_offset, read.last_offset_delta(), read.header.first_timestamp), (40, 8, -1));
    assert_eq!(read.as_bytes(0).unwrap(), built, "the same bytes, checksum included");
    let read = ProtocolBatch::try_from(read).unwrap();
    assert_eq!(values(&read), values(&ProtocolBatch::from(records())));
}

#[test]
fn shifted_deltas_may_be_negative() {
    let mut builder = Builder::default();
    builder.push(&Record::new("late"), -1000);

    let built = builder.finish(0, 1);

    let read = ProtocolBatch::<RawRecords>::decode_from(&mut built.as_slice(), 0).unwrap().memory_records().unwrap();
    assert_eq!(read[0].preamble.offset_delta(), -1000);
}

#[test]
fn the_reckoned_length_is_the_written_length() {
    let empty = Builder::default().finish(0, 0).len();
    let mut builder = Builder::default();
    for record in &records() {
        builder.push(record, 0);
    }

    assert_eq!(builder.finish(0, 5).len() - empty, encoded_len(&records()));
}

#[test]
fn a_raw_set_is_a_record_set_on_the_wire() {
    let batches = [produced(Compression::None), produced(Compression::Zstd)].concat();
    let mut encoded = Vec::new();
    RawSet(batches.clone().into()).encode(&mut encoded, 0).unwrap();

    let theirs = RecordSet::<RawRecords>::decode_from(&mut encoded.as_slice(), 0).unwrap();
    let ours = RawSet::decode_from(&mut Bytes::from(encoded), 0).unwrap();

    assert_eq!(theirs.batches.len(), 2);
    assert_eq!(ours.0, batches);
}
