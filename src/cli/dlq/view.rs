//! How dead letters look: envelopes in, text out.
//!
//! What producers and downstreams wrote is never passed to a terminal as it is: control characters are escaped, and a
//! payload that is not plain text is shown as a hex dump.

use std::fmt::{self, Write};

use comfy_table::{Table, presets};
use eddy_contract::{
    Envelope, Failure, SideEffect,
    envelope::{Attempts, Resolution},
};
use jiff::Timestamp;

/// The most bytes of a payload that are shown.
const PAYLOAD_BYTES_MAX: usize = 64 << 10;

/// What stands where there is nothing.
const NOTHING: &str = "-";

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
            (Some(payload), _) => {
                self.line(format_args!("\npayload, {} bytes", payload.len()));
                let shown = &payload[..payload.len().min(PAYLOAD_BYTES_MAX)];
                match plain_text(shown) {
                    Some(text) => text.lines().for_each(|line| self.line(format_args!("  {line}"))),
                    None => hex_dump(shown).for_each(|line| self.line(format_args!("  {line}"))),
                }
                if shown.len() < payload.len() {
                    self.line(format_args!("  … {} bytes more, see --json …", payload.len() - shown.len()));
                }
            }
            (None, Some(elided)) => self.line(format_args!(
                "\npayload, {} bytes, too large to be kept\n  sha256:{}",
                elided.size_bytes, elided.sha256
            )),
            (None, None) => {}
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
fn age(ms: i64) -> String {
    let seconds = ms / 1000;
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A point in time in UTC; the bare number if no calendar has it.
fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| format!("{time:.3}"))
}

fn or_nothing(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).map_or_else(|| NOTHING.to_owned(), escape)
}

