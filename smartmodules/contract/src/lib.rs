//! The bytes that modules, topology and host agree on.
//!
//! Two formats live here, and nothing else: the **verdict header** that a SmartModule puts in front of the
//! untouched original bytes ([`header`]), and the **envelope** that is the value of every record in the failures,
//! tier, dead-letter and parked topics ([`envelope`]). Both are versioned and both are decoded by every later
//! version. What the bytes *mean* (when to retry, where to send) is decided in `topology/`, not here.
//!
//! This crate builds for `wasm32-unknown-unknown`; it reads no clock, no random number and no environment.

pub mod code;
pub mod envelope;
pub mod header;
pub mod id;
pub mod idempotency;
mod signature;

pub use code::{Class, Code, Verdict};
pub use envelope::{Envelope, Failure, SideEffect};
pub use header::Header;
pub use id::RecordId;
pub use signature::signature;
