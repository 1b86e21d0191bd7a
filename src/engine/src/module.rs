//! One stage of a chain: bytes, parameters, and how both reach the engine.

use std::{borrow::Cow, io::Read};

use bytes::Bytes;
use flate2::read::GzDecoder;
use fluvio_smartengine::{SmartModuleConfig, SmartModuleInitialData};
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleExtraParams;

use crate::Error;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A SmartModule as it travels: possibly gzipped, with the parameters of one use of it.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// What errors call it.
    pub name: String,
    /// WebAssembly, gzipped or plain.
    pub wasm: Bytes,
    /// What its `init` is given; made from a map of strings.
    pub params: SmartModuleExtraParams,
    /// The first accumulator of an aggregate; `None` for every other kind.
    pub accumulator: Option<Vec<u8>>,
}

impl Module {
    /// A module without parameters.
    pub fn new(name: impl Into<String>, wasm: impl Into<Bytes>) -> Self {
        Self { name: name.into(), wasm: wasm.into(), ..Self::default() }
    }

    /// The module's plain bytes.
    pub fn unpacked(&self) -> Result<Cow<'_, [u8]>, Error> {
        if !self.wasm.starts_with(&GZIP_MAGIC) {
            return Ok(Cow::Borrowed(&self.wasm));
        }
        let mut plain = Vec::new();
        GzDecoder::new(self.wasm.as_ref())
            .read_to_end(&mut plain)
            .map_err(|source| Error::Unpack { name: self.name.clone(), source })?;
        Ok(Cow::Owned(plain))
    }

    pub(crate) fn config(&self) -> SmartModuleConfig {
        let mut config = SmartModuleConfig::builder();
        config.smartmodule_names(vec![self.name.clone()]);
        config.params(self.params.clone());
        if let Some(accumulator) = &self.accumulator {
            config.initial_data(SmartModuleInitialData::with_aggregate(accumulator.clone()));
        }
        config.build().expect("the only required field, the names, is set")
    }
}
