//! How dead letters look: envelopes in, text out.
//!
//! What producers and downstreams wrote is never passed to a terminal as it is: control characters are escaped, and a
//! payload that is not plain text is shown as a hex dump.

use std::fmt::{self, Write};

use comfy_table::{Table, presets};
use eddy_contract::{
    Envelope, Failure, SideEffect,
    envelope::{Attempts, Payload, Resolution},
};
use jiff::Timestamp;

/// The most bytes of a payload that are shown.
const PAYLOAD_BYTES_MAX: usize = 64 << 10;

/// What stands where there is nothing.
pub(crate) const NOTHING: &str = "-";

/// A table of dead letters, in their order. `now_ms` is the time that ages are counted to.
pub fn table<'a>(letters: impl IntoIterator<Item = &'a Envelope>, now_ms: i64) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["ID", "REASON", "ATTEMPTS", "AGE", "DEVICE", "FENCE", "SIGNATURE"]);
    for letter in letters {
        let age = letter.quarantined_at_ns.map(|at_ns| age((now_ms - at_ns / 1_000_000).max(0)));
        let signature = letter.failures.last().map(|failure| failure.signature.as_str());
        table.add_row([
            escape(&letter.id.to_string()),
            or_nothing(letter.reason.as_deref()),
            letter.attempts.delivery.to_string(),
            age.unwrap_or_else(|| NOTHING.to_owned()),
            or_nothing(letter.device.as_deref()),
            or_nothing(letter.fence.as_deref()),
            or_nothing(signature),
        ]);
    }
    table.trim_fmt()
}

/// A dead letter as one line of JSON.
pub fn json_line(letter: &Envelope) -> String {
    serde_json::to_string(letter).expect("an envelope has string keys and no fallible parts")
}

/// Everything that is known about one dead letter.
pub fn show(letter: &Envelope) -> String {
    let mut page = Page::default();
    page.row("id", Some(&letter.id));
    page.row("reason", letter.reason.as_ref());
    page.row("resolution", letter.resolution.map(Resolution::as_str));
    page.row("since", letter.quarantined_at_ns.map(|ns| time(ns / 1_000_000)));
    page.row("produced", letter.origin.timestamp_ms.map(time));
    page.row("attempts", Some(attempts(letter.attempts)));
    page.row("device", letter.device.as_ref());
    page.row("fence", letter.fence.as_ref());
    page.row("transition", letter.transition.as_ref());
    page.row("event time", letter.event_time_ns.map(|ns| time(ns / 1_000_000)));
    page.row("idempotency", letter.idempotency_key.as_ref());
    page.row("correlation", letter.correlation_id.as_ref());
    page.row("schema", letter.schema_version.as_ref());
    page.row("traceparent", letter.traceparent.as_ref());
    page.row("sink", letter.sink.as_ref());
    page.row("job", letter.job.as_ref());
    page.row("revision", (letter.revision > 0).then_some(letter.revision));
    page.row("actor", letter.actor.as_ref());
    page.row("note", letter.note.as_ref());
    for (name, build) in &letter.modules {
        page.row("module", Some(format_args!("{name} sha256:{build}")));
    }
    page.failures(letter);
    page.payload(letter);
    page.0
}

/// Text that grows line by line.
#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        writeln!(self.0, "{text}").expect("writing to a String cannot fail");
    }

    fn row(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.line(format_args!("{name:<12} {}", escape(&value.to_string())));
        }
    }

    fn failures(&mut self, letter: &Envelope) {
        if letter.failures.is_empty() {
            return;
        }
        self.line(format_args!("\nfailures"));
        for (index, failure) in letter.failures.iter().enumerate() {
            self.line(format_args!("  {}", summary(failure)));
            for detail in details(failure) {
                self.line(format_args!("      {}", escape(&detail)));
            }
            if index == 0 && letter.failures_omitted > 0 {
                self.line(format_args!("  … {} more …", letter.failures_omitted));
            }
        }
    }

    fn payload(&mut self, letter: &Envelope) {
        match (letter.payload(), &letter.payload_elided) {
            (Some(payload), _) => self.bytes("payload", payload),
            (None, Some(elided)) => self.line(format_args!(
                "\npayload, {} bytes, too large to be kept\n  sha256:{}",
                elided.size_bytes, elided.sha256
            )),
            (None, None) => {}
        }
        if let Some(Payload(original)) = &letter.original_b64 {
            self.bytes("before it was repaired", original);
        }
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        self.line(format_args!("\n{name}, {} bytes", bytes.len()));
        let shown = &bytes[..bytes.len().min(PAYLOAD_BYTES_MAX)];
        match plain_text(shown) {
            Some(text) => text.lines().for_each(|line| self.line(format_args!("  {line}"))),
            None => hex_dump(shown).for_each(|line| self.line(format_args!("  {line}"))),
        }
        if shown.len() < bytes.len() {
            self.line(format_args!("  … {} bytes more, see --json …", bytes.len() - shown.len()));
        }
    }
}

/// When, where, and what came back, in one line.
fn summary(failure: &Failure) -> String {
    let class = failure.class.map_or_else(String::new, |class| format!(" {}", class.as_str()));
    let status = failure.status.map_or_else(String::new, |status| format!(" (status {status})"));
    escape(&format!("{}  {}: {}{class}{status}", time(failure.at), failure.stage, failure.code))
}

/// What else there is to say about a failure.
fn details(failure: &Failure) -> impl Iterator<Item = String> {
    let message = (!failure.message.is_empty()).then(|| failure.message.clone());
    let cut = failure.message_sha256.as_ref().map(|hash| format!("cut; the whole has sha256:{hash}"));
    let effect = match failure.effect {
        SideEffect::Unknown => Some("it may have had its effect: it was sent and no answer came".to_owned()),
        SideEffect::None | SideEffect::Refused => None,
    };
    let retry_after = failure.retry_after_ms.map(|ms| format!("asked to retry after {ms} ms"));
    let location = failure.location.as_ref().map(|location| format!("redirected to {location}"));
    [message, cut, effect, retry_after, location].into_iter().flatten()
}

fn attempts(Attempts { delivery, replay }: Attempts) -> String {
    if replay == 0 { delivery.to_string() } else { format!("{delivery}, and {replay} by replay") }
}

/// A length of time in its largest unit.
pub(crate) fn age(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A point in time in UTC; the bare number if no calendar has it.
pub(crate) fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| format!("{time:.3}"))
}

pub(crate) fn or_nothing(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).map_or_else(|| NOTHING.to_owned(), escape)
}

/// The text with control characters written out.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

/// The bytes as text, if they are nothing but text. A character that was cut at the end does not count.
fn plain_text(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let plain = text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    (plain && !text.trim().is_empty()).then_some(text)
}

/// Offset, sixteen bytes in hex, and what of them is ASCII; one line each.
fn hex_dump(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.chunks(16).enumerate().map(|(row, chunk)| {
        let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        let ascii = chunk.iter().map(|&byte| if matches!(byte, b' '..=b'~') { char::from(byte) } else { '.' });
        format!("{:08x}  {:<47}  {}", row * 16, hex.join(" "), ascii.collect::<String>())
    })
}

#[cfg(test)]
mod tests;
