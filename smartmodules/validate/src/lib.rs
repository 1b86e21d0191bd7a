//! Is this record a geofence trigger?
//!
//! A trigger is one JSON object: `device_id`, `fence_id`, `transition` (`ENTER`, `EXIT` or `DWELL`), `event_time_ns` (an integer),
//! `lat` and `lon` (numbers), and optionally `idempotency_key`, `traceparent`, `schema_version` (text or integer) and
//! `correlation_id` (texts). An optional field that is `null` counts as absent. Fields that the format does not know are
//! carried along untouched, as everything is: [`judge`] puts a verdict header in front of the original bytes.
//!
//! **Which finding wins** when several are true, in this order:
//!
//! 1. the bytes: too large, empty, not UTF-8;
//! 2. JSON: bad syntax or too deep, whichever stands first; a name that stands twice is noticed at the end of
//!    its object;
//! 3. the shape: one object;
//! 4. the fields, in the order of the format above, each one: present, of its type, of a good value.
//!
//! What is found here can never heal, so the verdict is `valid` or `terminal`. A `traceparent` that is none is
//! ignored, because a broken trace is no reason to lose a trigger. The idempotency key of a trigger that brings none is
//! derived by the host.

mod json;
mod params;
mod trigger;

use eddy_contract::guest::{Module, param};
use eddy_contract::{Code, Header, RecordView, Verdict};

pub use params::Params;

use trigger::Fields;

/// Why a record is no trigger: a code, and for a person what exactly is wrong.
#[derive(Debug, PartialEq)]
struct Finding {
    code: Code,
    detail: String,
}

impl Finding {
    fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

/// Appends the verdict on `record` and its original bytes to `out`. Total: it neither fails nor panics.
pub fn judge(record: RecordView<'_>, params: &Params, out: &mut Vec<u8>) {
    let (fields, unreadable) = match read(record.value, params) {
        Ok(fields) => (fields, None),
        Err(finding) => (Fields::default(), Some(finding)),
    };
    let finding = unreadable.or_else(|| fields.check(record.timestamp_ms, params).err());

    let (verdict, code, detail) = match &finding {
        None => (Verdict::Valid, Code::Ok, ""),
        Some(finding) => (Verdict::Terminal, finding.code, finding.detail.as_str()),
    };
    let header = Header { detail, ..Header::new(verdict, code, record.offset, record.timestamp_ms) };
    let schema_version = fields.schema_version_text();
    fields.copy_into(header, &schema_version).encode(record.value, out);
}

/// Reads the fields of a trigger, whatever their values are.
fn read<'a>(value: &'a [u8], params: &Params) -> Result<Fields<'a>, Finding> {
    let text = text(value, params)?;
    let mut fields = Fields::default();
    let value = json::read(text, params.depth_max, |name, value| fields.set(name, value))?;
    if value != json::Value::Object {
        return Err(Finding::new(Code::NotAnObject, format!("the value is {}, not an object", value.kind())));
    }
    Ok(fields)
}

/// The value as text with something in it.
fn text<'a>(value: &'a [u8], params: &Params) -> Result<&'a str, Finding> {
    if value.len() > params.bytes_max {
        let detail = format!("the value has {} bytes, more than {}", value.len(), params.bytes_max);
        return Err(Finding::new(Code::TooLarge, detail));
    }
    let content = value.strip_prefix(BYTE_ORDER_MARK).unwrap_or(value).trim_ascii();
    if content.is_empty() || content == b"null" {
        return Err(Finding::new(Code::EmptyPayload, "the value is empty"));
    }
    str::from_utf8(value).map_err(|error| {
        Finding::new(Code::NotUtf8, format!("the value is not UTF-8 from byte {} on", error.valid_up_to()))
    })
}

/// What some producers put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Module for Params {
    fn with_params(params: &[(&str, &str)]) -> Result<Self, param::Error> {
        Self::parse(params.iter().copied())
    }

    fn judge(&self, record: RecordView<'_>, out: &mut Vec<u8>) {
        judge(record, self, out);
    }
}

#[cfg(target_arch = "wasm32")]
eddy_contract::export_module!(crate::Params);
