//! What a job is told when it is created. Nothing of it changes afterwards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{filter::Filter, names::TopicName, time::Span};

/// Where a job reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The dead letters.
    Dlq,
    /// What was set aside for a person.
    Parked,
    /// The source topic itself, through `validate` once more.
    Source,
}

/// Where a job sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The topology's own sink. Letters are closed, effects are claimed and marked.
    Sink,
    /// A topic that gets the original bytes, to look at them before anybody else does. Letters stay open, nothing is marked.
    Topic(TopicName),
}

/// Offsets of one partition: from the first one up to, and without, the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first.
    pub from: i64,
    /// One behind the last.
    pub to: i64,
}

/// How fast a job may be, triggers per second over all partitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PaceSpec {
    /// Where it begins.
    pub rate: f64,
    /// It does not go below this; failing here pauses the job.
    pub floor: f64,
    /// It does not go above this.
    pub ceiling: f64,
    /// How much it is raised each second while all goes well; 0 never.
    pub probe: f64,
    /// While deliveries of live triggers take longer than this at the 99th percentile, the rate goes down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_p99_max: Option<Span>,
}

/// When a job ends even though it is not through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Triggers sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_records: Option<u64>,
    /// Since its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<Span>,
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Where from.
    pub source: Source,
    /// The snapshot: what of each partition.
    pub ranges: BTreeMap<u32, Range>,
    /// Which letters.
    #[serde(default)]
    pub filter: Filter,
    /// Where to.
    pub target: Target,
    /// How fast.
    pub pace: PaceSpec,
    /// How much at most.
    #[serde(default)]
    pub budget: Budget,
    /// Somebody else than the owner has to approve it before it runs.
    #[serde(default)]
    pub require_approval: bool,
    /// Letters that the filter matched in the snapshot.
    pub matched: u64,
    /// Who ordered it.
    pub owner: String,
}

impl PaceSpec {
    /// A constant rate with room for AIMD below it.
    pub const fn constant(rate: f64) -> Self {
        Self { rate, floor: rate / 20.0, ceiling: rate, probe: rate / 20.0, live_p99_max: None }
    }
}
