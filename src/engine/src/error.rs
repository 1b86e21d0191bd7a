//! What can go wrong with a chain, told apart as far as a client is told.

use fluvio_compression::CompressionError;
use fluvio_protocol::link::smartmodule::SmartModuleInitRuntimeError;
use fluvio_smartengine::EngineError;

/// Why a chain could not be built or could not finish a batch.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes claim to be gzip and are not.
    #[error("module {name} does not unpack: {source}")]
    Unpack {
        /// The module's name.
        name: String,
        /// What the decoder said.
        source: std::io::Error,
    },
    /// The module grew beyond the engine's limit.
    #[error("module asks for {requested} bytes of memory, {max} are allowed")]
    Memory {
        /// What it asked for.
        requested: u64,
        /// The limit.
        max: u64,
    },
    /// The module's own `init` refused its parameters.
    #[error("module refused to start: {}", .0.hint)]
    Init(SmartModuleInitRuntimeError),
    /// The bytes are no module, or lack an export.
    #[error("chain does not start: {0}")]
    Start(String),
    /// The module panicked, overflowed or answered nonsense; nothing of the batch is usable.
    #[error("module trapped: {0}")]
    Trap(String),
    /// The batch's compression is unknown or its bytes are damaged.
    #[error("batch does not decompress: {0}")]
    Decompress(#[from] CompressionError),
}

impl Error {
    pub(crate) fn from_start(error: anyhow::Error) -> Self {
        let error = match error.downcast::<SmartModuleInitRuntimeError>() {
            Ok(refused) => return Self::Init(refused),
            Err(other) => other,
        };
        match error.downcast_ref::<EngineError>() {
            Some(EngineError::StoreMemoryExceeded { requested, max, .. }) => {
                Self::Memory { requested: *requested as u64, max: *max as u64 }
            }
            _ => Self::Start(format!("{error:#}")),
        }
    }

    /// A real SPU shows a trap with its whole backtrace, so all of it is kept.
    pub(crate) fn from_run(error: &anyhow::Error) -> Self {
        Self::Trap(format!("{error:?}"))
    }
}
