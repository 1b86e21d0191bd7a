//! The topology: a definition whose values make sense together, with every name derived. Immutable.

use std::sync::Arc;

use crate::{
    builder,
    definition::{
        Definition, GuardDefinition, LimitsDefinition, ModulesDefinition, RetryDefinition, SinkDefinition, SinkKind,
    },
    gate::Gate,
    names::Names,
    schedule::Schedule,
    time::Span,
};

/// See the module's documentation. Made by [`builder`](crate::builder) only, so that none exists with a mistake in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    pub(crate) names: Names,
    pub(crate) partitions: u32,
    pub(crate) source_retention: Span,
    pub(crate) idempotency_bucket: Span,
    pub(crate) modules: ModulesDefinition,
    pub(crate) sink: SinkDefinition,
    pub(crate) sink_kind: SinkKind,
    pub(crate) sink_name: Arc<str>,
    pub(crate) schedule: Schedule,
    pub(crate) retry: RetryDefinition,
    pub(crate) guard: GuardDefinition,
    pub(crate) dlq_retention: Span,
    pub(crate) parked_retention: Span,
    pub(crate) limits: LimitsDefinition,
}

impl Topology {
    /// The topology of a definition.
    ///
    /// # Errors
    /// Every mistake of the definition, all at once.
    pub fn try_new(definition: &Definition) -> Result<Self, builder::Errors> {
        builder::geofence(definition)
    }

    /// Every name.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Partitions of every data topic.
    pub const fn partitions(&self) -> u32 {
        self.partitions
    }

    /// How long the source and the failures topic keep records.
    pub const fn source_retention(&self) -> Span {
        self.source_retention
    }

    /// How long a tier's topic keeps records.
    pub const fn tier_retention(&self) -> Span {
        self.retry.retention
    }

    /// How long dead letters are kept.
    pub const fn dlq_retention(&self) -> Span {
        self.dlq_retention
    }

    /// How long parked records are kept.
    pub const fn parked_retention(&self) -> Span {
        self.parked_retention
    }

    /// The sink as the definition says it.
    pub const fn sink(&self) -> &SinkDefinition {
        &self.sink
    }

    /// What the sink does with a record.
    pub const fn sink_kind(&self) -> SinkKind {
        self.sink_kind
    }

    /// The modules' parameters.
    pub const fn modules(&self) -> &ModulesDefinition {
        &self.modules
    }

    /// The retry schedule.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// How long keys are remembered.
    pub const fn guard(&self) -> &GuardDefinition {
        &self.guard
    }

    /// What bounds memory.
    pub const fn limits(&self) -> &LimitsDefinition {
        &self.limits
    }

    /// Over how long records that are due together on a tier of this delay are spread.
    pub(crate) fn spread_of(&self, delay: Span) -> Span {
        Span::from_ms(delay.as_ms().unsigned_abs() * u64::from(self.retry.spread_percent) / 100)
    }

    /// The gate of this topology's sink; one for all its engines.
    pub fn gate(&self) -> Gate {
        Gate::new(&self.sink)
    }
}
