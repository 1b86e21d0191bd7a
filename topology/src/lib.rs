//! The graph and every decision of eddy: record and time in, effects out.
//!
//! Nothing here reads a clock, a socket, a random number or the environment; the crate builds for wasm32.

pub mod effect;
pub mod engine;
pub mod gate;
pub mod names;
pub mod outcome;
pub mod time;
