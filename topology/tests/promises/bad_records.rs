//! One bad record costs one dead letter: its bytes intact, its neighbours delivered.

use eddy_contract::Code;
use eddy_topology::{
    Definition,
    testing::{Answer, TestDriver},
};

/// The most that an envelope may add to its payload, whatever happened to it.
const OVERHEAD_BYTES_MAX: usize = 4_096;

/// C19, C21, C26: what is no trigger is dead-lettered once, as it is, without a retry.
#[test]
fn whatever_is_no_trigger_is_one_dead_letter_with_its_bytes() {
    let mut driver = TestDriver::default();
    let bad: [(&[u8], &str); 8] = [
        (b"", "terminal:empty_payload"),
        (b"null", "terminal:empty_payload"),
        (b" \t\n", "terminal:empty_payload"),
        (b"\xEF\xBB\xBF", "terminal:empty_payload"),
        (b"{\"a\":", "terminal:invalid_json"),
        (b"\xFF\x00\xFE", "terminal:not_utf8"),
        (b"[]", "terminal:not_an_object"),
        (b"{}", "terminal:missing_field"),
    ];

    let found = bad.map(|(bytes, _)| {
        let id = driver.send(None, bytes);
        let dead = driver.dead_letter(&id);
        (dead.payload().unwrap().to_vec(), dead.reason.unwrap(), dead.attempts.delivery)
    });

    assert_eq!(found, bad.map(|(bytes, reason)| (bytes.to_vec(), reason.to_owned(), 0)));
    assert!(driver.received().is_empty());
    assert!(driver.is_settled());
}

/// C35: the record is judged, not its batch.
#[test]
fn one_bad_record_among_ten_is_the_only_dead_letter() {
    let mut driver = TestDriver::default();

    for number in 0..9 {
        driver.trigger(&format!("device-{number}"));
    }
    let bad = driver.send(None, b"not a trigger");

    assert_eq!(driver.dead_letters().len(), 1);
    assert_eq!(driver.dead_letter(&bad).origin.offset, 9);
    assert_eq!(driver.received().len(), 9);
}

/// C36: every status has a class, and none makes a record vanish.
#[test]
fn every_status_leads_to_a_tier_a_dead_letter_or_a_held_record() {
    let retried = |status: u16| {
        matches!(status, 408 | 409 | 425 | 429) || (500..600).contains(&status) && status != 501 && status != 505
    };
    let held = |status: u16| matches!(status, 300..=399 | 401 | 403 | 407 | 410);

    let wrong: Vec<u16> = (100..600)
        .filter(|status| !(200..300).contains(status))
        .filter(|status| {
            let mut driver = TestDriver::default();
            driver.downstream().fails("device-1", Answer::Status(*status));
            driver.trigger("device-1");
            driver.advance("1s");
            let fate = (!driver.on_tier(0).is_empty(), !driver.dead_letters().is_empty());
            fate != (retried(*status), !retried(*status) && !held(*status))
        })
        .collect();

    assert!(wrong.is_empty(), "{wrong:?}");
}

/// C38: what a status means is the operator's to say.
#[test]
fn a_status_that_the_operator_calls_transient_is_retried() {
    let definition = Definition::parse("modules.classify.params.transient = '404'").unwrap();
    let mut driver = TestDriver::new(&definition);
    driver.downstream().answers("device-1", [Answer::Status(404)]);

    let id = driver.trigger("device-1");
    driver.advance("10s");

    assert_eq!(driver.tries_of(&id).len(), 2);
    assert!(driver.dead_letters().is_empty());
}

/// C13: an internal fault of one record is a dead letter and does not go round for ever.
#[test]
fn a_corrupt_record_on_a_tier_is_a_dead_letter_and_its_neighbours_go_on() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Status(503)]);
    let tier = driver.topology().names().tiers[0].to_string();

    let corrupt = driver.put(&tier, 0, Some(b"key"), b"{\"v\":1,\"id\"");
    let healthy = driver.trigger("device-1");
    driver.advance("1h");

    let dead = driver.dead_letter(&corrupt);
    assert_eq!(dead.reason.as_deref(), Some("terminal:envelope_invalid"));
    assert_eq!(dead.payload(), Some(&b"{\"v\":1,\"id\""[..]));
    assert_eq!(driver.tries_of(&healthy).len(), 2);
    assert!(driver.is_settled());
}

#[test]
fn a_corrupt_record_among_the_failures_is_a_dead_letter_too() {
    let mut driver = TestDriver::default();
    let failures = driver.topology().names().failures.to_string();

    let corrupt = driver.put(&failures, 0, None, b"\x00\x01");

    assert_eq!(driver.dead_letter(&corrupt).failures[0].code, Code::EnvelopeInvalid);
    assert!(driver.is_settled());
}

/// C15: history is bounded; the first and the last failures are kept.
#[test]
fn an_envelope_stays_small_after_every_retry() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Says(503, "x".repeat(100_000)));

    let id = driver.trigger("device-1");
    driver.advance("1h");

    let dlq = driver.topology().names().dlq.to_string();
    let bytes = driver.topic(&dlq)[0].value.len();
    let payload_bytes = driver.received()[0].payload.len().div_ceil(3) * 4;
    assert!(bytes <= payload_bytes + OVERHEAD_BYTES_MAX, "{bytes}");
    assert_eq!(driver.dead_letter(&id).failures.len(), 4);
}

/// C16: a long answer does not make the dead letter unwritable.
#[test]
fn a_long_error_text_is_cut_at_a_character_and_says_so() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Says(400, "🦀".repeat(300_000)));

    let id = driver.trigger("device-1");

    let failure = driver.dead_letter(&id).failures.remove(0);
    assert!(failure.truncated);
    assert!(failure.message_sha256.is_some());
    assert!(failure.message.chars().all(|c| c == '🦀'));
}
