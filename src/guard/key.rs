//! How the guard names an effect, and what it keeps of a payload's hash.

use eddy_topology::effect::GuardedEffect;
use sha2::{Digest, Sha256};

/// The first 16 bytes of the SHA-256 over the length-prefixed source, sink and idempotency key. Part of the stored
/// format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key of this effect.
    pub fn of(effect: &GuardedEffect) -> Self {
        let mut hasher = Sha256::new();
        for field in [&effect.source, &effect.sink, &effect.idempotency_key] {
            hasher.update((field.len() as u64).to_be_bytes());
            hasher.update(field.as_bytes());
        }
        let hash: [u8; 32] = hasher.finalize().into();
        Self(*hash.first_chunk().expect("16 of 32 bytes"))
    }
}

/// The first 8 bytes of the payload's hash. The key already names the effect, so these only have to tell a repeated
/// record from other bytes under the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(pub(super) [u8; 8]);

/// An effect that has happened, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) fingerprint: Fingerprint,
}

impl Entry {
    pub(super) fn of(effect: &GuardedEffect) -> Self {
        let fingerprint = Fingerprint(*effect.payload_hash.first_chunk().expect("8 of 16 bytes"));
        Self { key: Key::of(effect), fingerprint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(source: &str, sink: &str, idempotency_key: &str) -> GuardedEffect {
        GuardedEffect {
            source: source.into(),
            sink: sink.into(),
            idempotency_key: idempotency_key.into(),
            payload_hash: [7; 16],
        }
    }

    #[test]
    fn fields_cannot_run_into_each_other() {
        assert_ne!(Key::of(&effect("ab", "c", "k")), Key::of(&effect("a", "bc", "k")));
        assert_ne!(Key::of(&effect("a", "b", "ck")), Key::of(&effect("a", "bc", "k")));
    }

    #[test]
    fn the_key_is_the_same_in_every_release() {
        let key = Key::of(&effect("geofence-triggers", "webhook", "k-1"));

        let hex: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "4c426a969936ef248ff646aaa589fc38");
    }

    #[test]
    fn the_payload_is_no_part_of_the_key() {
        let one = effect("a", "b", "c");
        let other = GuardedEffect { payload_hash: [8; 16], ..one.clone() };

        assert_eq!(Key::of(&one), Key::of(&other));
        assert_ne!(Entry::of(&one), Entry::of(&other));
    }
}
