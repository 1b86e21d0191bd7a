//! When a failed record is tried again, and when it is given up.

use eddy_contract::{Class, Code};
use eddy_topology::{
    Definition, Road, Span,
    effect::Note,
    testing::{Answer, TestDriver},
};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

/// C1: the next due time is the failure's plus the delay of the tier being entered.
#[test]
fn a_trigger_that_always_gets_503_is_tried_at_0s_5s_30s_and_5min_after_the_failure_before() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(503));

    let id = driver.trigger("device-1");
    driver.advance("1h");

    let tries = [0, 5 * SECOND, 35 * SECOND, 5 * MINUTE + 35 * SECOND];
    assert_eq!(driver.tries_of(&id), tries);
    let dead = driver.dead_letter(&id);
    assert_eq!(dead.reason.as_deref(), Some("exhausted:unavailable"));
    assert_eq!(dead.attempts.delivery, 4);
    assert_eq!(dead.failures.last().unwrap().class, Some(Class::Transient));
    assert!(driver.is_settled());
}

#[test]
fn the_delay_counts_from_the_failure_and_not_from_the_sending() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(503));
    driver.downstream().takes("2s");

    let id = driver.trigger("device-1");
    driver.advance("1m");

    assert_eq!(driver.tries_of(&id), [0, 7 * SECOND, 39 * SECOND]);
}

#[test]
fn a_trigger_that_gets_400_is_a_dead_letter_after_one_attempt() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(400));

    let id = driver.trigger("device-1");
    driver.advance("1h");

    let dead = driver.dead_letter(&id);
    assert_eq!(driver.tries_of(&id), [0]);
    assert_eq!(dead.reason.as_deref(), Some("terminal:rejected"));
    assert_eq!(dead.attempts.delivery, 1);
    assert_eq!(dead.failures[0].class, Some(Class::Terminal));
}

#[test]
fn what_classify_does_not_know_is_not_retried() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(418));

    let id = driver.trigger("device-1");
    driver.advance("1h");

    assert_eq!(driver.dead_letter(&id).reason.as_deref(), Some("unclassified:rejected_other"));
    assert_eq!(driver.tries_of(&id), [0]);
}

#[test]
fn a_trigger_that_heals_is_delivered_from_its_tier_and_no_dead_letter() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Status(503), Answer::Status(500)]);

    let id = driver.trigger("device-1");
    assert!(driver.on_tier(0).contains(&id));
    driver.advance("5s");
    assert!(driver.on_tier(1).contains(&id));
    driver.advance("30s");

    assert_eq!(driver.tries_of(&id).len(), 3);
    assert!(driver.dead_letters().is_empty());
    assert!(driver.is_settled());
}

/// C2: never early, and lateness is bounded.
#[test]
fn a_hundred_records_on_the_5s_tier_fire_within_a_tenth_of_the_delay_and_never_early() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device", vec![Answer::Status(503); 9]);
    for batch in 0..11 {
        driver.downstream().answers("device", vec![Answer::Accepted]);
        driver.downstream().answers("device", vec![Answer::Status(503); 9]);
        for number in 0..10 {
            driver.trigger(&format!("device-{batch}-{number}"));
        }
    }

    driver.advance("6s");

    let late = driver.received().iter().filter(|sent| sent.attempt == 2).map(|sent| sent.at.0 % 10_000);
    let late: Vec<i64> = late.collect();
    assert!(late.len() >= 90, "{}", late.len());
    assert!(late.iter().all(|at| (5_000..5_500).contains(at)), "{late:?}");
}

/// C6: a record's own attempts choose its tier, whatever its neighbours have been through.
#[test]
fn an_old_record_among_fresh_ones_goes_to_the_tier_of_its_own_attempts() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("old", Answer::Status(503));
    driver.downstream().fails("fresh", Answer::Status(503));

    let old = driver.trigger("old");
    driver.advance("5s");
    driver.advance("30s");
    let fresh = driver.trigger("fresh");

    assert_eq!(driver.on_tier(2), [old]);
    assert_eq!(driver.on_tier(0), [fresh]);
}

