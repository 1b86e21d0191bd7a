//! Can this failure heal?
//!
//! The record is an envelope from a failures topic; its last failure decides between `transient`, `terminal` and
//! `unclassified`. What this module does not know it does not call transient, so it is not retried. Two
//! parameters, `transient` and `terminal`, override the table: lists of statuses such as `404,409`.
//!
//! Faults of the sink itself (its credentials, address, certificate) are held back before anything is written and should
//! never arrive here. If one does, it is transient: no record is to blame for it.
//!
//! A record that is no envelope, or an envelope without a failure, is terminal with the code `envelope_invalid`.

mod params;
mod table;

use eddy_contract::guest::{Module, param};
use eddy_contract::{Class, Code, Envelope, Header, RecordView, Verdict};

pub use params::Params;

/// Appends the verdict on `record`, an envelope, and its original bytes to `out`. Total: it neither fails nor panics.
pub fn judge(record: RecordView<'_>, params: &Params, out: &mut Vec<u8>) {
    let header = |verdict, code| Header::new(verdict, code, record.offset, record.timestamp_ms);
    let invalid = |detail: &str, out: &mut Vec<u8>| {
        let header = Header { detail, ..header(Verdict::Terminal, Code::EnvelopeInvalid) };
        header.encode(record.value, out);
    };
    let envelope = match Envelope::decode(record.value) {
        Ok(envelope) => envelope,
        Err(error) => return invalid(&error.to_string(), out),
    };
    let Some(failure) = envelope.failures.last() else {
        return invalid("the envelope holds no failure", out);
    };

    let (class, why) = table::class(failure.code, failure.status, params);
    let header = Header { detail: &why, ..header(verdict(class), failure.code) };
    copied_from(&envelope, header).encode(record.value, out);
}

const fn verdict(class: Class) -> Verdict {
    match class {
        Class::Transient => Verdict::Transient,
        Class::Terminal => Verdict::Terminal,
        Class::Unclassified => Verdict::Unclassified,
    }
}

/// Copies into `header` what the envelope knows of its trigger.
fn copied_from<'a>(envelope: &'a Envelope, header: Header<'a>) -> Header<'a> {
    let text = |field: &'a Option<String>| field.as_deref().unwrap_or_default();
    Header {
        event_time_ns: envelope.event_time_ns.unwrap_or(0),
        idempotency_key: text(&envelope.idempotency_key),
        device: text(&envelope.device),
        fence: text(&envelope.fence),
        transition: text(&envelope.transition),
        traceparent: text(&envelope.traceparent),
        correlation_id: text(&envelope.correlation_id),
        schema_version: text(&envelope.schema_version),
        ..header
    }
}

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
