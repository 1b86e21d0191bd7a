//! The definition: what a topology is, as a file says it.
//!
//! Here are only its shape and its defaults; whether its values make sense together is decided by
//! [`builder`](crate::builder), which reports every mistake at once. `topology/geofence.toml` documents each key and is
//! compiled in as the default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// The text of the documented default definition.
pub const DEFAULT: &str = include_str!("../geofence.toml");

/// A whole definition. Every section and key may be absent from a file; the default's value stands for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// What is read.
    pub source: SourceDefinition,
    /// What judges.
    pub modules: ModulesDefinition,
    /// Where to.
    pub sink: SinkDefinition,
    /// What happens to records that failed and may succeed later.
    pub retry: RetryDefinition,
    /// What remembers which effects have happened.
    pub guard: GuardDefinition,
    /// The dead letters.
    pub dlq: LettersDefinition,
    /// What is set aside for a person.
    pub parked: LettersDefinition,
    /// What bounds memory.
    pub limits: LimitsDefinition,
}

/// `[source]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceDefinition {
    /// The topic that producers write to.
    pub topic: String,
    /// Partitions of every data topic.
    pub partitions: u32,
    /// How long the source and the failures topic keep records.
    pub retention: Span,
    /// Bucket of derived idempotency keys.
    pub idempotency_bucket: Span,
}

/// `[modules]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModulesDefinition {
    /// Judges the source.
    pub validate: ModuleDefinition,
    /// Judges failures.
    pub classify: ModuleDefinition,
}

/// `[modules.validate]`, `[modules.classify]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleDefinition {
    /// Parameters as Fluvio passes them.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// `[sink]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkDefinition {
    /// The downstream's name in guard and envelopes.
    pub name: String,
    /// One of [`SinkKind::ALL`]; a text, so that a wrong one is reported beside all other mistakes.
    pub kind: String,
    /// Target of a webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Target of a topic sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// How long one delivery may take.
    pub timeout: Span,
    /// Deliveries on their way at once, per partition and road; [`SinkKind::in_flight_max`] when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_max: Option<usize>,
    /// What only one kind of sink understands.
    #[serde(default)]
    pub options: toml::Table,
    /// When sending stops, and how it starts again.
    pub breaker: BreakerDefinition,
}

/// `[sink.breaker]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakerDefinition {
    /// Records that fail in a row, or connections that do not come about, that stop all sending.
    pub failures_max: u32,
    /// When the first probe goes out; doubled after each that fails.
    pub probe_interval: Span,
    /// The longest time between probes.
    pub probe_interval_max: Span,
    /// When one probe goes again after a refused or reset connection.
    pub blip_delay: Span,
}

/// `[retry]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryDefinition {
    /// Retries after the first attempt, in place and on tiers together.
    pub ceiling: u32,
    /// The wait before each retry.
    pub tiers: Vec<Span>,
    /// The longest outage that loses nothing.
    pub outage_max: Span,
    /// How long a tier's topic keeps records.
    pub retention: Span,
    /// Over how much of a tier's delay a burst is spread.
    pub spread_percent: u32,
}

/// `[guard]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardDefinition {
    /// How long a first-try success is remembered.
    pub recent_horizon: Span,
    /// How many of them at most.
    pub recent_keys_max: usize,
    /// How long other keys are remembered.
    pub durable_ttl: Span,
    /// How much longer than dead letters are kept that must be.
    pub margin: Span,
    /// How long a claim holds without a word from its owner.
    pub claim_ttl: Span,
}

/// `[dlq]`, `[parked]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LettersDefinition {
    /// How long records are kept.
    pub retention: Span,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsDefinition {
    /// Unsettled records per partition and road.
    pub window_max: usize,
    /// Their bytes.
    pub window_bytes_max: usize,
}

/// What a sink does with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkKind {
    /// POST of the original bytes.
    Webhook,
    /// A Fluvio topic.
    Topic,
    /// A line on standard output.
    Stdout,
}

impl SinkKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Webhook, Self::Topic, Self::Stdout];

    /// The word in a definition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Topic => "topic",
            Self::Stdout => "stdout",
        }
    }

    /// How many deliveries are on their way at once when a definition does not say. To a webhook each has a connection
    /// to itself; to a topic they travel together, and a batch that waits for the disk must not stop the next.
    pub const fn in_flight_max(self) -> usize {
        match self {
            Self::Webhook | Self::Stdout => 64,
            Self::Topic => 4096,
        }
    }

    /// The kind that `word` names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A text that is no definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct ParseError(#[from] toml::de::Error);

impl Definition {
    /// Reads a definition; what `text` does not say is as in the default.
    ///
    /// # Errors
    /// When `text` is not TOML, or has an unknown key or a value of the wrong type.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::from_table(text.parse()?)
    }

    /// Like [`Definition::parse`], from a table that was put together elsewhere.
    ///
    /// # Errors
    /// When the table has an unknown key or a value of the wrong type.
    pub fn from_table(over: toml::Table) -> Result<Self, ParseError> {
        let mut table = default_table();
        overlay(&mut table, over);
        Ok(table.try_into()?)
    }
}

impl Default for Definition {
    fn default() -> Self {
        Self::from_table(toml::Table::new()).expect("the compiled-in default is a definition")
    }
}

fn default_table() -> toml::Table {
    DEFAULT.parse().expect("the compiled-in default is TOML")
}

/// Puts the values of `over` in place of those of `table`, table by table.
fn overlay(table: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => overlay(inner, value),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}
