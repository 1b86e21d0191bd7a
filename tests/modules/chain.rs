//! A module in the engine that a real SPU runs it in.

use eddy::modules::Params;
use fluvio_smartengine::{SmartEngine, SmartModuleChainBuilder, SmartModuleChainInstance, SmartModuleConfig};
use fluvio_smartmodule::Record;
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleInput;

/// Offset and time of the first record of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Base {
    pub offset: i64,
    pub timestamp_ms: i64,
}

/// An open module.
pub struct Chain(SmartModuleChainInstance);

impl Chain {
    /// Opens `wasm` with at most `memory_bytes_max` of memory, as a stream does.
    pub fn try_open(wasm: &[u8], params: &Params, memory_bytes_max: usize) -> Result<Self, String> {
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
    pub fn open(wasm: &[u8]) -> Self {
        Self::try_open(wasm, &Params::new(), 1 << 30).expect("a shipped module opens")
    }

    /// Runs a batch; an error of the engine or of the module as text.
    pub fn run(&mut self, records: Vec<Record>, base: Base) -> Result<Vec<Record>, String> {
        let mut input = SmartModuleInput::try_from_records(records, fluvio_smartmodule::SMARTMODULE_TIMESTAMPS_VERSION)
            .map_err(|error| error.to_string())?;
        input.set_base_offset(base.offset);
        input.set_base_timestamp(base.timestamp_ms);
        self.run_input(input)
    }

    /// Runs a batch that is already encoded.
    pub fn run_input(&mut self, input: SmartModuleInput) -> Result<Vec<Record>, String> {
        let output = self.0.process(input).map_err(|error| format!("{error:#}"))?;
        match output.error {
            None => Ok(output.successes),
            Some(error) => Err(error.hint),
        }
    }
}
