//! The table: what a status or a code says about the chance of another try.
//!
//! The operator's lists come first, then the status, and where that says nothing, the code.

use eddy_contract::{Class, Code};

use crate::Params;

/// The class of a failure, and for a person what decided.
pub(crate) fn class(code: Code, status: Option<u16>, params: &Params) -> (Class, String) {
    if let Some(status) = status {
        if let Some(class) = params.class(status) {
            return (class, format!("status {status} is set to {class}"));
        }
        if let Some(class) = class_of_status(status) {
            return (class, format!("status {status} is {class}"));
        }
    }
    let class = class_of_code(code);
    let subject = status.map_or_else(|| format!("code {code}"), |status| format!("status {status} with code {code}"));
    (class, format!("{subject} is {class}"))
}

/// What is not named here depends on the code.
const fn class_of_status(status: u16) -> Option<Class> {
    match status {
        400 | 413 | 415 | 422 => Some(Class::Terminal),
        408 | 409 | 425 | 429 => Some(Class::Transient),
        501 | 505 => None,
        500..=599 => Some(Class::Transient),
        // Faults of the sink.
        300..=399 | 401 | 403 | 407 | 410 => Some(Class::Transient),
        _ => None,
    }
}

const fn class_of_code(code: Code) -> Class {
    match code {
        Code::Throttled
        | Code::TryAgain
        | Code::Unavailable
        | Code::Timeout
        | Code::Refused
        | Code::Reset
        | Code::Dns
        // Faults of the sink.
        | Code::Unauthorized
        | Code::Redirect
        | Code::Tls
        | Code::BlockedTarget
        | Code::Gone => Class::Transient,

        Code::Rejected
        | Code::KeyConflict
        | Code::EnvelopeInvalid
        // What `validate` found in bytes that never change.
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
        | Code::UnknownSchemaVersion => Class::Terminal,

        Code::Ok | Code::Module | Code::Internal | Code::RejectedOther | Code::InvalidAnswer => Class::Unclassified,
    }
}
