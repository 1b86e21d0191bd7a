//! The graph and every decision of eddy: record and time in, effects out.
//!
//! The host in `src/` reads logs, calls sinks and writes; it decides nothing. Here everything is decided and nothing is
//! done: an [`Engine`] is given a record, or the answer to an effect, and the time, and answers with
//! [effects](effect::Effect). So the whole of eddy can be run in a test, with years of virtual time and a crash at any
//! point (`testing`, behind the feature `test-util`).
//!
//! # The map
//!
//! | to change | open |
//! |---|---|
//! | what a topology consists of, and what is a mistake | [`definition`], [`builder`], `builder/check.rs`, `geofence.toml` |
//! | how something is called | [`names`] |
//! | what becomes of a source record | `engine/intake.rs` |
//! | what becomes of a failure: which tier, or dead letter | `engine/route.rs`, [`schedule`] |
//! | when a record on a tier goes | `engine/tier.rs`, `release.rs` |
//! | how a record is delivered once | `engine/guarded.rs` |
//! | whose fault a failure is, and when sending stops | [`outcome`], [`gate`] |
//! | when a position may pass a record | [`engine`] (`settle`), `watermark.rs` |
//! | what goes one after the other | `lanes.rs` |
//! | what happens when the log or the guard does not work | `engine/stall.rs` |
//! | what an envelope says | `letter.rs`; its bytes are the contract crate's |
//! | which dead letters are open, and whether anything is missing | [`letters`], [`audit`] |
//! | which letters are meant | [`filter`] |
//! | what a replay job is, which way its states go, how fast it is | [`replay`] (no host carries one out yet) |
//!
//! # The words
//!
//! *Road*: intake, route or a tier, each a topic and what becomes of its records. *Task*, *flight*: a record that can be
//! delivered; a record that is not settled. *Counted*: a failure that costs the record an attempt; *held*: one that does
//! not. *Settled*: the position may pass. *Resolved*: the final fate is known. *Dead letter* in prose, `dlq` in names.
//! *Id*: where a record came from; *idempotency key*: which effect it has. They are never confused.
//!
//! # What always holds
//!
//! 1. Every record of the source is in exactly one place; after a crash in at least one (`tests/promises/conservation.rs`).
//! 2. No record on a tier is sent early.
//! 3. Key and payload are the same bytes everywhere; null is not empty.
//! 4. One record never blocks its partition.
//! 5. A position never passes an unfinished record.
//! 6. Nothing is marked done before the downstream acknowledged.
//! 7. Same calls, same times: same effects in the same order.
//!
//! # What is absent
//!
//! No clock, no random number, no environment, no socket, no file, no async: `topology/.clippy.toml` forbids them, and the
//! crate builds for wasm32. No JSON is parsed on the straight road: modules do that, in the broker.
#![warn(missing_docs)]

pub mod audit;
pub mod builder;
pub mod definition;
mod describe;
pub mod effect;
pub mod engine;
pub mod filter;
pub mod gate;
mod lanes;
mod letter;
pub mod letters;
pub mod names;
pub mod outcome;
mod release;
pub mod replay;
pub mod schedule;
#[cfg(feature = "test-util")]
pub mod testing;
pub mod time;
pub mod topology;
mod watermark;

pub use definition::Definition;
pub use engine::{Engine, Input, Road};
pub use filter::Filter;
pub use gate::Gate;
pub use names::TopicName;
pub use time::{Span, Timestamp};
pub use topology::Topology;
