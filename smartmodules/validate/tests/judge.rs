//! What `validate` says of good and of bad records, and that it says exactly one thing of each.

use eddy_contract::{Code, Header, RecordView, Verdict};
use eddy_validate::{Params, judge};
use proptest::prelude::*;

const TIMESTAMP_MS: i64 = 1_796_000_000_500;

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The trigger that the tests spoil: one member per line, so that each can be replaced.
const MEMBERS: [(&str, &str); 6] = [
    ("device_id", r#""truck-7""#),
    ("fence_id", r#""depot""#),
    ("transition", r#""ENTER""#),
    ("event_time_ns", "1796000000000000000"),
    ("lat", "51.92431"),
    ("lon", "4.47791"),
];

fn trigger() -> String {
    object(&MEMBERS)
}

fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// The trigger with one member replaced or added.
fn with(name: &str, value: &str) -> String {
    let mut members: Vec<_> = MEMBERS.into_iter().filter(|(known, _)| *known != name).collect();
    members.push((name, value));
    object(&members)
}

fn without(name: &str) -> String {
    object(&MEMBERS.into_iter().filter(|(known, _)| *known != name).collect::<Vec<_>>())
}

/// The verdict in the words of a person, and everything that must hold for any verdict.
struct Judged {
    verdict: Verdict,
    code: Code,
    detail: String,
    output: Vec<u8>,
}

impl Judged {
    fn header(&self) -> Header<'_> {
        Header::decode(&self.output).expect("every output starts with a header").0
    }
}

fn judged_with(value: &[u8], timestamp_ms: i64, params: &Params) -> Judged {
    let mut output = Vec::new();
    judge(RecordView { key: None, value, offset: 42, timestamp_ms }, params, &mut output);
    let (header, original) = Header::decode(&output).expect("every output starts with a header");
    assert_eq!(original, value, "the original bytes are untouched");
    assert_eq!((header.offset, header.timestamp_ms, header.parts, header.part), (42, timestamp_ms, 1, 0));
    let (verdict, code, detail) = (header.verdict, header.code, header.detail.to_owned());
    Judged { verdict, code, detail, output }
}

fn judged(value: impl AsRef<[u8]>) -> Judged {
    judged_with(value.as_ref(), TIMESTAMP_MS, &Params::DEFAULT)
}

fn params(params: &[(&str, &str)]) -> Params {
    Params::parse(params.iter().copied()).expect("the test gives good parameters")
}

#[track_caller]
fn assert_valid(value: impl AsRef<[u8]>) {
    let judged = judged(value);
    assert_eq!((judged.verdict, judged.code, judged.detail.as_str()), (Verdict::Valid, Code::Ok, ""));
}

#[track_caller]
fn assert_terminal(value: impl AsRef<[u8]>, code: Code, detail: &str) {
    let judged = judged(value);
    assert_eq!((judged.verdict, judged.code, judged.detail.as_str()), (Verdict::Terminal, code, detail));
}

#[test]
fn a_trigger_is_valid_and_its_header_says_what_the_host_needs() {
    let value = object(
        &[
            &MEMBERS[..],
            &[
                ("idempotency_key", "\"k-1\""),
                ("traceparent", &format!("\"{TRACEPARENT}\"")),
                ("schema_version", "2"),
                ("correlation_id", "\"c-9\""),
            ],
        ]
        .concat(),
    );

    let judged = judged(value);

    let expected = Header {
        event_time_ns: 1_796_000_000_000_000_000,
        idempotency_key: "k-1",
        device: "truck-7",
        fence: "depot",
        transition: "ENTER",
        traceparent: TRACEPARENT,
        correlation_id: "c-9",
        schema_version: "2",
        ..Header::new(Verdict::Valid, Code::Ok, 42, TIMESTAMP_MS)
    };
    assert_eq!(judged.header(), expected);
}

#[test]
fn every_transition_of_the_format_is_valid() {
    for transition in ["ENTER", "EXIT", "DWELL"] {
        assert_valid(with("transition", &format!("\"{transition}\"")));
    }
}

#[test]
fn unknown_fields_are_carried_along_whatever_they_are() {
    for value in ["null", "true", "[1,[2,{}]]", r#"{"a":{"b":[]}}"#, "-1.5e-3", r#""\u0000\n""#, "9007199254740993"] {
        assert_valid(with("extra", value));
    }
}

#[test]
fn an_optional_field_that_is_null_is_absent() {
    for name in ["idempotency_key", "traceparent", "schema_version", "correlation_id"] {
        assert_valid(with(name, "null"));
    }
}

#[test]
fn positions_on_the_edge_of_the_earth_are_valid() {
    for (lat, lon) in [("90", "180"), ("-90.0", "-180.0"), ("-0.0", "-0.0"), ("0", "0"), ("9e1", "1.8e2")] {
        let mut members = MEMBERS;
        members[4].1 = lat;
        members[5].1 = lon;

        assert_valid(object(&members));
    }
}

#[test]
fn an_escaped_name_is_the_name() {
    assert_valid(trigger().replace("device_id", "device\\u005fid"));
}

#[test]
fn white_space_around_a_trigger_is_no_fault() {
    assert_valid(format!("\r\n\t {} \n", trigger()));
}

#[test]
fn a_value_with_nothing_in_it_is_empty() {
    for value in [&b""[..], b" \r\n\t ", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n", b"null", b" null\n"] {
        assert_terminal(value, Code::EmptyPayload, "the value is empty");
    }
}

#[test]
fn a_value_beyond_the_limit_is_too_large_before_anything_else_is_looked_at() {
    assert_terminal(vec![0xff; 900 << 10], Code::TooLarge, "the value has 921600 bytes, more than 65536");
}

#[test]
fn a_large_trigger_is_valid_when_the_limit_allows_it() {
    let value = with("extra", &format!("\"{}\"", "x".repeat(900 << 10)));

    let judged = judged_with(value.as_bytes(), TIMESTAMP_MS, &params(&[("max_bytes", "1000000")]));

    assert_eq!(judged.verdict, Verdict::Valid);
}

#[test]
fn bytes_that_are_not_utf8_are_named_with_their_place() {
    assert_terminal(b"{\"device_id\":\"\xff\"}", Code::NotUtf8, "the value is not UTF-8 from byte 14 on");
    assert_terminal([0xff; 9], Code::NotUtf8, "the value is not UTF-8 from byte 0 on");
}

#[test]
fn what_is_not_json_is_named_with_its_place() {
    assert_terminal("hello", Code::InvalidJson, "expected value at line 1 column 1");
    assert_terminal(&trigger()[..30], Code::InvalidJson, "EOF while parsing a string at line 1 column 30");
    assert_terminal(format!("{} x", trigger()), Code::InvalidJson, "trailing characters at line 1 column 130");
    assert_terminal(with("lat", "NaN"), Code::InvalidJson, "expected value at line 1 column 120");
    assert_terminal(with("lat", "-Infinity"), Code::InvalidJson, "invalid number at line 1 column 121");
    assert_terminal(with("lat", "1e400"), Code::InvalidJson, "number out of range at line 1 column 124");
    assert_terminal(format!("\u{feff}{}", trigger()), Code::InvalidJson, "expected value at line 1 column 1");
    assert_terminal(
        with("device_id", "\"a\nb\""),
        Code::InvalidJson,
        "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0",
    );
}

#[test]
fn json_that_is_no_object_is_named_for_what_it_is() {
    assert_terminal(format!("[{}]", trigger()), Code::NotAnObject, "the value is an array, not an object");
    assert_terminal("7", Code::NotAnObject, "the value is an integer, not an object");
    assert_terminal("1.5", Code::NotAnObject, "the value is a number, not an object");
    assert_terminal("\"ENTER\"", Code::NotAnObject, "the value is a text, not an object");
    assert_terminal("true", Code::NotAnObject, "the value is a boolean, not an object");
}

fn nested(depth: usize) -> String {
    with("extra", &format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1)))
}

