//! Points in time and lengths of time, given from outside.
//!
//! Nothing here reads a clock. The host hands in a [`Timestamp`] with every call and makes sure that it never goes
//! back; event times of triggers never reach a decision.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970. The host makes them monotone; nothing here reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The point `ms` milliseconds later.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// The point one `span` later.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        self.plus_ms(span.as_ms())
    }

    /// Milliseconds from `earlier` to here; 0 when `earlier` is later.
    pub const fn since_ms(self, earlier: Self) -> i64 {
        let ms = self.0.saturating_sub(earlier.0);
        if ms < 0 { 0 } else { ms }
    }
}

/// A length of time in whole milliseconds, written `200ms`, `5s`, `30m`, `12h` or `14d`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Span {
    ms: u64,
}

/// A text that is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a length of time such as `200ms`, `5s`, `30m`, `12h` or `14d`")]
pub struct ParseSpanError(pub String);

/// Units from the longest to the shortest, each with its milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// The longest span: a hundred years, so that no sum of a time and a span overflows.
const SPAN_MS_MAX: u64 = 100 * 366 * 86_400_000;

impl Span {
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self { ms: if ms > SPAN_MS_MAX { SPAN_MS_MAX } else { ms } }
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_ms(secs.saturating_mul(1000))
    }

    /// Milliseconds.
    pub const fn as_ms(self) -> i64 {
        self.ms as i64
    }

    /// Whether it is no time at all.
    pub const fn is_zero(self) -> bool {
        self.ms == 0
    }
}

impl From<Span> for std::time::Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.ms)
    }
}

impl fmt::Display for Span {
    /// In the longest unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |(_, unit_ms): &&(&str, u64)| self.ms > 0 && self.ms.is_multiple_of(*unit_ms);
        let (unit, unit_ms) = UNITS.iter().find(divides).copied().unwrap_or(("ms", 1));
        write!(f, "{}{unit}", self.ms / unit_ms)
    }
}

impl FromStr for Span {
    type Err = ParseSpanError;

    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        let refuse = || ParseSpanError(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let ms = number.checked_mul(*unit_ms).filter(|ms| *ms <= SPAN_MS_MAX).ok_or_else(refuse)?;
        Ok(Self { ms })
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl TryFrom<String> for Span {
    type Error = ParseSpanError;

    fn try_from(text: String) -> Result<Self, ParseSpanError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_span_is_read_and_written_in_its_longest_unit() {
        let written = ["200ms", "5s", "90s", "60s", "5m", "24h", "14d", "0s"]
            .map(|text| text.parse::<Span>().unwrap().to_string());

        assert_eq!(written, ["200ms", "5s", "90s", "1m", "5m", "1d", "14d", "0ms"]);
    }

    #[test]
    fn what_is_no_span_is_refused_with_its_text() {
        let refused = ["", "5", "s", "-5s", "5 s", "5S", "1.5s", "5m30s", "99999999999999999999s", "9999999d"];

        for text in refused {
            assert_eq!(text.parse::<Span>().unwrap_err().0, text);
        }
    }
}
