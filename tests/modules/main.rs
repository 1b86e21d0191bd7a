//! The shipped modules in the engine that a real SPU runs them in: byte for byte what the native functions say, and
//! no hunger for memory.

mod chain;
mod corpus;

use chain::{Base, Chain, batch};
use eddy::modules::{CLASSIFY_WASM, Params, VALIDATE_WASM};
use eddy_contract::envelope::{Envelope, Failure, Origin};
use eddy_contract::guest::Module;
use eddy_contract::{Code, Header, RecordView, SideEffect, Verdict};
use fluvio_smartmodule::Record;
use fluvio_smartmodule::dataplane::record::{RecordData, RecordKey};
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleInput;

/// Where batches begin: a fresh log, an old one, and two without a usable time.
const BASES: [Base; 4] = [
    Base { offset: 0, timestamp_ms: corpus::TIMESTAMP_MS },
    Base { offset: (1 << 53) + 1, timestamp_ms: corpus::TIMESTAMP_MS },
    Base { offset: 4711, timestamp_ms: -1 },
    Base { offset: 4711, timestamp_ms: 0 },
];

/// Null is not empty, and bytes need not be text.
fn keys() -> [Option<Vec<u8>>; 4] {
    [None, Some(vec![]), Some(vec![0xff, 0x00]), Some(vec![b'k'; 1024])]
}

/// One record for each value, with ever another key and growing deltas.
fn records(values: &[Vec<u8>]) -> Vec<Record> {
    let record = |(index, value): (usize, &Vec<u8>)| {
        let key = keys()[index % 4].clone();
        let mut record = Record::new_key_value(key.map_or(RecordKey::NULL, RecordKey::from), value.clone());
        record.preamble.set_offset_delta(index as i64);
        record.preamble.set_timestamp_delta(index as i64 * 3);
        record
    };
    values.iter().enumerate().map(record).collect()
}

/// What the native function says of a record of a batch.
fn natively(module: &impl Module, record: &Record, base: Base) -> Vec<u8> {
    let timestamp_ms = if base.timestamp_ms > 0 { base.timestamp_ms + record.timestamp_delta() } else { -1 };
    let view = RecordView {
        key: record.key().map(AsRef::as_ref),
        value: record.value().as_ref(),
        offset: base.offset + record.offset_delta(),
        timestamp_ms,
    };
    let mut out = Vec::new();
    module.judge(view, &mut out);
    out
}

/// Runs all values through the module and the native function, in batches from every base.
fn assert_parity(wasm: &[u8], native: &impl Module, params: &Params, values: &[Vec<u8>]) {
    let mut chain = Chain::try_open(wasm, params, 1 << 30).expect("the module opens");
    for base in BASES {
        for values in values.chunks(64) {
            let records = records(values);
            let judged = chain.run(batch(records.clone(), base)).expect("a module of eddy never fails");

            assert_eq!(judged.len(), records.len());
            for (record, judged) in records.iter().zip(&judged) {
                let value = String::from_utf8_lossy(record.value());
                let shown = value.chars().take(300).collect::<String>();
                assert!(judged.value().as_ref() == natively(native, record, base), "at {base:?}: {shown}");
                assert_eq!(judged.key(), record.key(), "key of {shown}");
                assert_eq!(judged.offset_delta(), record.offset_delta(), "offset of {shown}");
                assert_eq!(judged.timestamp_delta(), record.timestamp_delta(), "time of {shown}");
            }
        }
    }
}