#[test]
fn sixty_four_levels_are_valid_and_sixty_five_are_too_deep() {
    assert_valid(nested(64));
    assert_terminal(nested(65), Code::TooDeep, "nested deeper than 64 levels");
}

#[test]
fn depth_counts_objects_as_it_counts_arrays() {
    let objects = |depth: usize| with("extra", &format!("{}1{}", r#"{"a":"#.repeat(depth - 1), "}".repeat(depth - 1)));

    assert_valid(objects(64));
    assert_terminal(objects(65), Code::TooDeep, "nested deeper than 64 levels");
}

#[test]
fn a_hundred_thousand_levels_do_not_exhaust_the_stack() {
    let generous = params(&[("max_bytes", "10000000"), ("max_depth", "100")]);

    let arrays = judged_with("[".repeat(100_000).as_bytes(), -1, &generous);
    let objects = judged_with(r#"{"a":"#.repeat(100_000).as_bytes(), -1, &generous);

    assert_eq!((arrays.code, objects.code), (Code::TooDeep, Code::TooDeep));
}

#[test]
fn a_name_that_stands_twice_is_found_at_every_level() {
    let twice = |name: &str| format!("{name:?} stands twice in one object");

    assert_terminal(trigger().replace("lon", "lat"), Code::DuplicateKey, &twice("lat"));
    assert_terminal(with("x", r#"{"a":[{"b":1,"b":1}]}"#), Code::DuplicateKey, &twice("b"));
    assert_terminal(with("x", r#"{"a":1,"\u0061":2}"#), Code::DuplicateKey, &twice("a"));
    assert_terminal(with("x", r#"{"":1,"":2}"#), Code::DuplicateKey, &twice(""));
}

#[test]
fn one_name_in_different_objects_is_no_duplicate() {
    assert_valid(with("x", r#"{"lat":{"lat":1},"lon":[{"lat":1},{"lat":1}]}"#));
}

#[test]
fn a_duplicate_among_thousands_of_names_is_found() {
    let names: Vec<_> = (0..4000).map(|index| format!("\"n{index}\":0")).collect();
    let distinct = format!("{{{}}}", names.join(","));
    let repeated = format!("{{{},\"n1234\":1}}", names.join(","));

    assert_valid(with("x", &distinct));
    assert_terminal(with("x", &repeated), Code::DuplicateKey, "\"n1234\" stands twice in one object");
}

#[test]
fn every_required_field_must_be_there() {
    for (name, _) in MEMBERS {
        assert_terminal(without(name), Code::MissingField, &format!("`{name}` is missing"));
    }
}

#[test]
fn a_field_of_another_type_is_named_with_both_types() {
    let cases = [
        ("device_id", "7", "an integer, not a text"),
        ("device_id", "null", "null, not a text"),
        ("fence_id", "[]", "an array, not a text"),
        ("transition", "true", "a boolean, not a text"),
        ("event_time_ns", "\"1796000000000000000\"", "a text, not an integer"),
        ("event_time_ns", "1796000000000000000.5", "a number, not an integer"),
        ("event_time_ns", "1.796e18", "a number, not an integer"),
        ("event_time_ns", "99999999999999999999", "a number, not an integer"),
        ("lat", "\"51.9\"", "a text, not a number"),
        ("lon", "{}", "an object, not a number"),
        ("lon", "null", "null, not a number"),
        ("idempotency_key", "7", "an integer, not a text"),
        ("schema_version", "1.5", "a number, not a text or an integer"),
        ("correlation_id", "[]", "an array, not a text"),
    ];
    for (name, value, types) in cases {
        assert_terminal(with(name, value), Code::WrongType, &format!("`{name}` is {types}"));
    }
}

#[test]
fn ids_that_are_empty_too_long_or_hold_control_characters_are_invalid() {
    for name in ["device_id", "fence_id"] {
        assert_valid(with(name, &format!("\"{}\"", "x".repeat(128))));
        assert_terminal(with(name, "\"\""), Code::InvalidField, &format!("`{name}` is empty"));
        assert_terminal(with(name, "\" \""), Code::InvalidField, &format!("`{name}` is empty"));
        let long = format!("\"{}\"", "x".repeat(129));
        assert_terminal(with(name, &long), Code::InvalidField, &format!("`{name}` is longer than 128 bytes"));
        for control in [r#""a\u0000b""#, r#""a\nb""#, "\"a\u{85}b\""] {
            assert_terminal(with(name, control), Code::InvalidField, &format!("`{name}` has control characters"));
        }
    }
}

#[test]
fn a_transition_that_the_format_does_not_know_is_quoted() {
    for transition in ["Enter", "leave", "ENTER ", ""] {
        let detail = format!("`transition` is {transition:?}, not ENTER, EXIT or DWELL");

        assert_terminal(with("transition", &format!("{transition:?}")), Code::UnknownTransition, &detail);
    }
}

#[test]
fn a_detail_quotes_only_the_beginning_of_a_long_value() {
    let judged = judged(with("transition", &format!("\"{}\"", "ü".repeat(10_000))));

    assert_eq!(judged.detail, format!("`transition` is \"{}\"…, not ENTER, EXIT or DWELL", "ü".repeat(24)));
}

#[test]
fn positions_off_the_earth_are_named_with_the_range() {
    let lat = |lat: &str| object(&[&MEMBERS[..4], &[("lat", lat), ("lon", "120.5")]].concat());

    assert_terminal(lat("91"), Code::LatitudeOutOfRange, "`lat` is 91, not within -90..=90");
    assert_terminal(lat("-90.0000001"), Code::LatitudeOutOfRange, "`lat` is -90.0000001, not within -90..=90");
    assert_terminal(lat("1e308"), Code::LatitudeOutOfRange, "`lat` is 1e308, not within -90..=90");
    assert_terminal(with("lon", "180.5"), Code::LongitudeOutOfRange, "`lon` is 180.5, not within -180..=180");
    assert_terminal(with("lon", "-1e308"), Code::LongitudeOutOfRange, "`lon` is -1e308, not within -180..=180");
    assert_terminal(
        with("lon", "9007199254740993"),
        Code::LongitudeOutOfRange,
        "`lon` is 9.007199254740992e15, not within -180..=180",
    );
}

#[test]
fn a_float_is_read_exactly_on_the_edge() {
    let next_above_90 = "90.00000000000001421085471520200371742248535156250";

    assert_eq!(
        judged(object(&[&MEMBERS[..4], &[("lat", next_above_90), ("lon", "120")]].concat())).verdict,
        Verdict::Terminal
    );
}

#[test]
fn swapped_axes_are_recognised_when_only_the_exchange_is_on_earth() {
    let position = |lat, lon| object(&[&MEMBERS[..4], &[("lat", lat), ("lon", lon)]].concat());

    assert_terminal(position("120.5", "51.9"), Code::AxesSwapped, "`lat` is 120.5 and `lon` is 51.9: exchanged");
    assert_terminal(position("181", "51.9"), Code::LatitudeOutOfRange, "`lat` is 181, not within -90..=90");
    assert_terminal(position("120", "\"x\""), Code::LatitudeOutOfRange, "`lat` is 120, not within -90..=90");
}

#[test]
fn a_time_in_another_unit_is_recognised() {
    let cases = [
        ("1796000000", "which looks like seconds"),
        ("1796000000000", "which looks like milliseconds"),
        ("1796000000000000", "which looks like microseconds"),
        ("0", "not a time after 1970"),
        ("-1796000000000000000", "not a time after 1970"),
        ("1", "before 2001"),
        ("4102444800000000001", "after 2100"),
        ("9223372036854775807", "after 2100"),
        ("9223372036854775808", "after 2100"),
        ("18446744073709551615", "after 2100"),
    ];
    for (time, what) in cases {
        assert_terminal(
            with("event_time_ns", time),
            Code::ImplausibleTime,
            &format!("`event_time_ns` is {time}, {what}"),
        );
    }
}

fn with_skew(skew_s: i64) -> String {
    with("event_time_ns", &((TIMESTAMP_MS + skew_s * 1000) * 1_000_000).to_string())
}

#[test]
fn a_time_far_from_the_records_own_timestamp_is_implausible() {
    const DAY_S: i64 = 24 * 60 * 60;
    const TEN_YEARS_S: i64 = 3650 * DAY_S;

    assert_valid(with_skew(DAY_S));
    assert_valid(with_skew(-TEN_YEARS_S));
    assert_terminal(
        with_skew(DAY_S + 1),
        Code::ImplausibleTime,
        "`event_time_ns` is 86401 s ahead of the record's timestamp",
    );
    assert_terminal(
        with_skew(-TEN_YEARS_S - 1),
        Code::ImplausibleTime,
        "`event_time_ns` is 315360001 s behind the record's timestamp",
    );
}

#[test]
fn a_record_without_a_timestamp_is_not_compared_with_it() {
    let value = with_skew(20 * 365 * 24 * 60 * 60);

    assert_eq!(judged_with(value.as_bytes(), -1, &Params::DEFAULT).verdict, Verdict::Valid);
}

#[test]
fn the_allowed_skew_can_be_set() {
    let strict = params(&[("max_ahead_s", "10"), ("max_behind_s", "20")]);
    let code = |skew_s| judged_with(with_skew(skew_s).as_bytes(), TIMESTAMP_MS, &strict).code;

    assert_eq!(
        [code(10), code(11), code(-20), code(-21)],
        [Code::Ok, Code::ImplausibleTime, Code::Ok, Code::ImplausibleTime]
    );
}

#[test]
fn an_idempotency_key_that_is_no_key_is_terminal_and_not_copied() {
    for key in [r#""""#, r#""a b""#, r#""a\nb""#, r#""\u0000""#, "\"ä\"", &format!("\"{}\"", "k".repeat(257))] {
        let judged = judged(with("idempotency_key", key));

        assert_eq!((judged.code, judged.header().idempotency_key), (Code::InvalidIdempotencyKey, ""));
    }
}

#[test]
fn a_traceparent_that_is_none_is_ignored() {
    let bad = [
        "7",
        "\"\"",
        "\"00-x-y-01\"",
        &format!("\"{}\"", TRACEPARENT.to_uppercase()),
        &format!("\"01{}\"", &TRACEPARENT[2..]),
        &format!("\"{TRACEPARENT}-00\""),
        "\"00-00000000000000000000000000000000-b7ad6b7169203331-01\"",
        "\"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01\"",
    ];
    for traceparent in bad {
        let judged = judged(with("traceparent", traceparent));

        assert_eq!((judged.verdict, judged.header().traceparent), (Verdict::Valid, ""), "{traceparent}");
    }
}

#[test]
fn a_schema_version_is_a_text_or_an_integer_and_may_be_restricted() {
    let known = params(&[("schema_versions", "1, 2024-06")]);
    let code = |version| judged_with(with("schema_version", version).as_bytes(), TIMESTAMP_MS, &known).code;

    assert_eq!([code("1"), code("\"1\""), code("\"2024-06\"")], [Code::Ok; 3]);
    assert_eq!([code("2"), code("\"one\"")], [Code::UnknownSchemaVersion; 2]);
    assert_eq!(code("\"\""), Code::InvalidField);
}

#[test]
fn a_correlation_id_may_be_long_but_has_no_control_characters() {
    let long = "c".repeat(300);

    assert_valid(with("correlation_id", &format!("\"{long}\"")));
    assert_terminal(with("correlation_id", r#""a\nb""#), Code::InvalidField, "`correlation_id` has control characters");
}

#[test]
fn a_fence_outside_the_list_is_unknown() {
    let known = params(&[("fences", "yard , depot,,quay")]);
    let code = |fence: &str| judged_with(with("fence_id", &format!("{fence:?}")).as_bytes(), -1, &known).code;

    assert_eq!([code("yard"), code("depot"), code("quay")], [Code::Ok; 3]);
    assert_eq!([code("dep"), code("Depot")], [Code::UnknownFence; 2]);
}

#[test]
fn of_several_faults_the_first_in_the_order_of_the_format_is_named() {
    let all_wrong = r#"{"lon":"x","lat":91,"event_time_ns":0,"transition":"?","fence_id":"","device_id":7}"#;

    assert_terminal(all_wrong, Code::WrongType, "`device_id` is an integer, not a text");
    assert_terminal(all_wrong.replace('7', "\"d\""), Code::InvalidField, "`fence_id` is empty");
    assert_terminal(format!("{all_wrong}}}"), Code::InvalidJson, "trailing characters at line 1 column 84");
}

#[test]
fn a_terminal_trigger_still_says_what_could_be_read() {
    let judged = judged(with("transition", "\"leave\""));

    let header = judged.header();
    assert_eq!((header.device, header.fence, header.transition), ("truck-7", "depot", "leave"));
    assert_eq!(header.event_time_ns, 1_796_000_000_000_000_000);
}

#[test]
fn a_parameter_that_makes_no_sense_is_refused_by_name() {
    let refused = |name, value| Params::parse([(name, value)]).unwrap_err().to_string();

    assert_eq!(refused("max_size", "1"), "parameter `max_size` is not known");
    assert_eq!(refused("max_bytes", "64k"), "parameter `max_bytes` is `64k`, not a number of bytes");
    assert_eq!(refused("max_depth", "101"), "parameter `max_depth` is `101`, not a depth of 1 to 100");
    assert_eq!(refused("max_ahead_s", "-1"), "parameter `max_ahead_s` is `-1`, not a number of seconds");
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail_and_every_output_decodes(
        value in prop::collection::vec(any::<u8>(), 0..200),
        offset: i64,
        timestamp_ms: i64,
    ) {
        let mut output = Vec::new();

        judge(RecordView { key: None, value: &value, offset, timestamp_ms }, &Params::DEFAULT, &mut output);

        let (header, original) = Header::decode(&output).unwrap();
        prop_assert_eq!(original, value.as_slice());
        prop_assert_eq!((header.verdict, header.offset, header.timestamp_ms), (Verdict::Terminal, offset, timestamp_ms));
    }

    #[test]
    fn a_trigger_with_one_byte_changed_is_judged_and_comes_through_untouched(index in 0_usize..118, byte: u8) {
        let mut value = trigger().into_bytes();
        let index = index % value.len();
        value[index] = byte;

        judged(value);
    }
}
