//! eddy: a Kafka-Streams-style topology on Fluvio. The host of the topology, and the program around it.
//!
//! `topology/` decides, this crate does: it reads, judges (in the broker), delivers, writes and tells the time.

pub mod audit;
pub mod broker;
pub mod cli;
pub mod config;
pub mod deploy;
#[cfg(feature = "embedded")]
pub mod dev;
pub mod feed;
pub mod feeder;
pub mod generate;
pub mod guard;
pub mod host;
pub mod letters;
pub mod modules;
pub mod output;
pub mod signals;
pub mod sinks;
