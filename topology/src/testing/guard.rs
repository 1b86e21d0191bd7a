//! A guard in memory, with a disk that survives a crash.

use std::collections::{BTreeMap, BTreeSet};

use crate::effect::{Claim, GuardedEffect, Horizon};

/// What the guard knows of effects.
#[derive(Debug, Default)]
pub struct Guard {
    claimed: BTreeSet<String>,
    done: BTreeMap<String, ([u8; 16], Horizon)>,
    is_down: bool,
    cannot_store: bool,
}

impl Guard {
    /// Neither claims nor marks are answered.
    pub const fn down(&mut self) {
        self.is_down = true;
        self.cannot_store = true;
    }

    /// Claims are answered, marks cannot be stored.
    pub const fn lose_marks(&mut self) {
        self.cannot_store = true;
    }

    /// Everything works again.
    pub const fn up(&mut self) {
        self.is_down = false;
        self.cannot_store = false;
    }

    /// For how long the effect with this key is remembered, if it has happened.
    pub fn horizon(&self, idempotency_key: &str) -> Option<Horizon> {
        self.done.get(idempotency_key).map(|(_, horizon)| *horizon)
    }

    /// Keys of effects that have happened.
    pub fn done(&self) -> impl Iterator<Item = &str> {
        self.done.keys().map(String::as_str)
    }

    /// Somebody else sends the effect with this key.
    pub fn claim_elsewhere(&mut self, idempotency_key: &str) {
        self.claimed.insert(idempotency_key.to_owned());
    }

    /// Somebody else gave up.
    pub fn release_elsewhere(&mut self, idempotency_key: &str) {
        self.claimed.remove(idempotency_key);
    }

    /// Keys that somebody is sending.
    pub fn claimed(&self) -> impl Iterator<Item = &str> {
        self.claimed.iter().map(String::as_str)
    }

    pub(super) fn is_done(&self, effect: &GuardedEffect) -> bool {
        self.done.get(effect.idempotency_key.as_ref()).is_some_and(|(hash, _)| *hash == effect.payload_hash)
    }

    pub(super) fn claim(&mut self, effect: &GuardedEffect) -> Claim {
        let key = effect.idempotency_key.as_ref();
        match self.done.get(key) {
            _ if self.is_down => Claim::Unavailable,
            Some((hash, _)) if *hash == effect.payload_hash => Claim::Done,
            Some(_) => Claim::Conflict,
            None if self.claimed.insert(key.to_owned()) => Claim::Granted,
            None => Claim::Busy,
        }
    }

    pub(super) fn mark(&mut self, effect: GuardedEffect, horizon: Horizon) -> bool {
        if !self.cannot_store {
            self.claimed.remove(effect.idempotency_key.as_ref());
            self.done.insert(effect.idempotency_key.as_ref().to_owned(), (effect.payload_hash, horizon));
        }
        !self.cannot_store
    }

    pub(super) fn release(&mut self, effect: &GuardedEffect) {
        self.claimed.remove(effect.idempotency_key.as_ref());
    }

    pub(super) fn crash(&mut self) {
        self.claimed.clear();
    }
}
