//! Runs SmartModules the way a real SPU does, with Fluvio's own engine.
//!
//! This package exists so that wasmtime stays out of everything else: the embedded node, tests and the child
//! process that judges foreign builds all know only [`Chain`]. It decides nothing about offsets, sizes or what a
//! failure means to a client; it turns the records of one stored batch into output records, or says why not.
//!
//! A call cannot be interrupted and a module that loops never returns, so callers give a chain its own thread.
//! A chain that has trapped may have broken its own memory and is of no further use.

mod chain;
mod error;
mod module;

pub use chain::{Chain, Output};
pub use error::Error;
pub use module::Module;

pub use fluvio_protocol::{
    link::smartmodule::{SmartModuleInitRuntimeError, SmartModuleTransformRuntimeError},
    record::Record,
};
pub use fluvio_smartmodule::dataplane::smartmodule::SmartModuleExtraParams;

use std::borrow::Cow;

use fluvio_compression::Compression;

/// The records of a batch as its producer encoded them, from the bytes stored behind the batch header.
///
/// `codec` is the low three bits of the batch's attributes.
pub fn decompress(codec: i8, stored: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    let compression = Compression::try_from(codec)?;
    Ok(compression.uncompress(stored)?.map_or(Cow::Borrowed(stored), Cow::Owned))
}
