//! An outage costs lag, never a flood of dead letters; one bad trigger among healthy ones is no outage.

use eddy_contract::{Code, RecordId};
use eddy_topology::{
    Road, Span,
    gate::Status,
    testing::{Answer, TestDriver},
};

fn devices(driver: &mut TestDriver, count: usize) {
    for number in 0..count {
        driver.trigger(&format!("device-{number}"));
    }
}

/// C34: the breaker opens before an outage is dead-lettered, and everything is delivered when it is over.
#[test]
fn ten_minutes_of_503_dead_letter_nothing_and_everything_is_delivered_afterwards() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(503));

    devices(&mut driver, 500);
    driver.advance("10m");
    assert_eq!(driver.gate().status(), Status::Tripped);
    let on_tiers: usize = (0..3).map(|tier| driver.on_tier(tier).len()).sum();
    assert!(on_tiers <= 10, "{on_tiers} records left for a tier");
    driver.downstream().up();
    driver.advance("10m");

    let delivered = driver.received().iter().filter(|sent| sent.had_effect()).count();
    assert_eq!(delivered, 500);
    assert!(driver.dead_letters().is_empty());
    assert!(driver.is_settled());
}

#[test]
fn probes_go_one_at_a_time_and_ever_more_seldom() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(503));
    devices(&mut driver, 50);
    let before = driver.received().len();

    driver.advance("10m");

    let probes: Vec<i64> = driver.received()[before..].iter().map(|sent| sent.at.0).collect();
    let pauses: Vec<i64> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let seconds: Vec<i64> = pauses.iter().map(|pause| pause / 1_000).collect();
    assert_eq!(&seconds[..6], [2, 4, 8, 16, 30, 30]);
    assert!(seconds[6..].iter().all(|pause| *pause == 30));
}

#[test]
fn one_trigger_that_always_gets_503_among_healthy_ones_stops_nobody_and_climbs_its_tiers() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("bad", Answer::Status(503));

    let bad = driver.trigger("bad");
    for _ in 0..400 {
        devices(&mut driver, 5);
        driver.advance("1s");
        assert_eq!(driver.gate().status(), Status::Flowing);
    }

    assert_eq!(driver.dead_letter(&bad).attempts.delivery, 4);
    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 2_000);
}

/// C39: refused connections are nobody's fault, also where there is too little traffic to be sure of an outage soon.
#[test]
fn a_downstream_that_refuses_connections_for_an_hour_exhausts_neither_of_two_triggers() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Fails(Code::Refused));

    devices(&mut driver, 2);
    driver.advance("1h");
    driver.downstream().up();
    driver.advance("10m");

    assert!(driver.dead_letters().is_empty());
    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 2);
    assert!(driver.is_settled());
}

/// C7: a blip costs at most one attempt.
#[test]
fn a_downstream_that_refuses_connections_for_200ms_under_load_costs_one_attempt_of_one_record() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1ms");

    driver.downstream().down(Answer::Fails(Code::Refused));
    devices(&mut driver, 100);
    driver.advance("199ms");
    driver.downstream().up();
    driver.advance("10s");

    let attempts: Vec<u32> =
        driver.received().iter().filter(|sent| sent.had_effect()).map(|sent| sent.attempt).collect();
    assert_eq!(attempts.len(), 100);
    assert_eq!(attempts.iter().filter(|attempt| **attempt == 2).count(), 1);
    assert!(attempts.iter().all(|attempt| *attempt <= 2));
    assert!(driver.dead_letters().is_empty());
    let failures = driver.topology().names().failures.to_string();
    assert!(driver.topic(&failures).is_empty(), "nothing left its place");
}

#[test]
fn an_in_place_retry_uses_up_the_first_slot() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Fails(Code::Reset), Answer::Fails(Code::Reset)]);

    let id = driver.trigger("device-1");
    driver.advance("1s");

    assert_eq!(driver.tries_of(&id), [0, 200]);
    assert_eq!(driver.on_tier(1), [id]);
}