/// C9: event time never drives a decision of control.
#[test]
fn an_absurd_event_time_is_a_matter_of_validation_and_schedules_nothing() {
    let mut driver = TestDriver::default();
    let now_ns = driver.now().0 * 1_000_000;
    let ten_years_ns = 10 * 365 * 86_400 * 1_000_000_000;
    let json = driver.next_trigger("device-1");
    let future = json.replace(&now_ns.to_string(), &(now_ns + ten_years_ns).to_string());
    let past = json.replace(&now_ns.to_string(), "1");

    let future = driver.send(None, future.as_bytes());
    let past = driver.send(None, past.as_bytes());

    assert_eq!(driver.dead_letter(&future).reason.as_deref(), Some("terminal:implausible_time"));
    assert_eq!(driver.dead_letter(&past).reason.as_deref(), Some("terminal:implausible_time"));
    assert!(driver.is_settled());
}

/// C9, one level down: nor does a due time that another host's clock got wrong.
#[test]
fn a_due_time_in_ten_years_does_not_hold_up_its_tier() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Status(503)]);
    driver.trigger("device-1");
    let tier = driver.topology().names().tiers[0].to_string();
    let mut envelope = driver.letters(&tier).remove(0);
    envelope.due_ms = Some(driver.now().0 + 10 * 365 * 86_400 * 1_000);
    envelope.id.offset = 999;
    envelope.idempotency_key = Some("another".into());

    driver.put(&tier, 0, None, &envelope.encode());
    driver.advance("6s");

    assert!(driver.is_settled());
}

/// C31: only real attempts count.
#[test]
fn time_spent_waiting_to_be_read_is_not_an_attempt() {
    let mut driver = TestDriver::default();
    let json = driver.next_trigger("device-1");
    let source = driver.topology().names().source.to_string();
    let id = driver.put_silently(&source, 0, None, json.as_bytes());
    driver.crash();

    driver.advance("10m");

    assert_eq!(driver.received().iter().map(|sent| sent.attempt).collect::<Vec<_>>(), [1]);
    assert_eq!(driver.received()[0].id, id);
    assert!(driver.dead_letters().is_empty());
}

/// C3: the delay is in the log and not in the process.
#[test]
fn a_record_whose_host_dies_twice_during_its_delay_fires_once_and_in_time() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Status(503)]);
    let id = driver.trigger("device-1");

    driver.advance("2s");
    driver.crash();
    driver.advance("2s");
    driver.crash();
    driver.advance("10s");

    assert_eq!(driver.tries_of(&id), [0, 5 * SECOND]);
    assert!(driver.is_settled());
}

/// C11: long delays lose no more than short ones.
#[test]
fn a_thousand_records_on_the_longest_tier_all_fire_although_the_host_restarts_every_minute() {
    let mut driver = TestDriver::default();
    let longest = driver.topology().names().tiers[2].to_string();
    driver.downstream().answers("device-0", [Answer::Status(503)]);
    driver.trigger("device-0");
    let first_tier = driver.topology().names().tiers[0].to_string();
    let template = driver.letters(&first_tier).remove(0);
    for number in 0..1_000 {
        let mut envelope = template.clone();
        envelope.id.offset = 1_000 + number;
        envelope.idempotency_key = Some(format!("key-{number}"));
        envelope.due_ms = Some(driver.now().0 + 5 * MINUTE);
        driver.put_silently(&longest, 0, None, &envelope.encode());
    }

    for _ in 0..7 {
        driver.advance("1m");
        driver.crash();
    }
    driver.advance("1m");

    let fired = driver.received().iter().filter(|sent| sent.idempotency_key.starts_with("key-")).count();
    assert_eq!(fired, 1_000);
    assert!(driver.received().iter().skip(1).all(|sent| sent.at.0 % 10_000_000 != 0));
    assert!(driver.is_settled());
}

