//! The fields of a trigger and what makes their values good.

use std::borrow::Cow;

use eddy_contract::{Code, Header, idempotency};

use crate::json::Value;
use crate::{Finding, Params};

/// The longest `device_id` and `fence_id`, bytes: what the verdict header and the envelope carry whole.
const ID_BYTES_MAX: usize = 128;

/// The longest `schema_version`, bytes.
const SCHEMA_VERSION_BYTES_MAX: usize = 64;

/// How much of a value a detail quotes, bytes.
const QUOTE_BYTES_MAX: usize = 48;

/// 2001-09-09. Event times in seconds, milliseconds or microseconds are all below.
const EVENT_TIME_NS_MIN: i64 = 1_000_000_000_000_000_000;

/// 2100-01-01.
const EVENT_TIME_NS_MAX: i64 = 4_102_444_800_000_000_000;

/// The fields as they came; `None` when absent.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    device_id: Option<Value<'a>>,
    fence_id: Option<Value<'a>>,
    transition: Option<Value<'a>>,
    event_time_ns: Option<Value<'a>>,
    lat: Option<Value<'a>>,
    lon: Option<Value<'a>>,
    idempotency_key: Option<Value<'a>>,
    traceparent: Option<Value<'a>>,
    schema_version: Option<Value<'a>>,
    correlation_id: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    /// Notes a member of the outermost object; those that the format does not know are left alone.
    pub(crate) fn set(&mut self, name: &str, value: Value<'a>) {
        let field = match name {
            "device_id" => &mut self.device_id,
            "fence_id" => &mut self.fence_id,
            "transition" => &mut self.transition,
            "event_time_ns" => &mut self.event_time_ns,
            "lat" => &mut self.lat,
            "lon" => &mut self.lon,
            "idempotency_key" => &mut self.idempotency_key,
            "traceparent" => &mut self.traceparent,
            "schema_version" => &mut self.schema_version,
            "correlation_id" => &mut self.correlation_id,
            _ => return,
        };
        *field = Some(value);
    }

    /// The first thing that is wrong, in the order of the format.
    pub(crate) fn check(&self, timestamp_ms: i64, params: &Params) -> Result<(), Finding> {
        check_id("device_id", self.device_id.as_ref())?;
        check_fence(check_id("fence_id", self.fence_id.as_ref())?, params)?;
        check_transition(self.transition.as_ref())?;
        check_event_time(self.event_time_ns.as_ref(), timestamp_ms, params)?;
        self.check_position()?;
        check_idempotency_key(optional(self.idempotency_key.as_ref()))?;
        check_schema_version(optional(self.schema_version.as_ref()), params)?;
        check_correlation_id(optional(self.correlation_id.as_ref()))
    }

    fn check_position(&self) -> Result<(), Finding> {
        let lat = number("lat", self.lat.as_ref())?;
        if lat.abs() > 90.0 {
            let lon = number("lon", self.lon.as_ref()).ok().filter(|lon| lon.abs() <= 90.0 && lat.abs() <= 180.0);
            return Err(lon.map_or_else(
                || outside(Code::LatitudeOutOfRange, "lat", lat, "-90..=90"),
                |lon| {
                    let detail = format!("`lat` is {} and `lon` is {}: exchanged", shown(lat), shown(lon));
                    Finding::new(Code::AxesSwapped, detail)
                },
            ));
        }
        let lon = number("lon", self.lon.as_ref())?;
        if lon.abs() > 180.0 {
            return Err(outside(Code::LongitudeOutOfRange, "lon", lon, "-180..=180"));
        }
        Ok(())
    }

    /// Copies into `header` what the host needs, as far as it could be read. Of a terminal record this is for a
    /// person: values may be bad.
    pub(crate) fn copy_into<'b>(&'b self, header: Header<'b>, schema_version: &'b str) -> Header<'b> {
        let key = text_of(self.idempotency_key.as_ref());
        let traceparent = text_of(self.traceparent.as_ref());
        Header {
            event_time_ns: integer_of(self.event_time_ns.as_ref()).unwrap_or(0),
            idempotency_key: if idempotency::is_valid(key) { key } else { "" },
            device: text_of(self.device_id.as_ref()),
            fence: text_of(self.fence_id.as_ref()),
            transition: text_of(self.transition.as_ref()),
            traceparent: if is_traceparent(traceparent) { traceparent } else { "" },
            correlation_id: text_of(self.correlation_id.as_ref()),
            schema_version,
            ..header
        }
    }

    /// `schema_version`, whether it came as a text or as an integer.
    pub(crate) fn schema_version_text(&self) -> Cow<'_, str> {
        match integer_of(self.schema_version.as_ref()) {
            Some(number) => Cow::Owned(number.to_string()),
            None => Cow::Borrowed(text_of(self.schema_version.as_ref())),
        }
    }
}

