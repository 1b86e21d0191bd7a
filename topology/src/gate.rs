//! The gate of a sink: whether anything may be sent to it now.
//!
//! One gate per sink, shared by all its engines; the host keeps it behind a mutex and hands it in.

/// See the module's documentation.
#[derive(Debug)]
pub struct Gate;
