//! How fast `validate` is in the engine, and that a long stream does not end it.
//!
//! `cargo bench --bench modules` prints, for triggers of 250 bytes: microseconds per trigger through `validate` and through a
//! map made with Fluvio's macro that only copies, both with everything the engine does around the guest; and how many
//! bytes one open module judged before it ended, or 2 GB if it did not.

#![expect(clippy::print_stdout, reason = "what was measured is the result")]

#[path = "../modules/chain.rs"]
mod chain;

use std::time::{Duration, Instant};

use chain::{Base, Chain};
use eddy::modules::VALIDATE_WASM;
use fluvio_smartmodule::Record;
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleInput;

const TRIGGER_BYTES: usize = 250;

const BATCH_RECORDS: usize = 2000;

/// Batches that are measured; the best one counts, because all else is the machine's other work.
const BATCHES: usize = 500;

const VOLUME_BYTES: usize = 2_000_000_000;

const BASE: Base = Base { offset: 0, timestamp_ms: 1_796_000_000_500 };

fn main() {
    let copy = eddy_guests::copy();
    let modules = [("validate", VALIDATE_WASM), ("stock macro, only copies", copy)];

    println!("triggers of {TRIGGER_BYTES} bytes in batches of {BATCH_RECORDS}");
    for (name, wasm) in modules {
        let per_trigger = per_trigger(wasm);
        println!("{name:>26}: {:.2} µs a trigger", per_trigger.as_secs_f64() * 1e6);
    }
    for (name, wasm) in modules {
        match volume(wasm) {
            Ok(()) => println!("{name:>26}: {VOLUME_BYTES} bytes through one open module"),
            Err(bytes) => println!("{name:>26}: ended after {bytes} bytes"),
        }
    }
    assert!(volume(VALIDATE_WASM).is_ok(), "validate must not end");
}

/// The mean within the best batch.
fn per_trigger(wasm: &[u8]) -> Duration {
    let mut chain = Chain::open(wasm);
    let triggers = triggers();
    let measure = |_| {
        let batch = triggers.clone();
        let start = Instant::now();
        let judged = chain.run(batch).expect("this is far below the volume that ends a module");
        let elapsed = start.elapsed();
        assert_eq!(judged.len(), BATCH_RECORDS);
        elapsed / BATCH_RECORDS as u32
    };
    (0..BATCHES).map(measure).min().unwrap_or_default()
}

/// Whether [`VOLUME_BYTES`] pass through one open module; otherwise how many did.
fn volume(wasm: &[u8]) -> Result<(), usize> {
    let mut chain = Chain::open(wasm);
    let triggers = triggers();
    for bytes in (0..VOLUME_BYTES).step_by(TRIGGER_BYTES * BATCH_RECORDS) {
        chain.run(triggers.clone()).map_err(|_| bytes)?;
    }
    Ok(())
}

fn triggers() -> SmartModuleInput {
    chain::batch((0..BATCH_RECORDS).map(|_| Record::new_key_value("truck-0007", trigger())).collect(), BASE)
}

fn trigger() -> String {
    let head = concat!(
        r#"{"device_id":"truck-0007","fence_id":"depot-north-17","transition":"ENTER","#,
        r#""event_time_ns":1796000000000000000,"lat":51.924310,"lon":4.477910,"speed":13.9,"battery":81,"#,
        r#""driver":{"id":"d-204","shift":"night"},"note":""#
    );
    let tail = "\"}";
    format!("{head}{}{tail}", "n".repeat(TRIGGER_BYTES - head.len() - tail.len()))
}
