//! The guard: has this effect happened?
//!
//! One guard answers for every road (intake, tiers, later replay), so that no two of them send one effect. An effect
//! is *absent*, then *claimed* by the road that is about to send it, then *done* once the downstream has
//! acknowledged it. Claims live in memory and end by themselves after a while; done effects are stored, first-try
//! successes for the *recent* horizon and all others for the *durable* one.
//!
//! A mark counts at once for other claims and is stored a little later, together with the marks of its neighbours;
//! only then may a position pass the record. A crash in between sends again what was in flight, with the same
//! idempotency key. When nothing can be stored, claims are refused and marks fail: never a silent success.
//!
//! What the guard does not know: an effect whose acknowledgement was lost. Only the downstream can tell.

mod durable;
mod embedded;
mod journal;
mod key;
mod ledger;
mod lock;
mod writer;

use eddy_topology::effect::{Claim, GuardedEffect, Horizon};
use futures_util::future::BoxFuture;
use tokio::sync::watch;

pub use self::{
    embedded::{EmbeddedGuard, OpenError, Settings},
    key::Key,
    lock::LockError,
};

/// Who claims: the host numbers its tasks. A release by one claimant never ends the claim of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claimant(pub u64);

/// How far marks have come. Both numbers only grow, so a receiver may miss values in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Every mark up to this sequence is stored.
    pub stored: u64,
    /// Every mark after `stored` and up to this sequence could not be stored, so far.
    pub refused: u64,
}

impl Progress {
    /// What [`Answer::Marked`](eddy_topology::effect::Answer::Marked) says of this mark; `None`: wait.
    pub const fn answer(self, sequence: u64) -> Option<bool> {
        if sequence <= self.stored {
            Some(true)
        } else if sequence <= self.refused {
            Some(false)
        } else {
            None
        }
    }
}

/// A store of effects. All implementations pass one conformance suite.
pub trait Guard: Send + Sync {
    /// Asks for the right to send, for each effect in turn. A claim that is neither marked nor released ends after
    /// the claims' time to live, which must be longer than any delivery takes.
    fn claim<'a>(&'a self, claimant: Claimant, effects: &'a [GuardedEffect]) -> BoxFuture<'a, Vec<Claim>>;

    /// What [`Guard::claim`] would answer now; claims nothing. For the audit.
    fn lookup<'a>(&'a self, effects: &'a [GuardedEffect]) -> BoxFuture<'a, Vec<Claim>>;

    /// Gives a claim back, unused.
    fn release(&self, claimant: Claimant, effect: &GuardedEffect);

    /// Records that the downstream has acknowledged. Returns the mark's sequence; [`Guard::progress`] tells when that
    /// is stored. A mark that was refused may be made again.
    fn mark(&self, effect: &GuardedEffect, horizon: Horizon) -> u64;

    /// How far marks have come, now and from now on.
    fn progress(&self) -> watch::Receiver<Progress>;

    /// Asks to store now what would else wait for its neighbours. Does not wait; see [`Guard::progress`].
    fn hurry(&self);
}

#[cfg(test)]
mod conformance;
