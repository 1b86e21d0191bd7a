//! The verdict header: what a module writes is what the host reads, and nothing makes the host fall over.

use eddy_contract::header::{DecodeError, FIELD_BYTES_MAX, HEADER_BYTES_MAX};
use eddy_contract::{Code, Header, Verdict};
use proptest::prelude::*;

const TRIGGER: &[u8] = br#"{"device_id":"d1"}"#;

fn header() -> Header<'static> {
    Header {
        event_time_ns: 1_796_000_000_000_000_000,
        idempotency_key: "k-1",
        device: "d1",
        fence: "depot",
        transition: "ENTER",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        correlation_id: "c-9",
        schema_version: "1",
        detail: "",
        ..Header::new(Verdict::Valid, Code::Ok, 42, 1_796_000_000_123)
    }
}

fn encoded(header: &Header<'_>, original: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header.encode(original, &mut out);
    out
}

#[test]
fn a_header_and_the_original_bytes_come_back_as_they_were_written() {
    let output = encoded(&header(), TRIGGER);

    let (decoded, original) = Header::decode(&output).unwrap();

    assert_eq!(decoded, header());
    assert_eq!(original, TRIGGER);
}

#[test]
fn the_layout_is_the_one_that_the_module_documents() {
    let bare = Header::new(Verdict::Terminal, Code::TooDeep, 0x0102, -1);

    let output = encoded(&bare, b"{}");

    let mut expected = b"eddy\x01\x02\x00\x05\x00\x00\x00\x3c\x00\x00\x00\x02".to_vec();
    expected.extend(b"\x00\x00\x00\x00\x00\x00\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\x00\x01\x00\x00");
    expected.extend([0; 8 + 8 * 2]);
    expected.extend(b"{}");
    assert_eq!(output, expected);
}

#[test]
fn a_long_field_is_cut_at_a_character_and_the_original_bytes_are_not() {
    let long = "é".repeat(FIELD_BYTES_MAX);
    let original = long.as_bytes();
    let odd = format!("x{long}");

    let output = encoded(&Header { device: &odd, detail: &long, ..header() }, original);

    let (decoded, kept) = Header::decode(&output).unwrap();
    assert_eq!(decoded.device.len(), FIELD_BYTES_MAX - 1);
    assert_eq!(decoded.detail.len(), FIELD_BYTES_MAX);
    assert_eq!(kept, original);
}

#[test]
fn the_largest_header_is_small() {
    let long = "x".repeat(10 * FIELD_BYTES_MAX);
    let largest = Header {
        idempotency_key: &long,
        device: &long,
        fence: &long,
        transition: &long,
        traceparent: &long,
        correlation_id: &long,
        schema_version: &long,
        detail: &long,
        ..header()
    };

    assert_eq!(encoded(&largest, b"").len(), HEADER_BYTES_MAX);
    assert_eq!(HEADER_BYTES_MAX, 2108);
}

#[test]
fn fields_that_a_later_build_appends_are_skipped() {
    let mut output = encoded(&header(), b"");
    output.extend(b"\x00\x03new");
    let header_length = u32::try_from(output.len()).unwrap();
    output[8..12].copy_from_slice(&header_length.to_be_bytes());
    output.extend(TRIGGER);
    output[12..16].copy_from_slice(&u32::try_from(TRIGGER.len()).unwrap().to_be_bytes());

    let (decoded, original) = Header::decode(&output).unwrap();

    assert_eq!(decoded, header());
    assert_eq!(original, TRIGGER);
}

/// The output of a faulty module: one byte of a good one is another.
fn with_byte(index: usize, byte: u8) -> Vec<u8> {
    let mut output = encoded(&header(), TRIGGER);
    output[index] = byte;
    output
}

#[test]
fn bytes_that_no_module_of_eddy_wrote_are_named_for_what_they_are() {
    assert_eq!(Header::decode(TRIGGER), Err(DecodeError::BadMagic));
    assert_eq!(Header::decode(b""), Err(DecodeError::BadLength));
    assert_eq!(Header::decode(&with_byte(4, 9)), Err(DecodeError::UnknownVersion(9)));
    assert_eq!(Header::decode(&with_byte(5, 77)), Err(DecodeError::UnknownVerdict(77)));
    assert_eq!(Header::decode(&with_byte(7, 255)), Err(DecodeError::UnknownCode(255)));
    assert_eq!(Header::decode(&with_byte(8, 255)), Err(DecodeError::BadLength));
    assert_eq!(Header::decode(&with_byte(11, 16)), Err(DecodeError::BadLength));
    assert_eq!(Header::decode(&with_byte(15, 0)), Err(DecodeError::BadLength));
    assert_eq!(Header::decode(&with_byte(33, 0)), Err(DecodeError::BadParts { part: 0, parts: 0 }));
    assert_eq!(Header::decode(&with_byte(35, 1)), Err(DecodeError::BadParts { part: 1, parts: 1 }));
    assert_eq!(Header::decode(&with_byte(46, 0xff)), Err(DecodeError::NotUtf8));
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(Verdict::ALL.to_vec())
}

fn any_code() -> impl Strategy<Value = Code> {
    prop::sample::select(Code::ALL.to_vec())
}

proptest! {
    #[test]
    fn every_header_makes_the_round_trip(
        verdict in any_verdict(),
        code in any_code(),
        numbers in any::<(i64, i64, i64, u16)>(),
        fields in prop::array::uniform8("\\PC{0,60}"),
        original in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (offset, timestamp_ms, event_time_ns, part) = numbers;
        let written = Header {
            part: part.min(u16::MAX - 1),
            parts: part.saturating_add(1),
            event_time_ns,
            idempotency_key: &fields[0],
            device: &fields[1],
            fence: &fields[2],
            transition: &fields[3],
            traceparent: &fields[4],
            correlation_id: &fields[5],
            schema_version: &fields[6],
            detail: &fields[7],
            ..Header::new(verdict, code, offset, timestamp_ms)
        };

        let output = encoded(&written, &original);

        prop_assert_eq!(Header::decode(&output), Ok((written, original.as_slice())));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut framed = encoded(&header(), TRIGGER);
        let length = framed.len().min(bytes.len());
        framed[4..length.max(4)].copy_from_slice(&bytes[4.min(length)..length]);

        let _decoded_or_refused = (Header::decode(&bytes), Header::decode(&framed));
    }

    #[test]
    fn a_header_cut_short_anywhere_is_refused(keep in 0_usize..180) {
        let output = encoded(&header(), TRIGGER);

        prop_assert!(Header::decode(&output[..keep.min(output.len() - 1)]).is_err());
    }
}