/// The text with control characters written out.
fn escape(text: &str) -> String {
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
mod tests {
    use eddy_contract::{
        Class, Code,
        envelope::{Elided, Origin},
    };

    use super::*;

    const NOW_MS: i64 = 1_796_040_000_000;

    fn letter(payload: &[u8]) -> Envelope {
        let origin = Origin {
            topic: "geofence-triggers".to_owned(),
            partition: 0,
            offset: 17,
            timestamp_ms: Some(NOW_MS - 400_000),
            part: 0,
        };
        Envelope {
            reason: Some("exhausted:unavailable".to_owned()),
            quarantined_at_ns: Some((NOW_MS - 90_000) * 1_000_000),
            device: Some("truck-00042".to_owned()),
            fence: Some("rtm-blaak".to_owned()),
            attempts: Attempts { delivery: 4, replay: 0 },
            failures: vec![failure()],
            ..Envelope::new(origin, payload.to_vec())
        }
    }

    fn failure() -> Failure {
        Failure {
            at: NOW_MS - 90_000,
            stage: "deliver".to_owned(),
            class: Some(Class::Transient),
            code: Code::Unavailable,
            signature: "deliver:transient:503:try later".to_owned(),
            status: Some(503),
            message: "try later".to_owned(),
            truncated: false,
            message_sha256: None,
            retry_after_ms: None,
            effect: SideEffect::Refused,
            location: None,
        }
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn a_table_has_one_line_for_each_dead_letter() {
        let unread = Envelope {
            reason: Some("terminal:not_utf8".to_owned()),
            device: None,
            fence: None,
            quarantined_at_ns: None,
            failures: Vec::new(),
            attempts: Attempts::default(),
            ..letter(b"\xff")
        };

        let text = table([&letter(b"{}"), &unread], NOW_MS);

        assert_eq!(
            lines(&text),
            [
                " ID                      REASON                 ATTEMPTS  AGE  DEVICE       FENCE      SIGNATURE",
                " geofence-triggers/0/17  exhausted:unavailable  4         90s  truck-00042  rtm-blaak  deliver:transient:503:try later",
                " geofence-triggers/0/17  terminal:not_utf8      0         -    -            -          -",
            ]
        );
    }

    #[test]
    fn a_dead_letter_is_shown_with_what_is_known_and_without_what_is_not() {
        let text = show(&letter(b"{\"device_id\":\"truck-00042\"}"));

        assert_eq!(
            lines(&text),
            [
                "id           geofence-triggers/0/17",
                "reason       exhausted:unavailable",
                "since        2026-11-30T11:58:30.000Z",
                "produced     2026-11-30T11:53:20.000Z",
                "attempts     4",
                "device       truck-00042",
                "fence        rtm-blaak",
                "",
                "failures",
                "  2026-11-30T11:58:30.000Z  deliver: unavailable transient (status 503)",
                "      try later",
                "",
                "payload, 27 bytes",
                "  {\"device_id\":\"truck-00042\"}",
            ]
        );
    }

    #[test]
    fn a_payload_that_is_no_text_is_shown_in_hex() {
        let text = show(&letter(b"{\"device_id\":\"\xff\xfe\"}"));

        assert_eq!(
            lines(&text)[11..],
            [
                "",
                "payload, 18 bytes",
                "  00000000  7b 22 64 65 76 69 63 65 5f 69 64 22 3a 22 ff fe  {\"device_id\":\"..",
                "  00000010  22 7d                                            \"}",
            ]
        );
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        let steering = "\x1b[2J\r\n";
        let failure = Failure { message: steering.to_owned(), signature: steering.to_owned(), ..failure() };
        let letter =
            Envelope { device: Some(steering.to_owned()), failures: vec![failure], ..letter(steering.as_bytes()) };

        let text = show(&letter) + &table([&letter], NOW_MS);

        assert!(!text.contains(['\x1b', '\r']), "{text:?}");
        assert!(text.contains(r"\u{1b}[2J\r\n"), "{text:?}");
    }

    #[test]
    fn an_unknown_effect_a_cut_message_and_omitted_failures_are_said() {
        let unsure = Failure {
            effect: SideEffect::Unknown,
            retry_after_ms: Some(1500),
            message_sha256: Some("ab12".to_owned()),
            location: Some("https://elsewhere.example".to_owned()),
            ..failure()
        };

        let text = show(&Envelope { failures: vec![failure(), unsure], failures_omitted: 5, ..letter(b"{}") });

        let from = text.find("  … 5 more …").unwrap();
        assert_eq!(
            lines(&text[from..])[2..7],
            [
                "      try later",
                "      cut; the whole has sha256:ab12",
                "      it may have had its effect: it was sent and no answer came",
                "      asked to retry after 1500 ms",
                "      redirected to https://elsewhere.example",
            ]
        );
    }

    #[test]
    fn an_elided_payload_is_known_by_its_hash() {
        let elided = Elided { size_bytes: 40_000_000, sha256: "cd34".to_owned() };

        let text = show(&Envelope { payload_b64: None, payload_elided: Some(elided), ..letter(b"") });

        assert!(text.ends_with("\npayload, 40000000 bytes, too large to be kept\n  sha256:cd34\n"), "{text}");
    }

    #[test]
    fn a_json_line_is_the_envelope_itself() {
        let letter = letter(b"\xff{}");

        let line = json_line(&letter);

        assert!(!line.contains('\n'));
        assert_eq!(Envelope::decode(line.as_bytes()).unwrap(), letter);
    }

    #[test]
    fn a_character_that_was_cut_at_the_end_does_not_make_a_text_binary() {
        assert_eq!(plain_text("café".as_bytes()), Some("café"));
        assert_eq!(plain_text(&"café".as_bytes()[..4]), Some("caf"));
        assert_eq!(plain_text(b"caf\xff"), None);
        assert_eq!(plain_text(b"a\0b"), None);
    }

    #[test]
    fn an_age_is_said_in_its_largest_unit() {
        assert_eq!(age(0), "0s");
        assert_eq!(age(119_999), "119s");
        assert_eq!(age(120_000), "2m");
        assert_eq!(age(7_200_000), "2h");
        assert_eq!(age(14 * 86_400_000), "14d");
    }
}
