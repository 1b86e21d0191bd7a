//! What a sink saw of one delivery, and whom that blames.
//!
//! The sink maps an answer to an [`Outcome`]; what follows from it is decided here and in [`gate`](crate::gate). Whether
//! a failure that is counted against a record can ever heal is not decided here: `classify` says that.

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
    /// One word for it.
    pub code: Code,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// What the downstream asked for, milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The answer's body or the error's text; cut before it is written.
    pub message: String,
    /// Whether the effect may have happened all the same.
    pub effect: SideEffect,
    /// Where a redirect pointed.
    pub location: Option<String>,
}

/// The one word for an HTTP status; [`Code::Ok`] for a success.
pub const fn code_of_status(status: u16) -> Code {
    match status {
        200..=299 => Code::Ok,
        300..=399 => Code::Redirect,
        400 | 413 | 415 | 422 => Code::Rejected,
        401 | 403 | 407 => Code::Unauthorized,
        408 | 409 | 425 => Code::TryAgain,
        410 => Code::Gone,
        429 => Code::Throttled,
        402..=499 | 501 | 505 => Code::RejectedOther,
        500..=599 => Code::Unavailable,
        _ => Code::InvalidAnswer,
    }
}

/// Whom a failure blames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The record: the sink works, and said no to this one.
    Record,
    /// Perhaps the record, perhaps the whole downstream: many in a row decide.
    Perhaps,
    /// The connection broke before an answer: like `Perhaps`, and worth trying again at once.
    Blip,
    /// There was no connection: worth trying again at once too, and no record can be the cause.
    Unreached,
    /// The sink's credentials, certificate or address: no record can help it.
    Sink,
    /// The downstream asks to stop.
    Stop,
}

impl Blame {
    pub(crate) const fn of(code: Code) -> Self {
        match code {
            Code::Refused | Code::Dns => Self::Unreached,
            Code::Reset => Self::Blip,
            Code::Throttled | Code::TryAgain | Code::Unavailable | Code::Timeout | Code::InvalidAnswer => Self::Perhaps,
            Code::Unauthorized | Code::Redirect | Code::Tls | Code::BlockedTarget => Self::Sink,
            Code::Gone => Self::Stop,
            Code::Rejected | Code::RejectedOther | Code::KeyConflict => Self::Record,
            // No sink says any of these; should one do, only the record suffers.
            Code::Ok
            | Code::EmptyPayload
            | Code::NotUtf8
            | Code::InvalidJson
            | Code::NotAnObject
            | Code::TooDeep
            | Code::DuplicateKey
            | Code::TooLarge
            | Code::MissingField
            | Code::WrongType
            | Code::InvalidField
            | Code::UnknownTransition
            | Code::LatitudeOutOfRange
            | Code::LongitudeOutOfRange
            | Code::AxesSwapped
            | Code::ImplausibleTime
            | Code::InvalidIdempotencyKey
            | Code::UnknownFence
            | Code::UnknownSchemaVersion
            | Code::EnvelopeInvalid
            | Code::Module
            | Code::Internal => Self::Record,
        }
    }
}
