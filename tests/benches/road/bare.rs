//! Consumption that does nothing with what it reads: one stream per partition, from the first record to the last.
//!
//! The clock starts when the first records are there, so opening the module's stream is left out.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use eddy::{
    broker::{
        Read, Reader,
        judged::{self, Fallback, Judging, Module, STALL_AFTER},
        reader::Counts,
    },
    modules::VALIDATE_WASM,
};
use eddy_topology::topology::Topology;
use fluvio::{
    Fluvio, FluvioClusterConfig, Offset,
    consumer::{ConsumerConfigExt, RetryMode, SmartModuleInvocation, SmartModuleInvocationWasm, SmartModuleKind},
};
use futures_util::{StreamExt, future::join_all};

use super::{
    measure::{Measured, Stopwatch},
    stage::Stage,
};

/// Far above any batch, as eddy's own reader has it, because a broker skips an output that does not fit.
const ANSWER_BYTES_MAX: i32 = 8 << 20;

/// Through `wasm` with the client that everybody uses.
pub(crate) async fn stock_client(what: &str, stage: &Stage, topology: &Topology, wasm: &[u8]) -> Measured {
    let clock = Clock::default();
    let ends = stage.ends(topology).await;
    let config = FluvioClusterConfig::new(stage.cluster.address());
    let client = Fluvio::connect_with_config(&config).await.expect("the node answers");
    let read = ends.iter().enumerate().map(async |(partition, end)| {
        let partition = partition as u32;
        let config = ConsumerConfigExt::builder()
            .topic(topology.names().source.as_str())
            .partition(partition)
            .offset_start(Offset::beginning())
            .max_bytes(ANSWER_BYTES_MAX)
            .retry_mode(RetryMode::Disabled)
            .smartmodule(vec![SmartModuleInvocation {
                wasm: SmartModuleInvocationWasm::adhoc_from_bytes(wasm).expect("compressing memory into memory"),
                kind: SmartModuleKind::Map,
                ..SmartModuleInvocation::default()
            }])
            .build()
            .expect("nothing is missing");
        let mut records = client.consumer_with_config(config).await.expect("the node has the topic");
        for _ in 0..*end {
            records.next().await.expect("a stream does not end").expect("the module takes every trigger");
            clock.came(1);
        }
    });
    join_all(read).await;
    clock.stop(what)
}

/// Through `validate` with eddy's reader.
pub(crate) async fn judged_reader(what: &str, stage: &Stage, topology: &Topology) -> Measured {
    let clock = Clock::default();
    let ends = stage.ends(topology).await;
    let source = topology.names().source.as_str();
    let read = ends.iter().enumerate().map(async |(partition, end)| {
        let mut reader = judged::read(&stage.cluster, source, partition as u32, 0, judging());
        let mut left = *end;
        while left > 0 {
            let came = batch(&mut reader).await;
            left -= came as i64;
            clock.came(came);
        }
        assert_eq!(reader.counts(), Counts::default(), "one stream gives everything");
    });
    join_all(read).await;
    clock.stop(what)
}

async fn batch(reader: &mut Reader) -> usize {
    match reader.next().await {
        Some(Ok(Read::Batch { inputs, .. })) => inputs.len(),
        other => panic!("the reader gave {other:?}"),
    }
}

fn judging() -> Judging {
    let module = Module {
        name: "validate".to_owned(),
        wasm: VALIDATE_WASM.into(),
        build: "of this bench".into(),
        params: BTreeMap::new(),
    };
    let judge = Arc::new(|_: &eddy::broker::Record| panic!("the module takes every trigger"));
    Judging { module, fallback: Fallback { judge, build: "none".into() }, stall_after: STALL_AFTER }
}

/// Counts what comes after the clock has started.
#[derive(Default)]
struct Clock {
    watch: OnceLock<Stopwatch>,
    counted: AtomicUsize,
}

impl Clock {
    fn came(&self, records: usize) {
        match self.watch.get() {
            Some(_) => drop(self.counted.fetch_add(records, Ordering::Relaxed)),
            None => drop(self.watch.set(Stopwatch::start())),
        }
    }

    fn stop(self, what: &str) -> Measured {
        self.watch.get().expect("something was read").stop(what, self.counted.into_inner())
    }
}
