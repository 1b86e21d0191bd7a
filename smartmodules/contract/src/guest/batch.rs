//! The batches that Fluvio's engine hands to a module and takes back, read and written in one walk.
//!
//! Input (`SmartModuleInput`), big endian: base offset, the length-prefixed records, then fields that came and went with
//! versions, and from version 22 on the base timestamp. The records are a 32-bit count and, for each, a varint length,
//! attributes, varint deltas of time and offset, an optional key, the value, and a varint of headers. Output
//! (`SmartModuleOutput`): records in the same form and an absent error.
//!
//! Everything of a record but its value is copied byte for byte, so that a number which Fluvio wrote in its own way
//! stays as it is.

use super::{Module, RecordView};
use crate::bytes::{Bytes, length_bytes, put_length};

/// The first version of the input that carries a base timestamp.
const TIMESTAMPS_VERSION: i16 = 22;

/// The timestamp of a record that has none.
const NO_TIMESTAMP: i64 = -1;

/// What the engine understands as the answer of a module that could not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The input is not a batch.
    BaseInput = -11,
    /// The records inside the batch cannot be read.
    Records = -22,
}

/// Judges every record of `input` and appends the encoded output to `out`; returns how many there were. `value` is working
/// space.
///
/// # Errors
/// When the input cannot be decoded; then `out` is of no use.
pub fn map<M: Module>(
    module: &M,
    input: &[u8],
    version: i16,
    value: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<i32, Status> {
    let batch = Batch::decode(input, version).ok_or(Status::BaseInput)?;
    let mut records = Bytes(batch.records);
    let count = records.array().map(i32::from_be_bytes).ok_or(Status::Records)?.max(0);

    out.extend_from_slice(&count.to_be_bytes());
    for _ in 0..count {
        let record = records.sized().and_then(Record::decode).ok_or(Status::Records)?;
        value.clear();
        module.judge(batch.view(&record), value);
        record.encode_with(value, out);
    }
    out.push(0); // no error
    Ok(count)
}

/// A decoded input.
struct Batch<'a> {
    base_offset: i64,
    base_timestamp_ms: i64,
    records: &'a [u8],
}

impl<'a> Batch<'a> {
    fn decode(input: &'a [u8], version: i16) -> Option<Self> {
        let mut rest = Bytes(input);
        let base_offset = i64::from_be_bytes(rest.array()?);
        let records = vector(&mut rest)?;
        if version <= 22 {
            skip_params(&mut rest, version)?;
        }
        if (16..=22).contains(&version) {
            vector(&mut rest)?; // the record of a join
        }
        let base_timestamp_ms = match version {
            TIMESTAMPS_VERSION.. => i64::from_be_bytes(rest.array()?),
            _ => NO_TIMESTAMP,
        };
        Some(Self { base_offset, base_timestamp_ms, records })
    }

    fn view(&self, record: &Record<'a>) -> RecordView<'a> {
        // Fluvio takes a base of zero for "no timestamp" as well.
        let timestamp_ms = match self.base_timestamp_ms {
            ..=0 => NO_TIMESTAMP,
            base => base.saturating_add(record.timestamp_delta_ms),
        };
        RecordView {
            key: record.key,
            value: record.value,
            offset: self.base_offset.saturating_add(record.offset_delta),
            timestamp_ms,
        }
    }
}

/// A length of 32 bits and that many bytes; Fluvio takes a negative length for an empty list.
fn vector<'a>(rest: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let length = i32::from_be_bytes(rest.array()?);
    rest.take(usize::try_from(length).unwrap_or(0))
}

/// Parameters travel with the batch only in the format: a module gets them once, through `init`.
fn skip_params(rest: &mut Bytes<'_>, version: i16) -> Option<()> {
    params(rest)?;
    let has_lookback = version >= 20 && rest.array()? == [1];
    if has_lookback {
        rest.take(8)?;
        let has_age = version >= 21 && rest.array()? == [1];
        if has_age {
            rest.take(12)?;
        }
    }
    Some(())
}

/// A map of texts: what `init` receives.
pub fn decode_params(input: &[u8]) -> Option<Vec<(&str, &str)>> {
    params(&mut Bytes(input))
}

fn params<'a>(rest: &mut Bytes<'a>) -> Option<Vec<(&'a str, &'a str)>> {
    let count = u16::from_be_bytes(rest.array()?);
    (0..count).map(|_| Some((text(rest)?, text(rest)?))).collect()
}

fn text<'a>(rest: &mut Bytes<'a>) -> Option<&'a str> {
    let length = i16::from_be_bytes(rest.array()?);
    std::str::from_utf8(rest.take(usize::try_from(length).unwrap_or(0))?).ok()
}

/// Appends what the engine reads when `init` failed: one text.
pub fn encode_init_error(message: &str, out: &mut Vec<u8>) {
    let message = &message[..message.floor_char_boundary(i16::MAX as usize)];
    out.extend_from_slice(&(message.len() as i16).to_be_bytes());
    out.extend_from_slice(message.as_bytes());
}

/// One record, cut into what is copied and what is judged.
struct Record<'a> {
    /// Attributes, deltas and key, as they were.
    head: &'a [u8],
    timestamp_delta_ms: i64,
    offset_delta: i64,
    key: Option<&'a [u8]>,
    value: &'a [u8],
    /// Headers, as they were.
    tail: &'a [u8],
}

impl<'a> Record<'a> {
    fn decode(frame: &'a [u8]) -> Option<Self> {
        let mut rest = Bytes(frame);
        rest.take(1)?; // attributes
        let timestamp_delta_ms = rest.varint()?;
        let offset_delta = rest.varint()?;
        let key = match rest.array()? {
            [0] => None,
            [1] => Some(rest.sized()?),
            _ => return None,
        };
        let head = &frame[..frame.len() - rest.0.len()];
        let value = rest.sized()?;
        let tail = rest.0;
        rest.varint()?;
        Some(Self { head, timestamp_delta_ms, offset_delta, key, value, tail })
    }

