//! Triggers for tests.

use crate::Timestamp;

/// A valid trigger of `device` whose event time is `now`; `number` makes it differ from others.
pub fn trigger_json(device: &str, now: Timestamp, number: usize) -> String {
    let event_time_ns = now.0 * 1_000_000;
    format!(
        r#"{{"device_id":"{device}","fence_id":"fence-{number}","transition":"ENTER","event_time_ns":{event_time_ns},"lat":47.37,"lon":8.54}}"#
    )
}