#[test]
fn a_trigger_that_always_resets_the_connection_is_exhausted_after_four_attempts_and_stops_nobody() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("bad", Answer::Fails(Code::Reset));

    let bad = driver.trigger("bad");
    for number in 0..400 {
        driver.trigger(&format!("device-{number}"));
        driver.advance("1s");
    }

    let dead = driver.dead_letter(&bad);
    assert_eq!(dead.reason.as_deref(), Some("exhausted:reset"));
    assert_eq!(dead.attempts.delivery, 4);
    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 400);
}

/// C37: 429 means slow down.
#[test]
fn five_minutes_of_429_dead_letter_nothing() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(429));

    devices(&mut driver, 100);
    driver.advance("5m");
    driver.downstream().up();
    driver.advance("10m");

    assert!(driver.dead_letters().is_empty());
    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 100);
}

/// C39: what the network does is transient; C43: a TLS failure is the sink's.
#[test]
fn network_failures_are_retried() {
    let codes = [Code::Dns, Code::Refused, Code::Reset, Code::Timeout];

    let delivered = codes.map(|code| {
        let mut driver = TestDriver::default();
        driver.downstream().answers("device-1", [Answer::Fails(code)]);
        driver.trigger("device-1");
        driver.advance("10s");
        driver.received().iter().filter(|sent| sent.had_effect()).count()
    });

    assert_eq!(delivered, [1; 4]);
}

/// C41, C43: no record can help a redirect, a bad certificate, missing credentials or a blocked address, so none
/// pays for it.
#[test]
fn a_fault_of_the_sink_holds_all_records_at_the_first_sign_and_counts_nothing() {
    let faults = [Code::Unauthorized, Code::Redirect, Code::Tls, Code::BlockedTarget];

    let attempts = faults.map(|fault| {
        let mut driver = TestDriver::default();
        driver.downstream().down(Answer::Fails(fault));
        devices(&mut driver, 100);
        driver.advance("10m");
        assert!(driver.received().len() < 30, "{fault} hammers: {}", driver.received().len());
        driver.downstream().up();
        driver.advance("1m");
        driver.received().iter().filter(|sent| sent.had_effect()).map(|sent| sent.attempt).max()
    });

    assert_eq!(attempts, [Some(1); 4]);
}

/// C42: 410 means stop.
#[test]
fn a_410_suspends_the_sink_until_an_operator_resumes_it() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(410));

    devices(&mut driver, 20);
    driver.advance("1d");
    assert_eq!(driver.received().len(), 1);
    assert_eq!(driver.gate().status(), Status::Suspended);
    driver.downstream().up();
    driver.gate().resume();
    driver.advance("1s");

    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 20);
    assert!(driver.dead_letters().is_empty());
}

#[test]
fn a_wait_longer_than_all_tiers_holds_the_sink_instead_of_burning_attempts() {
    let mut driver = TestDriver::default();
    let an_hour = Span::from_secs(3_600);
    driver.downstream().answers("device-0", [Answer::RetryAfter(503, an_hour)]);

    devices(&mut driver, 3);
    driver.advance("59m");
    assert_eq!(driver.received().len(), 1);
    driver.advance("2m");

    let attempts: Vec<u32> = driver.received().iter().skip(1).map(|sent| sent.attempt).collect();
    assert_eq!(attempts, [1, 1, 1]);
}

#[test]
fn while_the_breaker_is_open_reading_pauses_and_the_rest_stays_in_the_log() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(503));

    devices(&mut driver, 1_000);
    driver.advance("1m");

    let unread = 1_000 - driver.engine(Road::Intake, 0).next_offset();
    assert!(unread > 900, "{unread}");
}

#[test]
fn after_an_outage_a_record_that_always_fails_does_not_keep_the_breaker_open() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("bad", Answer::Status(503));
    driver.downstream().down(Answer::Status(503));
    driver.trigger("bad");
    devices(&mut driver, 20);
    driver.advance("1m");

    driver.downstream().up();
    driver.advance("5m");

    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 20);
    assert_eq!(driver.gate().status(), Status::Flowing);
}

