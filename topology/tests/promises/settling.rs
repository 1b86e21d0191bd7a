//! A position moves past a record only when everything that the record caused is durable elsewhere.

use eddy_topology::{
    Road,
    testing::{Answer, TestDriver},
};

/// C28: positions stand still while dead letters cannot be written.
#[test]
fn while_the_dead_letter_topic_is_unavailable_the_position_stands_and_afterwards_there_is_one_dead_letter() {
    let mut driver = TestDriver::default();
    let dlq = driver.topology().names().dlq.to_string();
    driver.make_unwritable(&dlq);

    let bad = driver.send(None, b"not a trigger");
    driver.advance("1m");
    assert_eq!(driver.committed(Road::Intake, 0), 0);
    let gate = driver.topology().gate();
    assert_eq!(driver.engine(Road::Intake, 0).wants(&gate), 0, "reading pauses");
    driver.make_writable(&dlq);
    driver.advance("2s");

    assert_eq!(driver.committed(Road::Intake, 0), 1);
    assert_eq!(driver.dead_letter(&bad).reason.as_deref(), Some("terminal:invalid_json"));
}

#[test]
fn a_tier_that_cannot_be_written_pauses_the_route_without_loss() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("device-1", [Answer::Status(503)]);
    let tier = driver.topology().names().tiers[0].to_string();
    driver.make_unwritable(&tier);

    let id = driver.trigger("device-1");
    driver.advance("1m");
    assert_eq!(driver.committed(Road::Route, 0), 0);
    driver.make_writable(&tier);
    driver.advance("10s");

    assert_eq!(driver.tries_of(&id).len(), 2);
    assert!(driver.is_settled());
}

#[test]
fn a_guard_that_does_not_answer_pauses_delivery_without_loss() {
    let mut driver = TestDriver::default();
    driver.guard().down();

    for number in 0..100 {
        driver.trigger(&format!("device-{number}"));
    }
    driver.advance("1m");
    assert!(driver.received().is_empty());
    driver.guard().up();
    driver.advance("2s");

    assert_eq!(driver.received().len(), 100);
    assert!(driver.is_settled());
}

#[test]
fn a_delivery_whose_mark_cannot_be_stored_is_not_settled_and_not_sent_again() {
    let mut driver = TestDriver::default();
    driver.guard().lose_marks();

    driver.trigger("device-1");
    driver.advance("1m");
    assert_eq!(driver.committed(Road::Intake, 0), 0);
    driver.guard().up();
    driver.advance("2s");

    assert_eq!(driver.committed(Road::Intake, 0), 1);
    assert_eq!(driver.received().len(), 1);
}

#[test]
fn a_position_never_passes_a_record_that_is_on_its_way() {
    let mut driver = TestDriver::default();
    driver.trigger("device-0");
    driver.downstream().takes("10s");
    driver.trigger("slow");
    driver.downstream().takes("0s");
    for number in 1..50 {
        driver.trigger(&format!("device-{number}"));
    }

    assert_eq!(driver.committed(Road::Intake, 0), 1);
    driver.advance("10s");
    assert_eq!(driver.committed(Road::Intake, 0), 51);
}

/// C29: a crash between the dead letter and the position writes a second copy with the same id.
#[test]
fn a_dead_letter_written_twice_by_a_crash_has_one_id() {
    let mut driver = TestDriver::default();
    driver.commit_on_demand();
    let bad = driver.send(None, b"not a trigger");

    driver.crash();
    driver.advance("1s");

    let ids: Vec<_> = driver.dead_letters().into_iter().map(|letter| letter.id).collect();
    assert_eq!(ids, [bad.clone(), bad]);
}

#[test]
fn a_crash_does_not_repeat_an_effect_whose_mark_was_on_disk() {
    let mut driver = TestDriver::default();
    driver.commit_on_demand();
    driver.trigger("device-1");

    driver.crash();
    driver.advance("1s");

    assert_eq!(driver.received().len(), 1);
    assert!(driver.is_settled());
}

#[test]
fn draining_starts_nothing_new_and_lets_what_is_on_its_way_finish() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1s");
    for _ in 0..3 {
        driver.trigger("device-1");
    }

    driver.engine(Road::Intake, 0).drain();
    driver.advance("10s");

    assert_eq!(driver.received().len(), 1);
    assert_eq!(driver.engine(Road::Intake, 0).in_flight(), 0);
    assert_eq!(driver.committed(Road::Intake, 0), 1);
}
