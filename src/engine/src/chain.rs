//! A chain of started modules and what one batch makes of it.

use std::sync::LazyLock;

use fluvio_protocol::{link::smartmodule::SmartModuleTransformRuntimeError, record::Record};
use fluvio_smartengine::{SmartEngine, SmartModuleChainBuilder, SmartModuleChainInstance};
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleInput;

use crate::{Error, Module};

/// One engine for the process: it holds only the compiler's settings, and making one is not free.
static ENGINE: LazyLock<SmartEngine> = LazyLock::new(SmartEngine::new);

/// Modules that were compiled and started, ready for batches; pinned to the bytes they were made of.
#[derive(Debug)]
pub struct Chain {
    instance: SmartModuleChainInstance,
}

/// What a chain made of one batch.
#[derive(Debug)]
pub struct Output {
    /// The records it let through, up to the error if there is one.
    pub records: Vec<Record>,
    /// The record that a module refused; those behind it were not looked at.
    pub error: Option<SmartModuleTransformRuntimeError>,
}

impl Chain {
    /// Compiles and starts the modules; takes about 100 ms each, so do it once per stream.
    pub fn new(modules: &[Module]) -> Result<Self, Error> {
        let mut builder = SmartModuleChainBuilder::default();
        for module in modules {
            builder.add_smart_module(module.config(), module.unpacked()?.into_owned());
        }
        let instance = builder.initialize(&ENGINE).map_err(Error::from_start)?;
        Ok(Self { instance })
    }

    /// Runs one batch through all stages.
    ///
    /// `records` is what stands behind a batch header once decompressed: a count and the encoded records.
    /// The base offset and timestamp are the batch's, so that modules see true ones.
    pub fn process(&mut self, records: Vec<u8>, base_offset: i64, base_timestamp_ms: i64) -> Result<Output, Error> {
        let input = SmartModuleInput::new(records, base_offset, base_timestamp_ms);
        let output = self.instance.process(input).map_err(|error| Error::from_run(&error))?;
        Ok(Output { records: output.successes, error: output.error })
    }
}
