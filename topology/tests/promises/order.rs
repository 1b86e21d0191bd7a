//! Records of one key go one after the other; nobody waits for another key.

use eddy_contract::Code;
use eddy_topology::testing::{Answer, TestDriver};

fn payload_order(driver: &TestDriver, texts: &[&str]) -> Vec<usize> {
    let holds = |payload: &[u8], text: &str| payload.windows(text.len()).any(|window| window == text.as_bytes());
    let position = |payload: &[u8]| texts.iter().position(|text| holds(payload, text));
    driver.received().iter().filter_map(|sent| position(&sent.payload)).collect()
}

#[test]
fn triggers_of_one_device_are_sent_in_the_order_of_the_log() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1s");

    let ids: Vec<_> = (0..5).map(|_| driver.trigger("device-1")).collect();
    driver.advance("10s");

    let tries: Vec<i64> = ids.iter().flat_map(|id| driver.tries_of(id)).collect();
    assert_eq!(tries, [0, 1_000, 2_000, 3_000, 4_000]);
}

#[test]
fn without_a_key_the_device_decides() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1s");

    let ids: Vec<_> = ["device-1", "device-1", "device-2"]
        .map(|device| {
            let json = driver.next_trigger(device);
            driver.send(None, json.as_bytes())
        })
        .to_vec();
    driver.advance("10s");

    let tries: Vec<i64> = ids.iter().flat_map(|id| driver.tries_of(id)).collect();
    assert_eq!(tries, [0, 1_000, 0]);
}

#[test]
fn an_in_place_retry_holds_its_lane() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("first", [Answer::Fails(Code::Reset)]);

    for text in ["first", "second"] {
        let json = driver.next_trigger(text);
        driver.send(Some(b"one lane"), json.as_bytes());
    }
    driver.advance("1s");

    assert_eq!(payload_order(&driver, &["first", "second"]), [0, 0, 1]);
}

#[test]
fn a_retried_record_leaves_its_lane_and_those_behind_it_go_on() {
    let mut driver = TestDriver::default();
    driver.downstream().answers("first", [Answer::Status(503)]);

    for text in ["first", "second"] {
        let json = driver.next_trigger(text);
        driver.send(Some(b"one lane"), json.as_bytes());
    }
    driver.advance("10s");

    assert_eq!(payload_order(&driver, &["first", "second"]), [0, 1, 0]);
}

#[test]
fn one_slow_record_blocks_nothing_but_its_lane() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1m");
    driver.trigger("slow");
    driver.downstream().takes("0s");

    for number in 0..1_000 {
        driver.trigger(&format!("device-{number}"));
    }

    assert_eq!(driver.received().len(), 1_001);
    assert!(!driver.is_settled());
}

#[test]
fn no_more_than_in_flight_max_deliveries_are_on_their_way_at_once() {
    let mut driver = TestDriver::default();
    driver.downstream().takes("1s");
    let in_flight_max = driver.topology().in_flight_max();

    for number in 0..200 {
        driver.trigger(&format!("device-{number}"));
    }

    assert_eq!(driver.received().len(), in_flight_max);
}