/// The driver panics when an engine asks to be woken at a time that has come.
#[test]
fn due_records_for_which_there_is_no_room_wait_without_spinning() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device", vec![Answer::Status(429); 9]);
    for batch in 0..20 {
        driver.downstream().answers("healthy", [Answer::Accepted]);
        driver.downstream().answers("device", vec![Answer::Status(429); 9]);
        (0..9).for_each(|number| drop(driver.trigger(&format!("device-{batch}-{number}"))));
        driver.trigger("healthy");
    }

    driver.downstream().takes("10m");
    driver.advance("1m");

    let on_their_way = driver.received().iter().filter(|sent| sent.attempt == 2).count();
    assert_eq!(on_their_way, driver.topology().in_flight_max());
}

#[test]
fn retry_after_picks_the_smallest_tier_that_is_at_least_as_long() {
    let mut driver = TestDriver::default();
    let twenty_seconds = Span::from_secs(20);
    driver.downstream().answers("device-1", [Answer::RetryAfter(429, twenty_seconds)]);

    let id = driver.trigger("device-1");

    assert!(driver.on_tier(1).contains(&id));
    driver.advance("1m");
    assert_eq!(driver.tries_of(&id), [0, 30 * SECOND]);
}

#[test]
fn what_happens_is_noted_for_the_counters() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Status(503)]);

    let id = driver.trigger("device-1");
    driver.advance("5s");

    let due = eddy_topology::testing::START.plus(Span::from_secs(5));
    assert_eq!(
        driver.notes(),
        [
            Note::Failed { id: id.clone(), attempt: 1, code: Code::Unavailable },
            Note::Scheduled { id: id.clone(), tier: 0, due },
            Note::Delivered { id, attempt: 2, since_ms: 5_000 },
        ]
    );
    assert_eq!(driver.engine(Road::Intake, 0).in_flight(), 0);
}

/// A tier that the definition no longer has is drained: what waits there goes when it is due, and then on by the new
/// definition.
#[test]
fn records_on_a_tier_that_a_new_definition_no_longer_has_go_when_they_are_due() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("hopeless", Answer::Status(503));
    driver.downstream().answers("healing", [Answer::Status(503)]);
    let hopeless = driver.trigger("hopeless");
    driver.advance("1s");
    let healing = driver.trigger("healing");

    driver.redefine(&Definition::parse("[retry]\ntiers = ['1m', '10m']\nceiling = 2").unwrap());
    driver.advance("1h");

    assert_eq!(driver.tries_of(&healing), [SECOND, 6 * SECOND]);
    assert_eq!(driver.tries_of(&hopeless), [0, 5 * SECOND, 10 * MINUTE + 5 * SECOND]);
    assert_eq!(driver.dead_letter(&hopeless).attempts.delivery, 3);
    assert!(driver.is_settled());
}

#[test]
fn what_waits_on_a_tier_that_the_definition_no_longer_has_is_not_missing() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("hopeless", Answer::Status(503));
    driver.trigger("hopeless");

    driver.redefine(&Definition::parse("[retry]\ntiers = ['1m', '10m']\nceiling = 2").unwrap());

    let report = driver.audit();
    assert!(report.conserved);
    assert_eq!(report.on_tiers["5s"], 1);
}

/// C32: exactly those end as dead letters that never succeed, over a restart.
#[test]
fn of_two_hundred_records_every_tenth_of_which_never_succeeds_twenty_are_dead_letters_and_the_rest_is_delivered() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("hopeless", Answer::Status(503));
    for number in 0..200 {
        let kind = if number % 10 == 0 { "hopeless" } else { "healthy" };
        driver.trigger(&format!("{kind}-{number}"));
    }

    driver.advance("20s");
    driver.crash();
    driver.advance("10m");

    let delivered = driver.received().iter().filter(|sent| sent.had_effect()).count();
    assert_eq!((delivered, driver.dead_letters().len()), (180, 20));
    assert!(driver.dead_letters().iter().all(|dead| dead.attempts.delivery == 4));
    assert!(driver.is_settled());
}
