//! An effect that has happened does not happen again.

use eddy_topology::{
    effect::{Horizon, Note},
    testing::{Answer, TestDriver},
};

#[test]
fn a_trigger_that_a_producer_wrote_twice_is_delivered_once() {
    let mut driver = TestDriver::default();
    let json = driver.next_trigger("device-1");

    driver.send(Some(b"device-1"), json.as_bytes());
    let copy = driver.send(Some(b"device-1"), json.as_bytes());

    assert_eq!(driver.received().len(), 1);
    assert!(driver.notes().contains(&Note::Suppressed { id: copy }));
    assert!(driver.is_settled());
}

#[test]
fn two_copies_in_different_lanes_at_once_are_delivered_once() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1s");
    let json = driver.next_trigger("device-1");

    driver.send(Some(b"a"), json.as_bytes());
    driver.send(Some(b"b"), json.as_bytes());
    driver.advance("2s");

    assert_eq!(driver.received().len(), 1);
    assert!(driver.is_settled());
}

#[test]
fn the_same_key_with_other_bytes_is_a_dead_letter_and_never_suppressed() {
    let mut driver = TestDriver::default();
    let json = driver.next_trigger("device-1");

    driver.send(None, json.as_bytes());
    let other = driver.send(None, json.replace("8.54", "8.55").as_bytes());

    let dead = driver.dead_letter(&other);
    assert_eq!(dead.reason.as_deref(), Some("terminal:key_conflict"));
    assert_eq!(dead.payload(), Some(json.replace("8.54", "8.55").as_bytes()));
    assert_eq!(driver.received().len(), 1);
}

#[test]
fn a_first_try_success_is_remembered_for_a_while_and_a_doubtful_one_as_long_as_dead_letters() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("healed", [Answer::Status(503)]);
    driver.downstream().answers("blipped", [Answer::Fails(eddy_contract::Code::Reset)]);

    for device in ["straight", "healed", "blipped"] {
        driver.trigger(device);
    }
    driver.advance("10s");

    let key_of = |device: &str| {
        let sent =
            driver.received().iter().find(|sent| sent.payload.windows(device.len()).any(|w| w == device.as_bytes()));
        sent.unwrap().idempotency_key.clone()
    };
    let keys = ["straight", "healed", "blipped"].map(key_of);
    let horizons = keys.map(|key| driver.guard().horizon(&key));
    assert_eq!(horizons, [Some(Horizon::Recent), Some(Horizon::Durable), Some(Horizon::Durable)]);
}

#[test]
fn an_effect_whose_outcome_was_unknown_is_remembered_durably_even_if_it_was_not_counted() {
    let mut driver = TestDriver::default();
    driver.downstream().down(Answer::AcknowledgementLost);
    for number in 0..30 {
        driver.trigger(&format!("device-{number}"));
    }
    driver.advance("1m");

    driver.downstream().up();
    driver.advance("10m");

    let unknown: Vec<String> = driver
        .received()
        .iter()
        .filter(|sent| sent.answer == Answer::AcknowledgementLost)
        .map(|sent| sent.idempotency_key.clone())
        .collect();
    assert!(unknown.len() > 10);
    assert!(unknown.iter().all(|key| driver.guard().horizon(key) == Some(Horizon::Durable)));
}

#[test]
fn an_effect_that_another_road_is_sending_is_waited_for() {
    let mut driver = TestDriver::default();
    driver.trigger("device-0");
    let json = driver.next_trigger("device-1").replace('}', r#","idempotency_key":"mine"}"#);
    driver.guard().claim_elsewhere("mine");

    let id = driver.send(None, json.as_bytes());
    driver.advance("1s");
    assert!(driver.tries_of(&id).is_empty());
    driver.guard().release_elsewhere("mine");
    driver.advance("1s");

    assert_eq!(driver.tries_of(&id).len(), 1);
}

#[test]
fn nothing_is_done_before_the_downstream_acknowledged() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("5s");

    driver.trigger("device-1");
    driver.advance("4s");
    assert_eq!(driver.guard().done().count(), 0);
    driver.advance("1s");

    assert_eq!(driver.guard().done().count(), 1);
}

#[test]
fn a_claim_that_was_not_used_is_given_back() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(503));
    driver.downstream().fails("device-2", Answer::Status(401));

    driver.trigger("device-1");
    driver.trigger("device-2");

    assert_eq!(driver.guard().claimed().count(), 0);
}