    fn encode_with(&self, value: &[u8], out: &mut Vec<u8>) {
        let length = self.head.len() + length_bytes(value.len()) + value.len() + self.tail.len();
        put_length(length, out);
        out.extend_from_slice(self.head);
        put_length(value.len(), out);
        out.extend_from_slice(value);
        out.extend_from_slice(self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::param;

    /// Writes what it saw in front of the value.
    struct Echo;

    impl Module for Echo {
        fn with_params(_: &[(&str, &str)]) -> Result<Self, param::Error> {
            Ok(Self)
        }

        fn judge(&self, record: RecordView<'_>, out: &mut Vec<u8>) {
            out.extend(format!("{:?}@{}/{}:", record.key, record.offset, record.timestamp_ms).bytes());
            out.extend(record.value);
        }
    }

    const NULL_KEY: &[u8] = b"\x12\x00\x02\x04\x00\x06abc\x00";
    const SHORT_KEY: &[u8] = b"\x14\x00\x00\x06\x01\x02k\x04xy\x00";

    fn input(records: &[&[u8]], base_timestamp_ms: i64) -> Vec<u8> {
        let records = [&u32::try_from(records.len()).unwrap().to_be_bytes()[..], &records.concat()].concat();
        let mut input = 100_i64.to_be_bytes().to_vec();
        input.extend(u32::try_from(records.len()).unwrap().to_be_bytes());
        input.extend(records);
        input.extend([0; 2 + 1 + 4]); // no parameters, no lookback, no join
        input.extend(base_timestamp_ms.to_be_bytes());
        input
    }

    fn echo(input: &[u8], version: i16) -> Result<Vec<u8>, Status> {
        let mut out = Vec::new();
        map(&Echo, input, version, &mut Vec::new(), &mut out).map(|_| out)
    }

    #[test]
    fn keys_deltas_and_headers_are_copied_and_true_offsets_and_times_are_shown() {
        let output = echo(&input(&[NULL_KEY, SHORT_KEY], 1000), 22).unwrap();

        let mut expected = b"\x00\x00\x00\x02".to_vec();
        expected.extend(b"\x2e\x00\x02\x04\x00\x22None@102/1001:abc\x00");
        expected.extend(b"\x3e\x00\x00\x06\x01\x02k\x2eSome([107])@103/1000:xy\x00");
        expected.push(0);
        assert_eq!(String::from_utf8_lossy(&output), String::from_utf8_lossy(&expected));
    }

    #[test]
    fn a_batch_without_a_timestamp_shows_none() {
        for base_timestamp_ms in [-1, 0] {
            let output = echo(&input(&[NULL_KEY], base_timestamp_ms), 22).unwrap();

            assert!(String::from_utf8_lossy(&output).contains("None@102/-1:abc"));
        }
    }

    #[test]
    fn versions_before_and_after_the_current_one_are_read_too() {
        let current = input(&[NULL_KEY], 1000);
        let body = current.len() - (2 + 1 + 4) - 8;
        let after = [&current[..body], &1000_i64.to_be_bytes()].concat();
        let before_lookback = [&current[..body], &[0; 2 + 4]].concat();
        let before_join = [&current[..body], &[0; 2]].concat();

        assert_eq!(echo(&after, 23), echo(&current, 22));
        assert_eq!(echo(&before_lookback, 19), echo(&before_join, 15));
        assert!(String::from_utf8_lossy(&echo(&before_join, 15).unwrap()).contains("/-1:abc"));
    }

    #[test]
    fn parameters_and_lookback_in_the_input_are_skipped() {
        let current = input(&[NULL_KEY], 1000);
        let body = current.len() - (2 + 1 + 4) - 8;
        let params = b"\x00\x01\x00\x01a\x00\x02bc\x01\0\0\0\0\0\0\0\x09\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0";
        let with_params = [&current[..body], params, &1000_i64.to_be_bytes()].concat();

        assert_eq!(echo(&with_params, 22), echo(&current, 22));
    }

    #[test]
    fn an_input_that_is_no_batch_is_refused_and_so_are_records_that_are_none() {
        let good = input(&[NULL_KEY], 1000);
        let bad_record = input(&[b"\x12\x00\x02\x04\x07\x06abc\x00"], 1000);
        let short_record = input(&[b"\x10\x00\x02\x04\x00\x06abc\x00"], 1000);

        assert_eq!(echo(b"", 22), Err(Status::BaseInput));
        assert_eq!(echo(&good[..good.len() - 1], 22), Err(Status::BaseInput));
        assert_eq!(echo(&bad_record, 22), Err(Status::Records));
        assert_eq!(echo(&short_record, 22), Err(Status::Records));
    }

    #[test]
    fn an_input_cut_short_anywhere_is_refused() {
        let good = input(&[NULL_KEY, SHORT_KEY], 1000);

        for keep in 0..good.len() {
            assert!(echo(&good[..keep], 22).is_err(), "{keep} bytes");
        }
    }

    #[test]
    fn an_empty_batch_gives_an_empty_output() {
        assert_eq!(echo(&input(&[], 1000), 22), Ok(vec![0, 0, 0, 0, 0]));
    }

    #[test]
    fn parameters_for_init_are_read() {
        assert_eq!(decode_params(b"\x00\x01\x00\x01a\x00\x02bc\x00"), Some(vec![("a", "bc")]));
        assert_eq!(decode_params(b"\x00\x01\x00\x05a"), None);
    }
}
