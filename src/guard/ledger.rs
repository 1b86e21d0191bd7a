//! What the guard knows, and what it answers given that and the time. No clock, no disk, no lock.
//!
//! Recent effects live in two generations. When the current one is full or old it becomes the previous one, and what
//! was the previous one is forgotten: no scan, no pause, and memory is bounded by twice a generation. So an effect is
//! remembered for at least one generation and for at most two.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
};

use eddy_topology::effect::{Claim, Horizon};

use super::{
    Claimant,
    key::{Entry, Fingerprint, Key},
};

/// The recent effects of one span of time.
pub(super) type Generation = HashMap<Key, Fingerprint>;

/// The right to send, for a while.
#[derive(Debug, Clone, Copy)]
struct Held {
    claimant: Claimant,
    until_ms: u64,
}

/// Marks to be stored together.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) recent: Vec<Entry>,
    pub(super) durable: Vec<Entry>,
    /// The sequence of the last mark in here.
    pub(super) last: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Ledger {
    claim_ttl_ms: u64,
    generation_keys_max: usize,
    current: Generation,
    previous: Generation,
    claims: HashMap<Key, Held>,
    /// Of `current` or `previous`, and not stored yet.
    recent_pending: Vec<Entry>,
    durable_pending: BTreeMap<Key, Fingerprint>,
    sequence: u64,
}

impl Ledger {
    pub(super) fn new(claim_ttl_ms: u64, generation_keys_max: usize) -> Self {
        Self {
            claim_ttl_ms,
            generation_keys_max,
            // Room for a whole generation, so that no claim has to wait until a map has grown.
            current: HashMap::with_capacity(generation_keys_max),
            previous: HashMap::new(),
            claims: HashMap::new(),
            recent_pending: Vec::new(),
            durable_pending: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Takes up what was stored before.
    pub(super) fn restore(&mut self, previous: Vec<Entry>, current: Vec<Entry>) {
        self.previous = previous.into_iter().map(|entry| (entry.key, entry.fingerprint)).collect();
        self.current.extend(current.into_iter().map(|entry| (entry.key, entry.fingerprint)));
    }

    /// Answers a claim. `stored` looks into the durable store; it is asked only when memory does not know.
    pub(super) fn claim<E>(
        &mut self,
        claimant: Claimant,
        entry: Entry,
        now_ms: u64,
        stored: impl FnOnce(Key) -> Result<Option<Fingerprint>, E>,
    ) -> Claim {
        let answer = self.lookup(entry, now_ms, stored);
        if answer == Claim::Granted {
            self.claims.insert(entry.key, Held { claimant, until_ms: now_ms.saturating_add(self.claim_ttl_ms) });
        }
        answer
    }

    /// What a claim would be answered.
    pub(super) fn lookup<E>(
        &self,
        entry: Entry,
        now_ms: u64,
        stored: impl FnOnce(Key) -> Result<Option<Fingerprint>, E>,
    ) -> Claim {
        let known = match self.remembered(entry.key) {
            Some(fingerprint) => Ok(Some(fingerprint)),
            None => stored(entry.key),
        };
        match known {
            Err(_) => Claim::Unavailable,
            Ok(Some(fingerprint)) if fingerprint == entry.fingerprint => Claim::Done,
            Ok(Some(_)) => Claim::Conflict,
            // Busy whatever the bytes: whether the keys conflict is known only once the first has happened.
            Ok(None) if self.claims.get(&entry.key).is_some_and(|held| now_ms < held.until_ms) => Claim::Busy,
            Ok(None) => Claim::Granted,
        }
    }

    fn remembered(&self, key: Key) -> Option<Fingerprint> {
        let recent = self.current.get(&key).or_else(|| self.previous.get(&key));
        recent.or_else(|| self.durable_pending.get(&key)).copied()
    }

    /// Ends the claim if it is this claimant's.
    pub(super) fn release(&mut self, claimant: Claimant, key: Key) {
        if self.claims.get(&key).is_some_and(|held| held.claimant == claimant) {
            self.claims.remove(&key);
        }
    }

    /// Remembers an effect that has happened. Whoever holds the claim now will be told when it asks again.
    ///
    /// A key that `current` or `durable_pending` has is stored or will be, so it is not stored again; the first
    /// payload stands.
    pub(super) fn mark(&mut self, entry: Entry, horizon: Horizon) -> u64 {
        self.claims.remove(&entry.key);
        match horizon {
            Horizon::Recent if self.current.contains_key(&entry.key) => {}
            Horizon::Recent => {
                self.current.insert(entry.key, entry.fingerprint);
                self.recent_pending.push(entry);
            }
            Horizon::Durable => {
                self.durable_pending.entry(entry.key).or_insert(entry.fingerprint);
            }
        }
        self.sequence += 1;
        self.sequence
    }

    /// The sequence of the last mark.
    pub(super) const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Everything that is not stored yet.
    pub(super) fn take_group(&mut self) -> Group {
        let durable =
            self.durable_pending.iter().map(|(key, fingerprint)| Entry { key: *key, fingerprint: *fingerprint });
        Group { durable: durable.collect(), recent: mem::take(&mut self.recent_pending), last: self.sequence }
    }

    /// The group is on disk; from now on the durable store answers for its durable part.
    pub(super) fn group_stored(&mut self, group: &Group) {
        for entry in &group.durable {
            self.durable_pending.remove(&entry.key);
        }
    }

    /// The group is not on disk, or nobody knows: it stays pending, and what it marked stays done.
    pub(super) fn group_refused(&mut self, group: Group) {
        let later = mem::replace(&mut self.recent_pending, group.recent);
        self.recent_pending.extend(later);
    }

    /// Whether the current generation has as many keys as it may.
    pub(super) fn generation_is_full(&self) -> bool {
        self.current.len() >= self.generation_keys_max
    }

    /// Begins a generation and returns the forgotten one, so that it can be freed outside a lock.
    #[must_use]
    pub(super) fn rotate(&mut self, next: Generation) -> Generation {
        let ended = mem::replace(&mut self.current, next);
        mem::replace(&mut self.previous, ended)
    }

    /// Drops claims whose owners never came back.
    pub(super) fn forget_expired_claims(&mut self, now_ms: u64) {
        self.claims.retain(|_, held| now_ms < held.until_ms);
    }
}

#[cfg(test)]
mod tests;
