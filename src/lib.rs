//! The host: carries out what `topology/` decides.

pub mod broker;
pub mod modules;
