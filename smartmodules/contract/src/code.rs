//! The closed lists: what a module may say, what class a failure has, and the code that explains it.
//!
//! A code is one word of a closed list, so that counts, filters and alerts can rely on it; free text goes into a
//! failure's message. The numbers are part of the wire format of the verdict header and are never reused.

use serde::{Deserialize, Serialize};

/// What a module says about one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Verdict {
    /// A trigger: deliver it.
    Valid = 1,
    /// The same bytes can never succeed.
    Terminal = 2,
    /// The same bytes may succeed later.
    Transient = 3,
    /// The module does not know; it is not retried.
    Unclassified = 4,
    /// Not for this topology; reserved, no module of eddy says it yet.
    Ignored = 5,
}

impl Verdict {
    /// Every verdict, in the order of its number.
    pub const ALL: [Self; 5] = [Self::Valid, Self::Terminal, Self::Transient, Self::Unclassified, Self::Ignored];

    /// The number used in the verdict header.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The verdict with this number, if the list has one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.number() == number)
    }

    /// The word used in metrics, the CLI and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Terminal => "terminal",
            Self::Transient => "transient",
            Self::Unclassified => "unclassified",
            Self::Ignored => "ignored",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a failure can heal. A failure that could heal but ran out of retries is a dead letter with the reason
/// prefix `exhausted:`; its class stays `transient`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Transient,
    Terminal,
    Unclassified,
}

impl Class {
    /// The word used in envelopes, reasons, metrics and the CLI.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Terminal => "terminal",
            Self::Unclassified => "unclassified",
        }
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares the code list once: number, variant, word.
macro_rules! codes {
    ($($(#[$doc:meta])* $number:literal $variant:ident $word:literal,)*) => {
        /// Why a verdict or an outcome is what it is. See the module's documentation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u16)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $word)] $variant = $number,)*
        }

        impl Code {
            /// Every code, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word used in envelopes, metrics, the CLI and documents.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The number used in the verdict header.
            pub const fn number(self) -> u16 {
                self as u16
            }

            /// The code with this number, if the list has one.
            pub const fn from_number(number: u16) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    /// Nothing to explain: the verdict is `valid`, or the delivery succeeded.
    0 Ok "ok",

    // What `validate` finds in a record. All terminal.
    /// Zero bytes, white space only, a lone byte order mark, or JSON `null`.
    1 EmptyPayload "empty_payload",
    /// The bytes are not UTF-8.
    2 NotUtf8 "not_utf8",
    /// The bytes are not JSON; `NaN` and `Infinity` are not JSON either.
    3 InvalidJson "invalid_json",
    /// JSON, but not one object.
    4 NotAnObject "not_an_object",
    /// Nested deeper than 64 levels.
    5 TooDeep "too_deep",
    /// A name stands twice in one object.
    6 DuplicateKey "duplicate_key",
    /// More bytes than the limit (64 KiB unless set).
    7 TooLarge "too_large",
    /// A required field is absent.
    8 MissingField "missing_field",
    /// A field has another JSON type than the format says.
    9 WrongType "wrong_type",
    /// A field is empty, too long, or holds control characters.
    10 InvalidField "invalid_field",
    /// `transition` is none of ENTER, EXIT, DWELL.
    11 UnknownTransition "unknown_transition",
    /// `lat` is outside -90..=90.
    12 LatitudeOutOfRange "latitude_out_of_range",
    /// `lon` is outside -180..=180.
    13 LongitudeOutOfRange "longitude_out_of_range",
    /// |lat| > 90 >= |lon|: the two were exchanged.
    14 AxesSwapped "axes_swapped",
    /// `event_time_ns` is no plausible time: zero, negative, seconds or milliseconds instead of nanoseconds, or too
    /// far from the record's own timestamp.
    15 ImplausibleTime "implausible_time",
    /// `idempotency_key` is not 1 to 256 visible ASCII characters.
    16 InvalidIdempotencyKey "invalid_idempotency_key",
    /// `fence_id` is not in the list that the module was given.
    17 UnknownFence "unknown_fence",
    /// `schema_version` is not one that this build knows.
    18 UnknownSchemaVersion "unknown_schema_version",

    // What eddy itself finds.
    /// The same idempotency key came with other bytes.
    40 KeyConflict "key_conflict",
    /// An envelope in a failures, tier or dead-letter topic cannot be decoded.
    41 EnvelopeInvalid "envelope_invalid",
    /// No build of a module could judge the record.
    42 Module "module",
    /// A fault of eddy that concerned one record.
    43 Internal "internal",

    // What a sink saw.
    /// 400, 413, 415, 422: the downstream refuses this trigger.
    60 Rejected "rejected",
    /// Another 4xx, 501, 505.
    61 RejectedOther "rejected_other",
    /// 429.
    62 Throttled "throttled",
    /// 408, 409, 425.
    63 TryAgain "try_again",
    /// 5xx but 501 and 505.
    64 Unavailable "unavailable",
    /// No answer in time.
    65 Timeout "timeout",
    /// Connection refused.
    66 Refused "refused",
    /// Connection reset or closed before the answer was complete.
    67 Reset "reset",
    /// The name could not be resolved.
    68 Dns "dns",
    /// 401, 403, 407: a fault of the sink's credentials.
    69 Unauthorized "unauthorized",
    /// 3xx: never followed.
    70 Redirect "redirect",
    /// The TLS handshake failed.
    71 Tls "tls",
    /// The target's address is not allowed.
    72 BlockedTarget "blocked_target",
    /// 410: the downstream asks to stop.
    73 Gone "gone",
    /// A status outside 200..=599, or an answer that is not HTTP.
    74 InvalidAnswer "invalid_answer",
}

impl Code {
    /// Whether the sink itself is at fault (its credentials, address or certificate, or the downstream asked to
    /// stop), so that no record may be blamed.
    pub const fn is_fault_of_sink(self) -> bool {
        matches!(self, Self::Unauthorized | Self::Redirect | Self::Tls | Self::BlockedTarget | Self::Gone)
    }
}

/// A word that is not in the list of codes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a code")]
pub struct ParseCodeError(pub String);

impl std::str::FromStr for Code {
    type Err = ParseCodeError;

    fn from_str(word: &str) -> Result<Self, ParseCodeError> {
        let known = Self::ALL.iter().find(|code| code.as_str() == word);
        known.copied().ok_or_else(|| ParseCodeError(word.to_owned()))
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