/// A busy day, and at its end triggers that nothing can help, with no success after their first failure.
fn hopeless_tail(driver: &mut TestDriver, count: usize, answer: Answer) -> Vec<RecordId> {
    driver.downstream().fails("hopeless", answer);
    devices(driver, 50);
    driver.advance("1s");
    (0..count).map(|number| driver.trigger(&format!("hopeless-{number}"))).collect()
}

fn assert_exhausted(driver: &TestDriver, ids: &[RecordId], reason: &str) {
    for id in ids {
        let dead = driver.dead_letter(id);
        assert_eq!((dead.reason.as_deref(), dead.attempts.delivery), (Some(reason), 4), "{id}");
    }
    assert_eq!(driver.dead_letters().len(), ids.len());
    assert!(driver.is_settled());
}

/// Three records fail twelve times, which is no more than three signs of an outage.
#[test]
fn three_hopeless_triggers_at_the_end_of_the_input_are_exhausted_when_their_tiers_are_through() {
    let mut driver = TestDriver::default();

    let ids = hopeless_tail(&mut driver, 3, Answer::Status(503));
    driver.advance("6m");

    assert_eq!(driver.gate().status(), Status::Flowing);
    assert_exhausted(&driver, &ids, "exhausted:unavailable");
}

#[test]
fn nine_hopeless_triggers_at_the_end_of_the_input_are_exhausted_when_their_tiers_are_through() {
    let mut driver = TestDriver::default();

    let ids = hopeless_tail(&mut driver, 9, Answer::Status(503));
    driver.advance("6m");

    assert_eq!(driver.gate().status(), Status::Flowing);
    assert_exhausted(&driver, &ids, "exhausted:unavailable");
}

#[test]
fn triggers_at_the_end_of_the_input_that_always_reset_the_connection_are_exhausted_too() {
    let mut driver = TestDriver::default();

    let ids = hopeless_tail(&mut driver, 9, Answer::Fails(Code::Reset));
    driver.advance("6m");

    assert_exhausted(&driver, &ids, "exhausted:reset");
}

/// The breaker is open, and all who could find out that the downstream is back are hopeless.
#[test]
fn hopeless_triggers_that_an_outage_left_alone_are_exhausted_after_it() {
    let mut driver = TestDriver::default();

    let ids = hopeless_tail(&mut driver, 3, Answer::Status(503));
    driver.downstream().down(Answer::Fails(Code::Refused));
    driver.advance("1h");
    assert_eq!(driver.gate().status(), Status::Tripped);
    assert!(driver.dead_letters().is_empty());
    driver.downstream().up();
    driver.advance("10m");

    assert_exhausted(&driver, &ids, "exhausted:unavailable");
}

/// Whatever opened the breaker: fresh triggers that then get 503 are no outage while they are few.
#[test]
fn hopeless_triggers_that_were_held_for_a_fault_of_the_sink_are_exhausted_after_it() {
    let faults = [Code::Unauthorized, Code::Refused];

    let dead = faults.map(|fault| {
        let mut driver = TestDriver::default();
        driver.downstream().fails("hopeless", Answer::Status(503));
        driver.downstream().down(Answer::Fails(fault));
        (0..3).for_each(|number| drop(driver.trigger(&format!("hopeless-{number}"))));
        driver.advance("1h");
        driver.downstream().up();
        driver.advance("20m");
        driver.dead_letters().len()
    });

    assert_eq!(dead, [3, 3]);
}

