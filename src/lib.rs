//! placeholder

pub mod broker;
