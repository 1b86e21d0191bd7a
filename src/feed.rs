//! From NDJSON to records: which bytes are a record, which key and partition it gets, and where a fed input goes on.
//!
//! **Lines.** A record is a line without its line break, LF or CRLF; not one byte else is changed. A last line needs
//! no line break. Blank lines (nothing, or only spaces and tabs) are skipped and counted: they are how files are
//! written, not something that a producer sent.
//!
//! **Key and partition.** The key is the trigger's `device_id`, so that a device keeps its order; a line without one has
//! no key. A keyed record goes where a stock Fluvio producer would send it. Others are spread by a hash of the line
//! and not in turn, so that feeding the same input again gives every record the same partition.
//!
//! **Resume.** What was fed is known from the log alone ([`Resume`]); nothing is fed twice and nothing is left out,
//! also after kill -9, as long as the input is the same and nobody else writes to the topic meanwhile.

use std::{
    borrow::Cow,
    hash::{Hash, Hasher},
    io::{self, BufRead},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// A record to produce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub partition: u32,
    pub key: Option<Bytes>,
    pub value: Bytes,
}

/// Reads an input line by line.
#[derive(Debug)]
pub struct Feed<R> {
    input: R,
    partitions: u32,
    /// Per partition, records that are in the log already.
    skip: Vec<u64>,
    counts: Counts,
}

/// What became of the lines so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records given out.
    pub fed: u64,
    /// Records that were in the log already.
    pub already_fed: u64,
    /// Blank lines.
    pub blank: u64,
}

impl<R: BufRead> Feed<R> {
    /// Feeds a topic with so many partitions from the input's beginning.
    pub fn new(input: R, partitions: u32) -> Self {
        Self { input, partitions: partitions.max(1), skip: Vec::new(), counts: Counts::default() }
    }

    /// Leaves out the first records of each partition, as [`Resume::already_fed`] counts them.
    #[must_use]
    pub fn skipping(self, already_fed: Vec<u64>) -> Self {
        Self { skip: already_fed, ..self }
    }

    /// What became of the lines so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The next record, `None` at the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            let mut line = Vec::new();
            if self.input.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            strip_line_break(&mut line);
            if is_blank(&line) {
                self.counts.blank += 1;
                continue;
            }
            let record = Record::of_line(line.into(), self.partitions);
            match self.skip.get_mut(record.partition as usize) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    self.counts.already_fed += 1;
                }
                Some(_) | None => {
                    self.counts.fed += 1;
                    return Ok(Some(record));
                }
            }
        }
    }
}

impl Record {
    /// The record of one line.
    pub fn of_line(value: Bytes, partitions: u32) -> Self {
        let key = device_of(&value);
        let partition = partition_of(key.as_deref().unwrap_or(&value), partitions);
        Self { partition, key, value }
    }
}

/// Only one line break goes; a CR elsewhere is the producer's.
fn strip_line_break(line: &mut Vec<u8>) {
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// The `device_id` of a line that is a JSON object with one; other members are passed over and not kept.
fn device_of(line: &[u8]) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Device<'a> {
        #[serde(borrow)]
        device_id: Cow<'a, str>,
    }
    let device: Device<'_> = serde_json::from_slice(line).ok()?;
    (!device.device_id.is_empty()).then(|| Bytes::copy_from_slice(device.device_id.as_bytes()))
}

/// Where a stock producer sends a record with this key: SipHash-2-4 of the key's length and bytes.
pub fn partition_of(key: &[u8], partitions: u32) -> u32 {
    let mut hasher = SipHasher24::new();
    key.hash(&mut hasher);
    let partition = hasher.finish() % u64::from(partitions.max(1));
    u32::try_from(partition).expect("a remainder is below its divisor, which is a u32")
}

/// Where the log of each partition ended before an input was first fed; kept beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    pub base: Vec<i64>,
}

/// Why feeding cannot go on where it stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    #[error("the topic had {then} partitions when feeding began and has {now} now")]
    PartitionsChanged { then: usize, now: usize },
    #[error("the log of partition {partition} ended at {base} when feeding began and ends at {end} now")]
    LogShorter { partition: usize, base: i64, end: i64 },
}

