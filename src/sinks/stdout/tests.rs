//! The stdout sink: whole lines, and what becomes of a reader that went away.

use std::{collections::BTreeSet, sync::Arc};

use eddy_topology::outcome::Refusal;
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::*;

/// Takes one byte at a time, so that two writers would mix.
#[derive(Clone, Default)]
struct Slowly(Arc<Mutex<Vec<u8>>>);

impl Write for Slowly {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend(&bytes[..1]);
        thread::yield_now();
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn delivery(payload: &str) -> Delivery {
    Delivery {
        id: "geofence-triggers/0/1".parse().unwrap(),
        key: None,
        payload: Bytes::copy_from_slice(payload.as_bytes()),
        idempotency_key: "k".into(),
        traceparent: None,
        attempt: 1,
        replayed: false,
    }
}

#[tokio::test]
async fn every_record_is_one_whole_line() {
    let written = Slowly::default();
    let sink = Stdout::to("stdout", written.clone()).unwrap();
    let payloads: Vec<String> = (0..300).map(|number| format!("{{\"number\":{number}}}")).collect();

    let outcomes = join_all(payloads.iter().map(|payload| sink.deliver(delivery(payload)))).await;

    assert_eq!(outcomes, vec![Outcome::Delivered; 300]);
    let text = String::from_utf8(written.0.lock().clone()).unwrap();
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!(lines, payloads.iter().map(String::as_str).collect());
}

#[tokio::test]
async fn a_record_with_line_breaks_stays_one_line_and_the_same_document() {
    let written = Slowly::default();
    let sink = Stdout::to("stdout", written.clone()).unwrap();

    sink.deliver(delivery("{\r\n  \"a\": \"\\n\"\n}")).await;

    assert_eq!(*written.0.lock(), b"{    \"a\": \"\\n\" }\n");
}

#[tokio::test]
async fn when_the_reader_has_gone_away_deliveries_fail_and_go_on_failing() {
    let (reader, writer) = io::pipe().unwrap();
    let sink = Stdout::to("stdout", writer).unwrap();
    drop(reader);

    let outcomes = [sink.deliver(delivery("{}")).await, sink.deliver(delivery("{}")).await];

    for outcome in outcomes {
        assert!(matches!(outcome, Outcome::Failed(Refusal { code: Code::Reset, effect: SideEffect::Unknown, .. })));
    }
}
