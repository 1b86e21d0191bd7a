//! Every way that a line of a load can be no trigger, one per kind. Each spoils one thing in an else good trigger.

use super::trigger::Trigger;

/// Declares the kinds once, with the code that `validate` gives each.
macro_rules! poisons {
    ($($(#[$doc:meta])* $variant:ident $code:ident,)*) => {
        /// What is wrong with a poison line.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Poison {
            $($(#[$doc])* $variant,)*
        }

        impl Poison {
            /// Every kind, in the order in which a load has them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code of the dead letter that it becomes.
            pub const fn code(self) -> eddy_contract::Code {
                match self { $(Self::$variant => eddy_contract::Code::$code,)* }
            }
        }
    };
}

poisons! {
    /// The line ends in the middle.
    CutShort InvalidJson,
    /// `NaN` where a number belongs.
    NotANumber InvalidJson,
    /// A latitude of 91°, so far east that the axes cannot have been exchanged.
    BeyondThePole LatitudeOutOfRange,
    /// A longitude of 181°.
    BeyondTheDateLine LongitudeOutOfRange,
    /// Latitude and longitude exchanged, recognisably.
    AxesSwapped AxesSwapped,
    /// No `fence_id`.
    FieldMissing MissingField,
    /// A number where text belongs.
    NumberForText WrongType,
    /// Text where a number belongs.
    TextForNumber WrongType,
    /// `LEAVE` for EXIT.
    UnknownTransition UnknownTransition,
    /// Milliseconds where nanoseconds belong.
    MillisecondsForNanoseconds ImplausibleTime,
    /// Before 1970.
    NegativeTime ImplausibleTime,
    /// JSON `null`.
    Null EmptyPayload,
    /// Bytes that no UTF-8 text has.
    NotUtf8 NotUtf8,
    /// 65 arrays in one another.
    TooDeep TooDeep,
    /// A name twice.
    DuplicateKey DuplicateKey,
    /// A `device_id` with a line break.
    LineBreakInDevice InvalidField,
    /// An empty `device_id`.
    EmptyDevice InvalidField,
    /// An array of triggers.
    ArrayOfTriggers NotAnObject,
    /// Prose.
    NotJson InvalidJson,
    /// An `idempotency_key` with a space.
    SpaceInIdempotencyKey InvalidIdempotencyKey,
    /// Longer than 64 KiB.
    TooLarge TooLarge,
}

impl Poison {
    /// The bytes of `trigger`, spoilt.
    pub(super) fn spoil(self, trigger: &Trigger) -> Vec<u8> {
        let good = trigger.to_json();
        let lat_to = |value: &str| with_value(&good, "lat", value);
        let text = match self {
            Self::CutShort => good[..good.len() * 2 / 3].to_owned(),
            Self::NotANumber => lat_to("NaN"),
            Self::BeyondThePole => with_value(&lat_to("91.0"), "lon", "144.963100"),
            Self::BeyondTheDateLine => with_value(&good, "lon", "181.0"),
            Self::AxesSwapped => with_value(&lat_to("151.209300"), "lon", "-33.868800"),
            Self::FieldMissing => good.replacen("\"fence_id\"", "\"fence\"", 1),
            Self::NumberForText => with_value(&good, "device_id", "4711"),
            Self::TextForNumber => lat_to("\"51.92\""),
            Self::UnknownTransition => with_value(&good, "transition", "\"LEAVE\""),
            Self::MillisecondsForNanoseconds => {
                with_value(&good, "event_time_ns", &(trigger.event_time_ns / 1_000_000).to_string())
            }
            Self::NegativeTime => with_value(&good, "event_time_ns", "-1"),
            Self::Null => "null".to_owned(),
            Self::NotUtf8 => return not_utf8(good),
            Self::TooDeep => with_member(&good, "deep", &format!("{}{}", "[".repeat(65), "]".repeat(65))),
            Self::DuplicateKey => with_member(&good, "fence_id", "\"rtm-elsewhere\""),
            Self::LineBreakInDevice => with_value(&good, "device_id", r#""truck-1\ntruck-2""#),
            Self::EmptyDevice => with_value(&good, "device_id", "\"\""),
            Self::ArrayOfTriggers => format!("[{good},{good}]"),
            Self::NotJson => "device=truck-00001 transition=ENTER".to_owned(),
            Self::SpaceInIdempotencyKey => {
                let bare = Trigger { more: String::new(), ..trigger.clone() };
                with_member(&bare.to_json(), "idempotency_key", "\"not one word\"")
            }
            Self::TooLarge => with_member(&good, "note", &format!("\"{}\"", "x".repeat(66_000))),
        };
        text.into_bytes()
    }
}

/// The object with the value of its first member `name` exchanged. The value must end at a comma or at the brace.
fn with_value(object: &str, name: &str, value: &str) -> String {
    let member = format!("\"{name}\":");
    let from = object.find(&member).expect("only members that every trigger has are spoilt") + member.len();
    let len = object[from..].find([',', '}']).expect("a member ends");
    format!("{}{value}{}", &object[..from], &object[from + len..])
}

/// The object with one member more.
fn with_member(object: &str, name: &str, value: &str) -> String {
    let open = object.strip_suffix('}').expect("an object ends with a brace");
    format!("{open},\"{name}\":{value}}}")
}

/// Two bytes within the device's name that UTF-8 never has.
fn not_utf8(good: String) -> Vec<u8> {
    let mut bytes = good.into_bytes();
    let name = r#"{"device_id":""#.len();
    bytes[name..name + 2].fill(0xff);
    bytes
}
