//! The habits of a real SPU that the node keeps, seen on the wire with frames written by hand.
//!
//! M1 to M12 are the project's numbers for them. Each test drives a whole node over TCP; the records that a client
//! would deliver are reckoned with the protocol crate's own types. The modules are WebAssembly text, small enough to
//! see what each does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod client;
mod guest;
mod judged;
mod produced;
mod pulled;
mod pushed;
mod scene;
