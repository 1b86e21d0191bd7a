//! eddy: a Kafka-Streams-style topology on Fluvio. The host of the topology, and the program around it.

pub mod cli;
pub mod config;
pub mod feed;
pub mod generate;
pub mod output;
