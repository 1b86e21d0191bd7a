//! Appends a mark to every value; the key stays.

use fluvio_smartmodule::{RecordData, Result, SmartModuleRecord, smartmodule};

const MARK: &[u8] = if cfg!(feature = "second-build") { b" (second build)" } else { b" (first build)" };

#[smartmodule(map)]
pub fn map(record: &SmartModuleRecord) -> Result<(Option<RecordData>, RecordData)> {
    let marked = [record.value.as_ref(), MARK].concat();
    Ok((record.key.clone(), marked.into()))
}
