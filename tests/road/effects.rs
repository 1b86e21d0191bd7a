//! An effect happens once, and the downstream is told which one it is.

use bytes::Bytes;
use eddy_contract::idempotency::is_valid;

use crate::harness::{Road, devices, trigger, trigger_text};

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_a_producer_wrote_again_is_delivered_once() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    let twin = trigger("twin");

    road.produce([(0, twin.clone()), (0, twin.clone())]).await;
    road.triggers(devices(20)).await;
    road.until_resolved().await;
    road.produce([(0, twin)]).await;
    road.until_resolved().await;

    assert_eq!(road.received("twin").len(), 1);
    assert_eq!(road.counts().suppressed, 2);
    assert!(road.audit().await.conserved);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_with_other_bytes_is_a_dead_letter_and_never_suppressed() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    let text = trigger_text("moving");
    let other = text.replace("8.54", "8.55");

    road.produce([(0, (None, text.into()))]).await;
    let id = road.produce([(0, (None, other.clone().into()))]).await.remove(0);
    road.until_resolved().await;

    let dead = road.dead_letter(&id).await;
    assert_eq!(dead.reason(), "terminal:key_conflict");
    assert_eq!(dead.envelope.payload(), Some(other.as_bytes()));
    assert_eq!(road.received("moving").len(), 1);
    road.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_carries_the_original_bytes_and_says_which_effect_and_record_it_is() {
    let mut road = Road::start("", |_: &[u8]| 200).await;
    let traced = trigger_text("traced")
        .replace('}', &format!(", \"idempotency_key\":\"order-7\",\"traceparent\":\"{TRACEPARENT}\",\"x\":1e2 }}"));

    let id = road.produce([(0, (None, traced.clone().into()))]).await.remove(0);
    road.triggers(["plain"]).await;
    road.until_resolved().await;

    let request = road.received("traced").remove(0);
    assert_eq!(request.body, Bytes::from(traced));
    assert_eq!(request.idempotency_key, "order-7");
    assert_eq!(request.header("traceparent"), TRACEPARENT);
    assert_eq!(request.header("eddy-id"), id.to_string());
    assert_eq!(request.header("eddy-attempt"), "1");
    assert_eq!(request.header("eddy-replayed"), "");
    assert_eq!(request.header("content-type"), "application/json");
    let plain = road.received("plain").remove(0);
    assert!(is_valid(&plain.idempotency_key), "one is derived: {plain:?}");
    assert_eq!(plain.header("traceparent"), "");
    road.finish().await;
}
