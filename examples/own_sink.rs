//! A sink of your own: keeps every device's latest trigger in memory, and refuses what it has no room for.

use std::collections::HashMap;

use bytes::Bytes;
use eddy::sinks::{BoxFuture, Sink};
use eddy_contract::{Code, SideEffect};
use eddy_topology::{
    effect::Delivery,
    outcome::{Outcome, Refusal},
};
use parking_lot::Mutex;

const DEVICES_MAX: usize = 100_000;

#[derive(Default)]
struct LatestByDevice(Mutex<HashMap<Bytes, Bytes>>);

impl Sink for LatestByDevice {
    fn name(&self) -> &str {
        "latest-by-device"
    }

    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        let mut latest = self.0.lock();
        let device = delivery.key.unwrap_or_default();
        if latest.len() >= DEVICES_MAX && !latest.contains_key(&device) {
            return Box::pin(std::future::ready(Outcome::Failed(Refusal {
                code: Code::Unavailable, // what the outcome means, retry or not, is decided elsewhere
                status: None,
                retry_after_ms: Some(30_000),
                message: format!("{DEVICES_MAX} devices are known already"),
                effect: SideEffect::Refused,
                location: None,
            })));
        }
        latest.insert(device, delivery.payload);
        Box::pin(std::future::ready(Outcome::Delivered))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let sink = LatestByDevice::default();
    let delivery = Delivery {
        id: "geofence-triggers/0/17".parse().expect("an id"),
        key: Some(Bytes::from_static(b"device-1")),
        payload: Bytes::from_static(br#"{"device_id":"device-1"}"#),
        idempotency_key: "k-1".into(),
        traceparent: None,
        attempt: 1,
        replayed: false,
    };

    assert_eq!(sink.deliver(delivery).await, Outcome::Delivered);
}
