//! The host: carries out what `topology/` decides.

pub mod modules;