fn params(params: &[(&str, &str)]) -> Params {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn all_values() -> Vec<Vec<u8>> {
    let mut values = corpus::values();
    values.extend(corpus::payloads().into_iter().map(|(_, payload)| payload));
    values
}

#[test]
fn validate_says_in_the_engine_what_it_says_natively() {
    let values = all_values();
    assert!(values.len() > 600, "{} values", values.len());

    assert_parity(VALIDATE_WASM, &eddy_validate::Params::DEFAULT, &Params::new(), &values);
}

#[test]
fn validate_takes_its_parameters_in_the_engine_as_it_does_natively() {
    let set = [("fences", "yard,depot-2"), ("max_bytes", "400"), ("max_depth", "3"), ("max_ahead_s", "0")];
    let native = eddy_validate::Params::parse(set).unwrap();

    assert_parity(VALIDATE_WASM, &native, &params(&set), &all_values());
}

#[test]
fn nesting_of_a_hundred_thousand_levels_does_not_exhaust_the_stack_of_the_engine() {
    let generous = [("max_bytes", "10000000"), ("max_depth", "100")];
    let native = eddy_validate::Params::parse(generous).unwrap();
    let deep = [vec![b'['; 100_000], r#"{"a":"#.repeat(100_000).into_bytes()];

    assert_parity(VALIDATE_WASM, &native, &params(&generous), &deep);
}

fn envelope(code: Code, status: Option<u16>, message: &str) -> Vec<u8> {
    let origin = Origin { topic: "triggers".into(), partition: 0, offset: 7, timestamp_ms: None, part: 0 };
    let failure = Failure {
        at: corpus::TIMESTAMP_MS,
        stage: "deliver".into(),
        class: None,
        code,
        signature: String::new(),
        status,
        message: message.into(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: None,
        effect: SideEffect::Refused,
        location: None,
    };
    Envelope { failures: vec![failure], ..Envelope::new(origin, corpus::trigger()) }.encode()
}

/// Envelopes of every status and every code, one cut short at many places, and what is none.
fn envelopes() -> Vec<Vec<u8>> {
    let long = envelope(Code::Unavailable, Some(503), &"ü\"\n".repeat(1000));
    let mut envelopes = all_values();
    envelopes.extend((99..=600).map(|status| envelope(Code::RejectedOther, Some(status), "")));
    envelopes.extend(Code::ALL.iter().map(|code| envelope(*code, None, "")));
    envelopes.extend((0..long.len()).step_by(17).map(|length| long[..length].to_vec()));
    envelopes.push(long);
    envelopes
}

#[test]
fn classify_says_in_the_engine_what_it_says_natively() {
    assert_parity(CLASSIFY_WASM, &eddy_classify::Params::default(), &Params::new(), &envelopes());
}

#[test]
fn classify_takes_its_parameters_in_the_engine_as_it_does_natively() {
    let set = [("transient", "404, 400"), ("terminal", "503")];
    let native = eddy_classify::Params::parse(set).unwrap();

    assert_parity(CLASSIFY_WASM, &native, &params(&set), &envelopes());
}

#[test]
fn the_payloads_of_other_products_are_terminal_each_with_its_bytes_intact() {
    let payloads = corpus::payloads();
    assert!(!payloads.is_empty());
    let values: Vec<_> = payloads.iter().map(|(_, payload)| payload.clone()).collect();

    let judged = Chain::open(VALIDATE_WASM).run(batch(records(&values), BASES[0])).unwrap();

    for ((name, payload), judged) in payloads.iter().zip(&judged) {
        let (header, original) = Header::decode(judged.value()).unwrap();
        assert_eq!(header.verdict, Verdict::Terminal, "{name}");
        assert_eq!(original, payload, "{name}");
    }
}

#[test]
fn a_bad_record_leaves_its_neighbours_alone() {
    let values = [corpus::trigger(), vec![0xff; 9], corpus::trigger()];

    let judged = Chain::open(VALIDATE_WASM).run(batch(records(&values), BASES[0])).unwrap();

    let codes: Vec<_> = judged.iter().map(|record| Header::decode(record.value()).unwrap().0.code).collect();
    assert_eq!(codes, [Code::Ok, Code::NotUtf8, Code::Ok]);
}

#[test]
fn a_parameter_that_makes_no_sense_keeps_the_module_from_opening_and_is_named() {
    let refused = |wasm, set: &[(&str, &str)]| Chain::try_open(wasm, &params(set), 1 << 30).err().unwrap_or_default();

    assert!(refused(VALIDATE_WASM, &[("max_size", "1")]).contains("parameter `max_size` is not known"));
    assert!(refused(CLASSIFY_WASM, &[("terminal", "x")]).contains("parameter `terminal` is `x`"));
}

#[test]
fn bytes_that_are_no_batch_are_an_error_and_the_module_goes_on() {
    let mut chain = Chain::open(VALIDATE_WASM);
    let garbage = SmartModuleInput::new(vec![0, 0, 0, 9, 1, 2, 3], 0, 0);

    let refused = chain.run(garbage).unwrap_err();
    let judged = chain.run(batch(records(&[corpus::trigger()]), BASES[0])).unwrap();

    assert!(refused.contains("failed to decode SmartModule record input"), "{refused}");
    assert_eq!(judged.len(), 1);
}

/// Runs one batch over and over until `volume` bytes went through it.
fn run_volume(wasm: &[u8], value: &[u8], batch_records: usize, volume: usize, memory_bytes_max: usize) {
    let values = vec![value.to_vec(); batch_records];
    let input = batch(records(&values), BASES[0]);
    let mut chain = Chain::try_open(wasm, &Params::new(), memory_bytes_max).expect("the module opens");

    for run in 0..volume.div_ceil(value.len() * batch_records) {
        let judged = chain.run(input.clone()).unwrap_or_else(|error| panic!("batch {run}: {error}"));
        assert_eq!(judged.len(), batch_records);
    }
}

#[test]
fn sixty_four_megabytes_pass_through_validate_within_eight_megabytes_of_memory() {
    run_volume(VALIDATE_WASM, &corpus::trigger(), 2000, 64 << 20, 8 << 20);
}

#[test]
fn sixty_four_megabytes_pass_through_classify_within_eight_megabytes_of_memory() {
    run_volume(CLASSIFY_WASM, &envelope(Code::Unavailable, Some(503), &"x".repeat(500)), 500, 64 << 20, 8 << 20);
}

#[test]
fn a_module_says_the_same_of_a_record_alone_and_in_a_batch() {
    let alone = Record::new(RecordData::from(corpus::trigger()));
    let mut chain = Chain::open(VALIDATE_WASM);

    let judged_alone = chain.run(batch(vec![alone.clone()], BASES[0])).unwrap();
    let judged_in_batch = chain.run(batch(vec![alone; 3], BASES[0])).unwrap();

    assert_eq!(judged_alone[0].value(), judged_in_batch[2].value());
}
