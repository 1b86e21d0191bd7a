//! Chains of modules in WebAssembly text, which the engine takes as it takes the binary form.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::Write;

use eddy_engine::{Chain, Error, Module, Record, decompress};
use flate2::{Compression as Level, write::GzEncoder};
use fluvio_compression::Compression;
use fluvio_protocol::Encoder;

/// Answers with the records that it was given: count and records stand behind 12 bytes of input, an error does not.
const IDENTITY: &str = r#"(module
  (import "env" "copy_records" (func $answer (param i32 i32)))
  (memory (export "memory") 16)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "map") (param $in i32) (param $len i32) (param i32) (result i32)
    (local $records i32)
    ;; behind the records stand 15 bytes: no parameters, no look-back, no join record, the timestamp
    (local.set $records (i32.sub (local.get $len) (i32.const 27)))
    (i32.store8 offset=12 (i32.add (local.get $in) (local.get $records)) (i32.const 0))
    (call $answer (i32.add (local.get $in) (i32.const 12)) (i32.add (local.get $records) (i32.const 1)))
    (i32.const 0)))"#;

const PANICKING: &str = r#"(module
  (import "env" "copy_records" (func (param i32 i32)))
  (memory (export "memory") 16)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "map") (param i32 i32 i32) (result i32) unreachable))"#;

const GROWING: &str = r#"(module
  (import "env" "copy_records" (func (param i32 i32)))
  (memory (export "memory") 20000)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "map") (param i32 i32 i32) (result i32) (i32.const 0)))"#;

fn module(text: &'static str) -> Module {
    Module::new("judge", text.as_bytes())
}

fn encoded(values: &[&str]) -> Vec<u8> {
    let records: Vec<_> = values.iter().map(|value| Record::new(*value)).collect();
    let mut bytes = Vec::new();
    records.encode(&mut bytes, 0).unwrap();
    bytes
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Level::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn run(modules: &[Module]) -> Vec<String> {
    let output = Chain::new(modules).unwrap().process(encoded(&["a", "b"]), 7, 1_700_000_000_000).unwrap();
    assert!(output.error.is_none());
    output.records.iter().map(|record| String::from_utf8_lossy(&record.value).into_owned()).collect()
}

#[test]
fn records_go_through_every_stage_of_a_chain() {
    assert_eq!(run(&[module(IDENTITY)]), ["a", "b"]);
    assert_eq!(run(&[module(IDENTITY), module(IDENTITY)]), ["a", "b"]);
}

#[test]
fn a_module_may_travel_gzipped() {
    assert_eq!(run(&[Module::new("judge", gzipped(IDENTITY.as_bytes()))]), ["a", "b"]);
}

#[test]
fn damaged_gzip_is_told_with_the_modules_name() {
    let mut damaged = gzipped(IDENTITY.as_bytes());
    damaged.truncate(20);

    let refused = Chain::new(&[Module::new("judge", damaged)]);

    assert!(matches!(refused, Err(Error::Unpack { name, .. }) if name == "judge"));
}

#[test]
fn bytes_that_are_no_module_do_not_start() {
    assert!(matches!(Chain::new(&[module("not a module")]), Err(Error::Start(_))));
}

#[test]
fn a_module_that_asks_for_too_much_memory_does_not_start() {
    assert!(matches!(Chain::new(&[module(GROWING)]), Err(Error::Memory { requested, max }) if requested > max));
}

#[test]
fn a_panic_is_a_trap_with_its_backtrace() {
    let mut chain = Chain::new(&[module(PANICKING)]).unwrap();

    let trapped = chain.process(encoded(&["a"]), 0, -1);

    assert!(matches!(trapped, Err(Error::Trap(told)) if told.contains("wasm backtrace")));
}

#[test]
fn every_codec_of_producers_is_undone() {
    let stored = encoded(&["a", "b"]);
    for codec in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let compressed = codec.compress(&stored).unwrap();

        assert_eq!(decompress(codec as i8, &compressed).unwrap().as_ref(), stored, "{codec}");
    }
}

#[test]
fn an_unknown_codec_and_damaged_bytes_are_errors() {
    assert!(matches!(decompress(7, b"x"), Err(Error::Decompress(_))));
    assert!(matches!(decompress(Compression::Zstd as i8, b"not zstd"), Err(Error::Decompress(_))));
}
