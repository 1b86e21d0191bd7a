//! The topology: a definition whose values make sense together, with every name derived. Immutable.

use std::sync::Arc;

use eddy_contract::{Header, idempotency};
use sha2::{Digest, Sha256};

use crate::{
    builder,
    definition::{
        Definition, GuardDefinition, LimitsDefinition, ModulesDefinition, RetryDefinition, SinkDefinition, SinkKind,
    },
    effect::GuardedEffect,
    gate::Gate,
    names::{Names, TopicName},
    schedule::Schedule,
    time::Span,
};

/// See the module's documentation. Made by [`builder`] only, so that none exists with a mistake in it.
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
    /// Those of the schedule in their order, then leftovers of an earlier definition.
    pub(crate) tiers: Vec<Tier>,
}

/// A topic where failed records wait, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// Where.
    pub topic: TopicName,
    /// How long after the failure.
    pub delay: Span,
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

    /// Deliveries on their way at once, per partition and road.
    pub fn in_flight_max(&self) -> usize {
        self.sink.in_flight_max.unwrap_or_else(|| self.sink_kind.in_flight_max())
    }

    /// The modules' parameters.
    pub const fn modules(&self) -> &ModulesDefinition {
        &self.modules
    }

    /// The retry schedule.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Has those of `topics` drained, too, that were tiers of an earlier definition: what waits there goes when it is
    /// due, and nothing new is written there.
    #[must_use]
    pub fn with_leftovers<'a>(mut self, topics: impl IntoIterator<Item = &'a str>) -> Self {
        let tier = |name: &str| {
            let delay = self.names.delay_of_tier(name)?;
            let topic = TopicName::try_new(name).ok()?;
            (!self.names.tiers.contains(&topic)).then_some(Tier { topic, delay })
        };
        let leftovers: Vec<Tier> = topics.into_iter().filter_map(tier).collect();
        self.tiers.truncate(self.schedule.tiers().len());
        self.tiers.extend(leftovers);
        self
    }

    /// Every tier: those of the schedule in their order, then leftovers of an earlier definition.
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// How long keys are remembered.
    pub const fn guard(&self) -> &GuardDefinition {
        &self.guard
    }

    /// What bounds memory.
    pub const fn limits(&self) -> &LimitsDefinition {
        &self.limits
    }

    /// The effect that delivering a trigger has, as the guard knows it. The key is the trigger's own, or derived.
    pub fn effect_of(&self, header: &Header<'_>, payload: &[u8]) -> GuardedEffect {
        let bucket_ns = self.idempotency_bucket.as_ms() * 1_000_000;
        let Header { idempotency_key: own, device, fence, transition, event_time_ns, .. } = *header;
        let key = match own {
            "" => idempotency::derive(device, fence, transition, event_time_ns, bucket_ns).into(),
            own => own.into(),
        };
        self.guarded(key, payload)
    }

    /// The effect with this key and payload.
    pub fn guarded(&self, idempotency_key: Arc<str>, payload: &[u8]) -> GuardedEffect {
        let digest: [u8; 32] = Sha256::digest(payload).into();
        GuardedEffect {
            source: self.names.source.to_shared(),
            sink: self.sink_name.clone(),
            idempotency_key,
            payload_hash: *digest.first_chunk().expect("32 bytes begin with 16"),
        }
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
