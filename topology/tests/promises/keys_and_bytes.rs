//! Keys and payloads are the same bytes on every path, in the same partition.

use eddy_topology::{
    Definition,
    testing::{Answer, TestDriver},
};

fn two_partitions() -> Definition {
    Definition::parse("[source]\npartitions = 2").expect("a definition")
}

/// C18: null is not empty, and binary is not text.
#[test]
fn a_key_is_byte_identical_in_failures_tiers_and_dead_letters() {
    let kilobyte = [7_u8; 1_024];
    let keys: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"\xFF\x00"), Some(&kilobyte)];
    let mut driver = TestDriver::new(&two_partitions());
    driver.downstream().fails("failing", Answer::Status(503));

    for key in keys {
        driver.trigger("healthy");
        let json = driver.next_trigger("failing");
        driver.send_to(1, key, json.as_bytes());
        driver.advance("1h");
    }

    let names = driver.topology().names().clone();
    let derived = [names.failures, names.tiers[0].clone(), names.tiers[2].clone(), names.dlq];
    for topic in derived.map(|name| name.to_string()) {
        let stored = driver.topic(&topic);
        assert!(stored.iter().all(|stored| stored.partition == 1), "{topic}");
        for key in keys {
            assert!(stored.iter().any(|stored| stored.key.as_deref() == key), "{topic} lost {key:?}");
        }
    }
}

#[test]
fn a_payload_is_byte_identical_at_the_downstream_and_in_the_dead_letter() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(503));
    let json = driver.next_trigger("device-1").replace(',', " ,\r\n\t");

    let id = driver.send(None, json.as_bytes());
    driver.advance("1h");

    assert!(driver.received().iter().all(|sent| sent.payload == json.as_bytes()));
    assert_eq!(driver.received().len(), 4);
    assert_eq!(driver.dead_letter(&id).payload(), Some(json.as_bytes()));
}

#[test]
fn every_attempt_carries_the_same_idempotency_key() {
    let mut driver = TestDriver::default();
    driver.downstream().fails("device-1", Answer::Status(503));

    let id = driver.trigger("device-1");
    driver.advance("1h");

    let dead = driver.dead_letter(&id);
    let key = dead.idempotency_key.unwrap();
    assert!(driver.received().iter().all(|sent| sent.idempotency_key == key));
    assert_eq!(key.len(), 64, "derived: hex of SHA-256");
}
