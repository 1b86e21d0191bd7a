//! Which letters are meant: one question, asked alike by the desk's commands and by replay jobs.
//!
//! Criteria narrow each other; several values of one criterion are alternatives, and a criterion that is absent asks
//! nothing. Windows are half-open, so that windows side by side never share a letter and never miss one. Only what
//! stands in the envelope is looked at: payloads are not, and whether a letter is still open is for
//! [`Letters`](crate::letters::Letters) to say.
//!
//! A job keeps its filter in its record. A build that finds a criterion there that it does not know refuses the filter:
//! to ignore it would send letters that nobody asked for.

use std::{collections::BTreeSet, fmt, str::FromStr};

use eddy_contract::{Envelope, RecordId, SideEffect};
use serde::{Deserialize, Serialize};

pub use crate::letter::End;
use crate::letters::Letter;

/// See the module's documentation. The default matches every letter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Any of these classes: the beginning of the reason.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub class: BTreeSet<End>,
    /// Exactly this signature of the last failure, as `eddy dlq groups` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// This reason, or this beginning of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Any of these effects of the last failure. A letter without a failure was never sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effect: Vec<SideEffect>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Where the record came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Source>,
    /// The fence that the trigger named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
    /// The device that the trigger named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The key under which the guard knows the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Any of these letters.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub id: BTreeSet<RecordId>,
}

impl Filter {
    /// Whether the letter is meant.
    pub fn matches(&self, letter: &Letter) -> bool {
        let envelope = &letter.envelope;
        let failure = envelope.failures.last();
        let effect = failure.map_or(SideEffect::None, |failure| failure.effect);
        let reason = envelope.reason.as_deref();
        is_any(&self.class, |class| letter.end() == Some(*class))
            && is_any(&self.effect, |wanted| effect == *wanted)
            && (self.id.is_empty() || self.id.contains(&envelope.id))
            && is_same(self.signature.as_deref(), failure.map(|failure| failure.signature.as_str()))
            && is_same(self.fence.as_deref(), envelope.fence.as_deref())
            && is_same(self.device.as_deref(), envelope.device.as_deref())
            && is_same(self.idempotency_key.as_deref(), envelope.idempotency_key.as_deref())
            && self.reason.as_ref().is_none_or(|wanted| reason.is_some_and(|reason| wanted.matches(reason)))
            && self.window.is_none_or(|window| window.holds(envelope))
            && self.origin.as_ref().is_none_or(|source| source.matches(&envelope.id))
    }

    /// Whether it asks nothing and so means every letter.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

fn is_any<'a, T: 'a>(wanted: impl IntoIterator<Item = &'a T>, is_one: impl Fn(&T) -> bool) -> bool {
    let mut wanted = wanted.into_iter().peekable();
    wanted.peek().is_none() || wanted.any(is_one)
}

fn is_same(wanted: Option<&str>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found == Some(wanted))
}

/// A reason, or with a `*` at its end the beginning of one: `terminal:invalid_json`, `terminal:*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reason(pub String);

impl Reason {
    fn matches(&self, reason: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => reason.starts_with(beginning),
            None => reason == self.0,
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Half-open: `since` is in it, `until` is not. A letter that does not have the named time is in no window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// Which of a letter's times.
    pub field: TimeField,
    /// Milliseconds since 1970; absent: from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// Milliseconds since 1970; absent: without an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
}

impl Window {
    fn holds(self, envelope: &Envelope) -> bool {
        self.field.of(envelope).is_some_and(|at_ms| {
            self.since_ms.is_none_or(|since| since <= at_ms) && self.until_ms.is_none_or(|until| at_ms < until)
        })
    }
}

/// One of the times that a letter has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeField {
    /// When it became a dead letter.
    #[default]
    Quarantined,
    /// When the trigger says that it happened.
    Event,
    /// When it failed last.
    Failed,
    /// When the source took it.
    Origin,
}

impl TimeField {
    /// Every field.
    pub const ALL: [Self; 4] = [Self::Quarantined, Self::Event, Self::Failed, Self::Origin];

    /// The word in filters.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quarantined => "quarantined",
            Self::Event => "event",
            Self::Failed => "failed",
            Self::Origin => "origin",
        }
    }

    /// This time of a letter, milliseconds since 1970.
    pub fn of(self, envelope: &Envelope) -> Option<i64> {
        let to_ms = |ns: i64| ns.div_euclid(1_000_000);
        match self {
            Self::Quarantined => envelope.quarantined_at_ns.map(to_ms),
            Self::Event => envelope.event_time_ns.map(to_ms),
            Self::Failed => envelope.failures.last().map(|failure| failure.at),
            Self::Origin => envelope.origin.timestamp_ms,
        }
    }
}

/// A topic, or one partition of it: `geofence-triggers`, `geofence-triggers/3`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Source {
    /// The name of the topic.
    pub topic: String,
    /// Absent: all of them.
    pub partition: Option<u32>,
}

/// A text that is not `topic[/partition]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an origin of the form topic or topic/partition")]
pub struct ParseSourceError(pub String);

impl Source {
    fn matches(&self, id: &RecordId) -> bool {
        id.topic == self.topic && self.partition.is_none_or(|partition| id.partition == partition)
    }
}

impl FromStr for Source {
    type Err = ParseSourceError;

    fn from_str(text: &str) -> Result<Self, ParseSourceError> {
        let (topic, partition) = match text.split_once('/') {
            None => (text, None),
            Some((topic, number)) => (topic, Some(number.parse().map_err(|_| ParseSourceError(text.to_owned()))?)),
        };
        if topic.is_empty() {
            return Err(ParseSourceError(text.to_owned()));
        }
        Ok(Self { topic: topic.to_owned(), partition })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.topic)?;
        self.partition.map_or(Ok(()), |partition| write!(f, "/{partition}"))
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

impl TryFrom<String> for Source {
    type Error = ParseSourceError;

    fn try_from(text: String) -> Result<Self, ParseSourceError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
