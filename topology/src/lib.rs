//! The graph and every decision of eddy: record and time in, effects out.
//!
//! Nothing here reads a clock, a socket, a random number or the environment; the crate builds for wasm32.
#![warn(missing_docs)]

pub mod audit;
pub mod builder;
pub mod definition;
mod describe;
pub mod effect;
pub mod engine;
pub mod gate;
mod lanes;
mod letter;
pub mod letters;
pub mod names;
pub mod outcome;
mod release;
pub mod schedule;
#[cfg(feature = "test-util")]
pub mod testing;
pub mod time;
pub mod topology;
mod watermark;

pub use definition::Definition;
pub use engine::{Engine, Input, Road};
pub use gate::Gate;
pub use names::TopicName;
pub use time::{Span, Timestamp};
pub use topology::Topology;
