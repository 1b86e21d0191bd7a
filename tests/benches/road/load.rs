//! The triggers: what `eddy generate` makes, all valid, all filled up to one size.

use bytes::Bytes;
use eddy::generate::{Generator, Plan};

/// A city that is busy enough for no device to be in everybody's way.
const EVENTS_PER_SECOND: u32 = 10_000;

const START_NS: i64 = 1_796_000_000_000_000_000;

/// Triggers of `bytes` bytes; one that is longer by nature stays so.
pub(crate) fn triggers(count: usize, bytes: usize) -> Vec<Bytes> {
    let plan = Plan { seed: 1, start_ns: START_NS, rate: EVENTS_PER_SECOND, poison_rate: 0.0, duplicate_rate: 0.0 };
    let mut generator = Generator::new(&plan);
    (0..count).map(|_| filled(generator.next_line().bytes, bytes)).collect()
}

fn filled(mut trigger: Vec<u8>, bytes: usize) -> Bytes {
    const OPEN: &[u8] = br#","note":""#;
    const CLOSE: &[u8] = br#""}"#;

    if let Some(missing) = bytes.checked_sub(trigger.len() - 1 + OPEN.len() + CLOSE.len()) {
        trigger.pop();
        trigger.extend_from_slice(OPEN);
        trigger.resize(trigger.len() + missing, b'n');
        trigger.extend_from_slice(CLOSE);
    }
    trigger.into()
}
