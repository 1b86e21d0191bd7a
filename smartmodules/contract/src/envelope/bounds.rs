//! Keeps an envelope within its bounds, whatever producers and downstreams put into it.
//!
//! Three rules, applied whenever an envelope is encoded:
//!
//! * Strings that a producer or a downstream controls are cut at a UTF-8 boundary. Lengths are counted *as JSON*, where
//!   a control character takes six bytes, so that escapes cannot break the bound.
//! * Of many failures the first and the last few stay. Messages are cut to [`MESSAGE_BYTES_MAX`], and further when
//!   the whole would not fit [`OVERHEAD_BYTES_MAX`]; a cut message keeps the hash of the whole.
//! * Of a repaired payload and the original that together would make the record larger than the broker accepts, the
//!   original gives way: the log has it still. A payload that is too large alone gives way to its size and hash.
//!
//! Ids, keys, times and hashes are never cut. Encoding twice changes nothing.

use super::{Elided, Envelope, Failure, Payload};
use crate::idempotency::{KEY_BYTES_MAX, sha256_hex};

/// The most that an envelope adds to its payload's base64, bytes. Holds for topics and modules with names of at most 63
/// bytes, which Fluvio demands.
pub const OVERHEAD_BYTES_MAX: usize = 4096;

/// The largest encoded envelope, bytes: the broker's 32 MiB for one request, less room for its frame and the key.
pub const ENCODED_BYTES_MAX: usize = (32 << 20) - (64 << 10);

/// Failures that are kept: the first, and the last three.
pub const FAILURES_MAX: usize = 4;

/// The longest message of a failure, bytes of JSON.
pub const MESSAGE_BYTES_MAX: usize = 512;

/// What messages and locations may take, from generous to what always fits.
const MESSAGE_CAPS: [usize; 5] = [MESSAGE_BYTES_MAX, 256, 128, 64, 0];

/// Modules whose builds are kept.
const MODULES_MAX: usize = 2;

/// The longest name of a thing of ours, and the longest hash: sink, job, actor, reason, module and its build.
const NAME_BYTES_MAX: usize = 64;

/// The longest note of an operator, bytes of JSON.
pub const NOTE_BYTES_MAX: usize = 64;

/// The longest copy of what a trigger said.
const COPY_BYTES_MAX: usize = 128;

/// The longest signature, bytes of JSON.
pub(crate) const SIGNATURE_BYTES_MAX: usize = 96;

/// Encodes `envelope` as JSON within its bounds.
pub(super) fn encode(mut envelope: Envelope) -> Vec<u8> {
    cap_strings(&mut envelope);
    omit_failures(&mut envelope);
    elide_payload(&mut envelope);
    let payload_bytes = base64_length(envelope.payload_b64.as_ref()) + base64_length(envelope.original_b64.as_ref());

    let mut json = Vec::new();
    for message_bytes_max in MESSAGE_CAPS {
        envelope.failures.iter_mut().for_each(|failure| failure.cut(message_bytes_max));
        json = serde_json::to_vec(&envelope).expect("an envelope has string keys and no fallible parts");
        if json.len() <= payload_bytes + OVERHEAD_BYTES_MAX {
            break;
        }
    }
    json
}

fn cap_strings(envelope: &mut Envelope) {
    cap(&mut envelope.idempotency_key, 2 * KEY_BYTES_MAX);
    for copy in [&mut envelope.correlation_id, &mut envelope.device, &mut envelope.fence] {
        cap(copy, COPY_BYTES_MAX);
    }
    for name in [
        &mut envelope.schema_version,
        &mut envelope.traceparent,
        &mut envelope.transition,
        &mut envelope.sink,
        &mut envelope.job,
        &mut envelope.actor,
        &mut envelope.reason,
    ] {
        cap(name, NAME_BYTES_MAX);
    }
    cap(&mut envelope.note, NOTE_BYTES_MAX);
    while envelope.modules.len() > MODULES_MAX {
        envelope.modules.pop_last();
    }
    envelope.modules.values_mut().for_each(|build| cut(build, NAME_BYTES_MAX));
    for failure in &mut envelope.failures {
        cut(&mut failure.stage, NAME_BYTES_MAX / 4);
        cut(&mut failure.signature, SIGNATURE_BYTES_MAX);
    }
}

/// Keeps the first failure and the last three.
fn omit_failures(envelope: &mut Envelope) {
    let surplus = envelope.failures.len().saturating_sub(FAILURES_MAX);
    if surplus > 0 {
        envelope.failures.drain(1..=surplus);
        envelope.failures_omitted =
            envelope.failures_omitted.saturating_add(u32::try_from(surplus).unwrap_or(u32::MAX));
    }
}

fn base64_length(payload: Option<&Payload>) -> usize {
    payload.map_or(0, |Payload(bytes)| Payload::base64_length(bytes.len()))
}

fn elide_payload(envelope: &mut Envelope) {
    const PAYLOAD_BYTES_MAX: usize = ENCODED_BYTES_MAX - OVERHEAD_BYTES_MAX;

    let payload_bytes = base64_length(envelope.payload_b64.as_ref());
    envelope.original_b64 = envelope
        .original_b64
        .take()
        .filter(|original| payload_bytes + base64_length(Some(original)) <= PAYLOAD_BYTES_MAX);
    envelope.payload_b64 = envelope.payload_b64.take().filter(|Payload(bytes)| {
        let fits = payload_bytes <= PAYLOAD_BYTES_MAX;
        if !fits {
            envelope.payload_elided = Some(Elided { size_bytes: bytes.len() as u64, sha256: sha256_hex(bytes) });
        }
        fits
    });
}

impl Failure {
    /// Cuts message and location to `bytes_max` bytes of JSON; a cut message keeps the hash of the whole.
    fn cut(&mut self, bytes_max: usize) {
        let kept = prefix(&self.message, bytes_max).len();
        if kept < self.message.len() {
            if !self.truncated {
                self.message_sha256 = Some(sha256_hex(self.message.as_bytes()));
                self.truncated = true;
            }
            self.message.truncate(kept);
        }
        cap(&mut self.location, bytes_max);
    }
}

fn cap(text: &mut Option<String>, bytes_max: usize) {
    if let Some(text) = text {
        cut(text, bytes_max);
    }
}

fn cut(text: &mut String, bytes_max: usize) {
    text.truncate(prefix(text, bytes_max).len());
}

/// The longest beginning of `text` that takes at most `bytes_max` bytes between the quotes of a JSON string.
pub(crate) fn prefix(text: &str, bytes_max: usize) -> &str {
    let mut json_bytes = 0;
    let end = text.char_indices().find(|(_, c)| {
        json_bytes += json_length(*c);
        json_bytes > bytes_max
    });
    end.map_or(text, |(end, _)| &text[..end])
}

const fn json_length(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}
