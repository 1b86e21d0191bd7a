//! A map made with Fluvio's own macro that calls every record valid, and fails in each way that a module can fail when
//! the record's value asks for it.

use eddy_contract::{Code, Header, Verdict};
use fluvio_smartmodule::dataplane::smartmodule::SmartModuleRecord;
use fluvio_smartmodule::{RecordData, Result, eyre, smartmodule};

/// Judges, or fails.
#[smartmodule(map)]
pub fn map(record: &SmartModuleRecord) -> Result<(Option<RecordData>, RecordData)> {
    let original: &[u8] = record.value.as_ref();
    let offset = match original {
        b"refuse" => return Err(eyre!("as asked")),
        b"trap" => panic!("as asked"),
        b"loop" => loop {
            std::hint::spin_loop();
        },
        b"garbage" => return Ok((record.key.clone(), RecordData::from("no verdict"))),
        b"wrong offset" => record.offset() + 3,
        _ => record.offset(),
    };
    let mut output = Vec::new();
    Header::new(Verdict::Valid, Code::Ok, offset, record.timestamp()).encode(original, &mut output);
    Ok((record.key.clone(), output.into()))
}