fn check_id<'v>(name: &str, value: Option<&'v Value<'_>>) -> Result<&'v str, Finding> {
    let id = text(name, present(name, value)?)?;
    let wrong = if id.trim().is_empty() {
        "is empty"
    } else if id.len() > ID_BYTES_MAX {
        "is longer than 128 bytes"
    } else if id.contains(char::is_control) {
        "has control characters"
    } else {
        return Ok(id);
    };
    Err(Finding::new(Code::InvalidField, format!("`{name}` {wrong}")))
}

fn check_fence(fence: &str, params: &Params) -> Result<(), Finding> {
    if params.knows_fence(fence) {
        return Ok(());
    }
    Err(Finding::new(Code::UnknownFence, format!("`fence_id` is {}, which is not in the list", quoted(fence))))
}

fn check_transition(value: Option<&Value<'_>>) -> Result<(), Finding> {
    let transition = text("transition", present("transition", value)?)?;
    if matches!(transition, "ENTER" | "EXIT" | "DWELL") {
        return Ok(());
    }
    let detail = format!("`transition` is {}, not ENTER, EXIT or DWELL", quoted(transition));
    Err(Finding::new(Code::UnknownTransition, detail))
}

fn check_event_time(value: Option<&Value<'_>>, timestamp_ms: i64, params: &Params) -> Result<(), Finding> {
    let implausible = |detail| Err(Finding::new(Code::ImplausibleTime, detail));
    let value = present("event_time_ns", value)?;
    if let Value::Huge(time_ns) = value {
        return implausible(format!("`event_time_ns` is {time_ns}, after 2100"));
    }
    let time_ns = integer_of(Some(value)).ok_or_else(|| wrong_type("event_time_ns", value, "an integer"))?;
    if let Some(what) = absurd(time_ns) {
        return implausible(format!("`event_time_ns` is {time_ns}, {what}"));
    }
    if timestamp_ms < 0 {
        return Ok(());
    }
    let ahead_ms = (time_ns / 1_000_000).saturating_sub(timestamp_ms);
    if ahead_ms > i64::from(params.ahead_max_s) * 1000 {
        return implausible(format!("`event_time_ns` is {} s ahead of the record's timestamp", ahead_ms / 1000));
    }
    if ahead_ms < -i64::from(params.behind_max_s) * 1000 {
        return implausible(format!("`event_time_ns` is {} s behind the record's timestamp", -(ahead_ms / 1000)));
    }
    Ok(())
}

/// What is wrong with an event time whatever the clock says. The guesses cover the years 2001 to 2100.
const fn absurd(time_ns: i64) -> Option<&'static str> {
    match time_ns {
        EVENT_TIME_NS_MIN..=EVENT_TIME_NS_MAX => None,
        i64::MIN..=0 => Some("not a time after 1970"),
        1_000_000_000..=4_102_444_800 => Some("which looks like seconds"),
        1_000_000_000_000..=4_102_444_800_000 => Some("which looks like milliseconds"),
        1_000_000_000_000_000..=4_102_444_800_000_000 => Some("which looks like microseconds"),
        1..EVENT_TIME_NS_MIN => Some("before 2001"),
        _ => Some("after 2100"),
    }
}

