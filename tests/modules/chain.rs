//! A module in the engine that a real SPU runs it in.

use eddy::modules::Params;
use fluvio_smartengine::{SmartEngine, SmartModuleChainBuilder, SmartModuleChainInstance, SmartModuleConfig};
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleInput;
use fluvio_smartmodule::{Record, SMARTMODULE_TIMESTAMPS_VERSION};

/// Offset and time of the first record of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base {
    pub(crate) offset: i64,
    pub(crate) timestamp_ms: i64,
}

/// A batch as a module gets it.
pub(crate) fn batch(records: Vec<Record>, base: Base) -> SmartModuleInput {
    let mut batch = SmartModuleInput::try_from_records(records, SMARTMODULE_TIMESTAMPS_VERSION)
        .expect("records encode into memory without fail");
    batch.set_base_offset(base.offset);
    batch.set_base_timestamp(base.timestamp_ms);
    batch
}

/// An open module.
pub(crate) struct Chain(SmartModuleChainInstance);

impl Chain {
    /// Opens `wasm` with at most `memory_bytes_max` of memory, as a stream does.
    pub(crate) fn try_open(wasm: &[u8], params: &Params, memory_bytes_max: usize) -> Result<Self, String> {
        let config = SmartModuleConfig::builder()
            .smartmodule_names(["under-test".to_owned()])
            .params(params.clone().into())
            .build()
            .map_err(|error| error.to_string())?;
        let mut builder = SmartModuleChainBuilder::default();
        builder.set_store_memory_limit(memory_bytes_max);
        builder.add_smart_module(config, wasm.to_vec());
        builder.initialize(&SmartEngine::new()).map(Self).map_err(|error| error.to_string())
    }

    /// Opens `wasm` without parameters and with the memory that an SPU allows.
    pub(crate) fn open(wasm: &[u8]) -> Self {
        Self::try_open(wasm, &Params::new(), 1 << 30).expect("a shipped module opens")
    }

    /// Runs a batch; an error of the engine or of the module as text.
    pub(crate) fn run(&mut self, batch: SmartModuleInput) -> Result<Vec<Record>, String> {
        let output = self.0.process(batch).map_err(|error| format!("{error:#}"))?;
        match output.error {
            None => Ok(output.successes),
            Some(error) => Err(error.hint),
        }
    }
}
