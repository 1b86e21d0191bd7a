//! How dead letters look, as promises.

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
    let letter = Envelope { device: Some(steering.to_owned()), failures: vec![failure], ..letter(steering.as_bytes()) };

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