fn check_idempotency_key(value: Option<&Value<'_>>) -> Result<(), Finding> {
    let Some(value) = value else { return Ok(()) };
    if idempotency::is_valid(text("idempotency_key", value)?) {
        return Ok(());
    }
    let detail = "`idempotency_key` is not 1 to 256 visible ASCII characters";
    Err(Finding::new(Code::InvalidIdempotencyKey, detail))
}

fn check_schema_version(value: Option<&Value<'_>>, params: &Params) -> Result<(), Finding> {
    let version = match value {
        None => return Ok(()),
        Some(Value::Integer(number)) => Cow::Owned(number.to_string()),
        Some(Value::Text(text)) => Cow::Borrowed(text.as_ref()),
        Some(other) => return Err(wrong_type("schema_version", other, "a text or an integer")),
    };
    if version.is_empty() || version.len() > SCHEMA_VERSION_BYTES_MAX || version.contains(char::is_control) {
        let detail = "`schema_version` is not 1 to 64 bytes without control characters";
        return Err(Finding::new(Code::InvalidField, detail));
    }
    if params.knows_schema_version(&version) {
        return Ok(());
    }
    let detail = format!("`schema_version` is {}, which is not in the list", quoted(&version));
    Err(Finding::new(Code::UnknownSchemaVersion, detail))
}

/// Any length will do: a long one is cut where it is copied.
fn check_correlation_id(value: Option<&Value<'_>>) -> Result<(), Finding> {
    let Some(value) = value else { return Ok(()) };
    if text("correlation_id", value)?.contains(char::is_control) {
        return Err(Finding::new(Code::InvalidField, "`correlation_id` has control characters"));
    }
    Ok(())
}

/// A W3C trace context of version 00.
fn is_traceparent(text: &str) -> bool {
    let hex =
        |part: &str, length| part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let all_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let mut parts = text.split('-');
    let [version, trace, span, flags] = std::array::from_fn(|_| parts.next().unwrap_or(""));
    let complete = parts.next().is_none() && version == "00" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
    complete && !all_zero(trace) && !all_zero(span)
}

fn present<'v, 'a>(name: &str, value: Option<&'v Value<'a>>) -> Result<&'v Value<'a>, Finding> {
    value.ok_or_else(|| Finding::new(Code::MissingField, format!("`{name}` is missing")))
}

/// An optional field that is `null` is absent.
fn optional<'v, 'a>(value: Option<&'v Value<'a>>) -> Option<&'v Value<'a>> {
    value.filter(|value| !matches!(value, Value::Null))
}

fn text<'v>(name: &str, value: &'v Value<'_>) -> Result<&'v str, Finding> {
    if let Value::Text(text) = value { Ok(text) } else { Err(wrong_type(name, value, "a text")) }
}

/// JSON has no NaN and no infinity, so the number is finite.
fn number(name: &str, value: Option<&Value<'_>>) -> Result<f64, Finding> {
    let value = present(name, value)?;
    value.as_number().ok_or_else(|| wrong_type(name, value, "a number"))
}

fn wrong_type(name: &str, value: &Value<'_>, expected: &str) -> Finding {
    Finding::new(Code::WrongType, format!("`{name}` is {}, not {expected}", value.kind()))
}

fn outside(code: Code, name: &str, number: f64, range: &str) -> Finding {
    Finding::new(code, format!("`{name}` is {}, not within {range}", shown(number)))
}

/// A number at most a line long: 1e308 has 309 digits.
fn shown(number: f64) -> String {
    if number.abs() < 1e9 { number.to_string() } else { format!("{number:e}") }
}

/// A text of the producer's in quotes, escaped and cut.
pub(crate) fn quoted(text: &str) -> String {
    let kept = &text[..text.floor_char_boundary(QUOTE_BYTES_MAX)];
    let cut = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept:?}{cut}")
}

fn text_of<'v>(value: Option<&'v Value<'_>>) -> &'v str {
    if let Some(Value::Text(text)) = value { text } else { "" }
}

const fn integer_of(value: Option<&Value<'_>>) -> Option<i64> {
    if let Some(Value::Integer(number)) = value { Some(*number) } else { None }
}