/// The only fresh trigger is hopeless, so a success can come from a tier alone.
#[test]
fn after_an_outage_probes_take_turns_until_one_finds_out_that_it_is_over() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("hopeless", Answer::Status(503));
    driver.downstream().down(Answer::Status(503));
    devices(&mut driver, 9);
    driver.trigger("hopeless");
    driver.advance("1h");
    assert!(driver.dead_letters().is_empty());

    driver.downstream().up();
    driver.advance("30m");

    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 9);
    assert_eq!(driver.dead_letters().len(), 1);
    assert!(driver.is_settled());
}

#[test]
fn an_outage_that_begins_while_three_triggers_are_there_exhausts_none_when_more_come_during_it() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(503));

    devices(&mut driver, 3);
    driver.advance("5m");
    devices(&mut driver, 20);
    driver.advance("3h");
    assert_eq!(driver.gate().status(), Status::Tripped);
    driver.downstream().up();
    driver.advance("10m");

    assert!(driver.dead_letters().is_empty());
    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 23);
    assert!(driver.is_settled());
}

/// The price of telling hopeless triggers from an outage by their number, and of nothing else.
#[test]
fn an_outage_that_outlasts_all_tiers_exhausts_three_triggers_when_no_other_meets_it() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(503));

    devices(&mut driver, 3);
    driver.advance("5m");
    assert!(driver.dead_letters().is_empty());
    driver.advance("1m");

    assert_eq!(driver.dead_letters().len(), 3);
}

#[test]
fn an_outage_under_load_burns_one_attempt_of_nine_triggers_however_long_it_lasts() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::Status(503));

    devices(&mut driver, 3_000);
    driver.advance("6h");
    driver.downstream().up();
    driver.advance("10m");

    let attempts: Vec<u32> =
        driver.received().iter().filter(|sent| sent.had_effect()).map(|sent| sent.attempt).collect();
    assert_eq!(attempts.len(), 3_000);
    assert_eq!(attempts.iter().filter(|attempt| **attempt == 2).count(), 9);
    assert!(attempts.iter().all(|attempt| *attempt <= 2));
    assert!(driver.dead_letters().is_empty());
    assert!(driver.is_settled());
}

/// C39: nothing of a trigger is sent to a downstream that cannot be reached, so even one alone is not blamed.
#[test]
fn a_downstream_that_cannot_be_reached_for_an_hour_exhausts_no_lonely_trigger() {
    let delivered = [Code::Refused, Code::Dns].map(|code| {
        let mut driver = TestDriver::default();
        driver.downstream().down(Answer::Fails(code));
        driver.trigger("lonely");
        driver.advance("1h");
        driver.downstream().up();
        driver.advance("10m");
        driver.received().iter().filter(|sent| sent.had_effect()).map(|sent| sent.attempt).collect::<Vec<_>>()
    });

    assert_eq!(delivered, [[2], [2]]);
}

/// No outage, although nothing but failures comes for a long time.
#[test]
fn hopeless_triggers_that_are_all_that_is_left_climb_their_tiers_and_are_dead_lettered() {
    let mut driver = TestDriver::default();
    for number in 0..20 {
        let hopeless = format!("hopeless-{number}");
        driver.downstream().fails(&hopeless, Answer::Status(503));
        driver.trigger(&hopeless);
        driver.trigger(&format!("healthy-{number}"));
        driver.advance("1ms");
    }

    driver.advance("10m");

    assert_eq!(driver.dead_letters().len(), 20);
    assert!(driver.is_settled());
}

/// A restart forgets what has worked; what failed before it is still no sign of an outage.
#[test]
fn hopeless_triggers_that_are_all_that_is_left_after_a_restart_are_dead_lettered_too() {
    let mut driver = TestDriver::default();
    for number in 0..20 {
        let hopeless = format!("hopeless-{number}");
        driver.downstream().fails(&hopeless, Answer::Status(503));
        driver.trigger(&hopeless);
        driver.trigger(&format!("healthy-{number}"));
        driver.advance("1ms");
    }
    driver.advance("10s");
    driver.commit();

    driver.crash();
    driver.advance("10m");

    assert_eq!(driver.dead_letters().len(), 20);
    assert!(driver.is_settled());
}
