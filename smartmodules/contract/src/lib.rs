//! The bytes that modules, topology and host agree on.
//!
//! Two formats of eddy's own live here: the **verdict header** that a SmartModule puts in front of the untouched
//! original bytes ([`header`]), and the **envelope** that is the value of every record in the failures, tier,
//! dead-letter and parked topics ([`envelope`]). Both are versioned and both are decoded by every later version.
//! Beside them stands what the modules share to speak with Fluvio's engine ([`guest`]). What the bytes *mean* (when to retry, where to send) is decided in `topology/`, not here.
//!
//! This crate builds for `wasm32-unknown-unknown`; it reads no clock, no random number and no environment.

mod bytes;
pub mod code;
pub mod envelope;
pub mod guest;
pub mod header;
pub mod id;
pub mod idempotency;
mod signature;

pub use code::{Class, Code, Verdict};
pub use envelope::{Envelope, Failure, SideEffect};
pub use guest::RecordView;
pub use header::Header;
pub use id::RecordId;
pub use signature::signature;