impl Resume {
    /// How many records of the input each partition has: the first so many, because feeding keeps each partition's
    /// order and each record is in the log once.
    ///
    /// # Errors
    /// When the logs are not those that the input was fed to.
    pub fn already_fed(&self, ends: &[i64]) -> Result<Vec<u64>, ResumeError> {
        if ends.len() != self.base.len() {
            return Err(ResumeError::PartitionsChanged { then: self.base.len(), now: ends.len() });
        }
        let fed = self.base.iter().zip(ends).enumerate().map(|(partition, (&base, &end))| {
            let shorter = ResumeError::LogShorter { partition, base, end };
            end.checked_sub(base).and_then(|fed| u64::try_from(fed).ok()).ok_or(shorter)
        });
        fed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(input: &[u8], partitions: u32) -> (Vec<Record>, Counts) {
        records_after(input, partitions, Vec::new())
    }

    fn records_after(input: &[u8], partitions: u32, already_fed: Vec<u64>) -> (Vec<Record>, Counts) {
        let mut feed = Feed::new(input, partitions).skipping(already_fed);
        let records = std::iter::from_fn(|| feed.next_record().unwrap()).collect();
        (records, feed.counts())
    }

    fn values(input: &[u8]) -> Vec<Bytes> {
        records(input, 1).0.into_iter().map(|record| record.value).collect()
    }

    /// Lines of 40 devices in turn, and now and then one without a device.
    fn input(lines: usize) -> Vec<u8> {
        let line = |n: usize| match n % 7 {
            6 => format!("poison {n}\n"),
            _ => format!("{{\"device_id\":\"d-{}\",\"n\":{n}}}\n", n % 40),
        };
        (0..lines).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn a_line_ends_at_lf_or_crlf_and_the_last_needs_neither() {
        assert_eq!(values(b"one\ntwo\r\nthree"), ["one", "two", "three"]);
    }

    #[test]
    fn only_one_line_break_is_taken_from_a_line() {
        assert_eq!(values(b" a\rb \r\r\n"), [" a\rb \r"]);
        assert_eq!(values(b"a\r"), ["a\r"], "a CR without LF is no line break");
    }

    #[test]
    fn bytes_that_are_no_text_pass_untouched() {
        assert_eq!(values(b"\xff\xfe\x00\n"), [Bytes::from_static(b"\xff\xfe\x00")]);
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        let (records, counts) = records(b"\none\n\r\n \t\ntwo\n\n", 1);

        assert_eq!(records.len(), 2);
        assert_eq!(counts, Counts { fed: 2, already_fed: 0, blank: 4 });
    }

    #[test]
    fn the_key_is_the_device_and_absent_where_there_is_none() {
        let key = |line: &'static [u8]| Record::of_line(Bytes::from_static(line), 1).key;

        assert_eq!(key(br#"{"lat":1,"device_id":"truck-1"}"#), Some(Bytes::from_static(b"truck-1")));
        assert_eq!(key(br#"{"device_id":"caf\u00e9"}"#), Some(Bytes::from("café")));
        assert_eq!(key(br#"{"device_id":7}"#), None);
        assert_eq!(key(br#"{"device_id":""}"#), None);
        assert_eq!(key(br#"{"fence_id":"f"}"#), None);
        assert_eq!(key(br#"[{"device_id":"truck-1"}]"#), None);
        assert_eq!(key(b"{\"device_id\":\"truck-1\""), None);
        assert_eq!(key(b"\xff"), None);
    }

    #[test]
    fn a_key_goes_to_the_partition_that_a_stock_producer_chooses() {
        // From the client's own partitioner, SipHash-2-4 with a zero key over the length (8 bytes) and the bytes.
        let mut reference = SipHasher24::new();
        reference.write(&7_u64.to_ne_bytes());
        reference.write(b"truck-1");

        assert_eq!(u64::from(partition_of(b"truck-1", 16)), reference.finish() % 16);
    }

    #[test]
    fn every_partition_gets_records_with_and_without_keys() {
        let (records, _) = records(&input(2000), 4);

        for partition in 0..4 {
            let here = || records.iter().filter(|record| record.partition == partition);
            assert!(here().filter(|record| record.key.is_some()).count() > 100);
            assert!(here().filter(|record| record.key.is_none()).count() > 30);
        }
    }

    #[test]
    fn feeding_goes_on_after_the_records_that_each_partition_has() {
        let (all, _) = records(&input(500), 3);
        let resume = Resume { base: vec![10, 0, 5] };
        let already_fed = resume.already_fed(&[17, 0, 105]).unwrap();

        let (rest, counts) = records_after(&input(500), 3, already_fed);

        let of = |records: &[Record], partition| -> Vec<Bytes> {
            records.iter().filter(|r| r.partition == partition).map(|r| r.value.clone()).collect()
        };
        assert_eq!(of(&rest, 0), of(&all, 0)[7..]);
        assert_eq!(of(&rest, 1), of(&all, 1));
        assert_eq!(of(&rest, 2), of(&all, 2)[100..]);
        assert_eq!(counts, Counts { fed: 393, already_fed: 107, blank: 0 });
    }

    #[test]
    fn an_input_that_was_fed_whole_gives_nothing() {
        let (all, _) = records(&input(50), 1);

        let (rest, _) = records_after(&input(50), 1, vec![all.len() as u64]);

        assert_eq!(rest, []);
    }

    #[test]
    fn a_log_that_is_not_the_one_that_was_fed_is_refused() {
        let resume = Resume { base: vec![10, 20] };

        assert_eq!(resume.already_fed(&[10]), Err(ResumeError::PartitionsChanged { then: 2, now: 1 }));
        assert_eq!(resume.already_fed(&[10, 19]), Err(ResumeError::LogShorter { partition: 1, base: 20, end: 19 }));
    }
}
