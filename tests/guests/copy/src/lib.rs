//! A map that only copies, made with Fluvio's own macro: what `validate` is measured against.

use fluvio_smartmodule::dataplane::smartmodule::SmartModuleRecord;
use fluvio_smartmodule::{RecordData, Result, smartmodule};

/// Copies.
#[smartmodule(map)]
pub fn map(record: &SmartModuleRecord) -> Result<(Option<RecordData>, RecordData)> {
    Ok((record.key.clone(), record.value.clone()))
}
