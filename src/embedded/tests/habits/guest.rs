//! SmartModules whose behaviour a record chooses by the first character of its value.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use fluvio_spu_schema::server::smartmodule::{SmartModuleInvocation, SmartModuleInvocationWasm, SmartModuleKind};

/// Keeps a record as it is, but drops it at `-`, refuses it with an `Err` at `!`, and panics at `*`.
pub(crate) fn picky() -> SmartModuleInvocation {
    adhoc(&text(""))
}

/// Keeps every record and forgets 64 MiB at every batch, as the stock entry forgets its output.
pub(crate) fn forgetful() -> SmartModuleInvocation {
    adhoc(&text("(drop (memory.grow (i32.const 1024)))"))
}

/// A module whose bytes are these.
pub(crate) fn adhoc(wasm: &[u8]) -> SmartModuleInvocation {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(wasm).unwrap();
    invocation(SmartModuleInvocationWasm::AdHoc(gzip.finish().unwrap()))
}

pub(crate) fn invocation(wasm: SmartModuleInvocationWasm) -> SmartModuleInvocation {
    SmartModuleInvocation { wasm, kind: SmartModuleKind::FilterMap, ..SmartModuleInvocation::default() }
}

/// Input: base offset (8 bytes), length (4), record count (4), records. Output: count, records, error or 0.
fn text(at_every_batch: &str) -> Vec<u8> {
    format!(
        r#"(module
  (import "env" "copy_records" (func $answer (param i32 i32)))
  (memory (export "memory") 1024)
  (data (i32.const 16) "\01\00\07refused\00\00\00\00\00\00\00\00\00\00\00")
  (global $at (mut i32) (i32.const 0))

  (func (export "alloc") (param i32) (result i32) (i32.const 0x100000))

  (func $byte (result i32)
    (global.set $at (i32.add (global.get $at) (i32.const 1)))
    (i32.load8_u (i32.sub (global.get $at) (i32.const 1))))

  (func $varint (result i32)
    (local $number i32) (local $shift i32) (local $byte i32)
    (loop $more
      (local.set $byte (call $byte))
      (local.set $number (i32.or (local.get $number)
        (i32.shl (i32.and (local.get $byte) (i32.const 127)) (local.get $shift))))
      (local.set $shift (i32.add (local.get $shift) (i32.const 7)))
      (br_if $more (i32.and (local.get $byte) (i32.const 128))))
    (i32.shr_u (local.get $number) (i32.const 1)))

  (func $skip (param $bytes i32)
    (global.set $at (i32.add (global.get $at) (local.get $bytes))))

  (func $big_endian (result i32)
    (i32.or (i32.or (i32.shl (call $byte) (i32.const 24)) (i32.shl (call $byte) (i32.const 16)))
            (i32.or (i32.shl (call $byte) (i32.const 8)) (call $byte))))

  (func $store_big_endian (param $to i32) (param $number i32)
    (i32.store8 (local.get $to) (i32.shr_u (local.get $number) (i32.const 24)))
    (i32.store8 offset=1 (local.get $to) (i32.shr_u (local.get $number) (i32.const 16)))
    (i32.store8 offset=2 (local.get $to) (i32.shr_u (local.get $number) (i32.const 8)))
    (i32.store8 offset=3 (local.get $to) (local.get $number)))

  (func (export "filter_map") (param $in i32) (param i32 i32) (result i32)
    (local $left i32) (local $start i32) (local $end i32) (local $delta i32) (local $first i32)
    (local $kept i32) (local $out i32)
    {at_every_batch}
    (local.set $out (i32.const 0x2000004))
    (global.set $at (i32.add (local.get $in) (i32.const 12)))
    (local.set $left (call $big_endian))
    (block $done
      (loop $next
        (i32.store8 (local.get $out) (i32.const 0))
        (br_if $done (i32.eqz (local.get $left)))
        (local.set $start (global.get $at))
        (local.set $end (call $varint))
        (local.set $end (i32.add (local.get $end) (global.get $at)))
        (call $skip (i32.const 1))
        (drop (call $varint))
        (local.set $delta (call $varint))
        (if (call $byte) (then (call $skip (call $varint))))
        (drop (call $varint))
        (local.set $first (call $byte))
        (if (i32.eq (local.get $first) (i32.const 42 (; * ;))) (then unreachable))
        (if (i32.eq (local.get $first) (i32.const 33 (; ! ;)))
          (then
            (memory.copy (local.get $out) (i32.const 16) (i32.const 21))
            (i32.store8 offset=17 (local.get $out)
              (i32.add (i32.load8_u offset=7 (local.get $in)) (local.get $delta)))
            (local.set $out (i32.add (local.get $out) (i32.const 20)))
            (br $done)))
        (if (i32.ne (local.get $first) (i32.const 45 (; - ;)))
          (then
            (memory.copy (local.get $out) (local.get $start) (i32.sub (local.get $end) (local.get $start)))
            (local.set $out (i32.add (local.get $out) (i32.sub (local.get $end) (local.get $start))))
            (local.set $kept (i32.add (local.get $kept) (i32.const 1)))))
        (global.set $at (local.get $end))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next)))
    (call $store_big_endian (i32.const 0x2000000) (local.get $kept))
    (call $answer (i32.const 0x2000000) (i32.sub (i32.add (local.get $out) (i32.const 1)) (i32.const 0x2000000)))
    (local.get $kept)))"#
    )
    .into_bytes()
}
