//! A module alone, in the engine of an SPU: no log, no network.

use std::time::{Duration, Instant};

use fluvio_smartmodule::Record;

use super::{
    chain::{self, Base, Chain},
    load,
    measure::Measured,
};

const TRIGGER_BYTES: usize = 250;

const BATCH_RECORDS: usize = 2000;

/// Batches per round; the best of the rounds counts.
const ROUND_BATCHES: usize = 25;

const ROUNDS: usize = 5;

const BASE: Base = Base { offset: 0, timestamp_ms: 1_796_000_000_500 };

pub(crate) fn measure(what: &str, wasm: &[u8]) -> Measured {
    let mut chain = Chain::open(wasm);
    let records =
        load::triggers(BATCH_RECORDS, TRIGGER_BYTES).iter().map(|trigger| Record::new(trigger.to_vec())).collect();
    let batch = chain::batch(records, BASE);
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..ROUND_BATCHES {
            chain.run(batch.clone()).expect("a round is far below the volume that ends a module");
        }
        best = best.min(start.elapsed() / (ROUND_BATCHES * BATCH_RECORDS) as u32);
    }
    Measured::from_mean(what, best)
}
