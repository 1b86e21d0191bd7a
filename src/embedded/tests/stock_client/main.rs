//! The node as unmodified Fluvio clients see it: the published crate's client, over TCP, never the node's own types.
//!
//! Everything waits with a limit, since the client has few of its own.

#![expect(clippy::unwrap_used, reason = "a step that fails fails its test")]

mod cluster;
mod consumer_offsets;
mod lifetime;
mod records;
mod smartmodules;
mod topics;
