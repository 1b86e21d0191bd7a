//! The idempotency key: the trigger's own, or one derived from what the trigger says.
//!
//! Derived: hex SHA-256 over the length-prefixed device, fence, transition and `floor(event_time_ns / bucket_ns)`.
//! It names an *effect*; it is never a record's id.

use sha2::{Digest, Sha256};

/// The bucket that event times are rounded down to unless the definition says otherwise, nanoseconds.
pub const DEFAULT_BUCKET_NS: i64 = 1_000_000_000;

/// The longest idempotency key, bytes.
pub const KEY_BYTES_MAX: usize = 256;

/// Derives the key of a trigger that carries none. `bucket_ns` must be positive.
pub fn derive(device: &str, fence: &str, transition: &str, event_time_ns: i64, bucket_ns: i64) -> String {
    let mut hasher = Sha256::new();
    for field in [device, fence, transition] {
        hasher.update((field.len() as u64).to_be_bytes());
        hasher.update(field.as_bytes());
    }
    let bucket = event_time_ns.div_euclid(bucket_ns.max(1));
    hasher.update(8_u64.to_be_bytes());
    hasher.update(bucket.to_be_bytes());
    hex(&hasher.finalize())
}

/// SHA-256 of `bytes`, lowercase hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Whether `key` may be used as an idempotency key: 1 to 256 visible ASCII characters.
pub fn is_valid(key: &str) -> bool {
    (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}
