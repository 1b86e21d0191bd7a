//! What a sink saw of one delivery. The sink maps an answer to an outcome; what follows from it is decided here.

use eddy_contract::{Code, SideEffect};

/// The answer of a sink to one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The downstream acknowledged.
    Delivered,
    /// It did not.
    Failed(Refusal),
}

/// Why a delivery failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// What the downstream asked for, milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The answer's body or the error's text; cut before it is written.
    pub message: String,
    pub effect: SideEffect,
    /// Where a redirect pointed.
    pub location: Option<String>,
}
