//! eddy, the host: carries out what the topology decides.

pub mod guard;
pub mod sinks;
