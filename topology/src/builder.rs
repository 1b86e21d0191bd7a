//! Declares a topology: flat, one verb per stage, and `build` reports every mistake at once.
//!
//! Each verb takes the records that it works on and returns those that it leaves, as a value of their own type. So a
//! stage cannot be wired to records that it does not understand, and no road can end nowhere unnoticed: the only thing
//! that `build` takes is what the last stage returns. What is not declared is as in the default definition.
//!
//! It decides whether values make sense together. Whether a text is a length of time, or a key exists, was decided when
//! the definition was read.

mod check;
mod error;

use crate::{
    definition::{
        Definition, GuardDefinition, LettersDefinition, LimitsDefinition, ModuleDefinition, RetryDefinition,
        SinkDefinition, SourceDefinition,
    },
    schedule::Schedule,
    topology::{Tier, Topology},
};

pub use error::{Error, Errors};

/// See the module's documentation.
///
/// ```
/// use eddy_topology::{Definition, builder::TopologyBuilder};
///
/// let definition = Definition::default();
/// let mut t = TopologyBuilder::new();
///
/// let triggers = t.source(&definition.source);
/// let valid = t.validate(triggers, &definition.modules.validate);
/// let failed = t.deliver(valid, &definition.sink, &definition.guard);
/// let transient = t.classify(failed, &definition.modules.classify);
/// let exhausted = t.retry(transient, &definition.retry);
/// let end = t.dead_letters(exhausted, &definition.dlq, &definition.parked);
///
/// let topology = t.build(end)?;
/// assert_eq!(topology.names().dlq.as_str(), "geofence-triggers-dlq");
/// # Ok::<(), eddy_topology::builder::Errors>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TopologyBuilder {
    definition: Definition,
}

/// What producers wrote.
#[derive(Debug)]
#[must_use]
pub struct Triggers(());

/// Triggers that `validate` let pass; the rest are dead letters.
#[derive(Debug)]
#[must_use]
pub struct Valid(());

/// Deliveries that the downstream did not acknowledge.
#[derive(Debug)]
#[must_use]
pub struct Failed(());

/// Failures that may heal; the rest are dead letters.
#[derive(Debug)]
#[must_use]
pub struct Transient(());

/// What failed on every tier.
#[derive(Debug)]
#[must_use]
pub struct Exhausted(());

/// Nothing is left.
#[derive(Debug)]
#[must_use]
pub struct End(());

impl TopologyBuilder {
    /// A builder that knows the default definition.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bounds what every engine holds in memory.
    pub fn limits(&mut self, limits: &LimitsDefinition) {
        self.definition.limits = limits.clone();
    }

    /// Reads triggers. Every name derives from this topic's.
    pub fn source(&mut self, source: &SourceDefinition) -> Triggers {
        self.definition.source = source.clone();
        Triggers(())
    }

    /// Has a module in the broker judge each trigger. What is not valid is dead-lettered with its bytes intact.
    pub fn validate(&mut self, _: Triggers, module: &ModuleDefinition) -> Valid {
        self.definition.modules.validate = module.clone();
        Valid(())
    }

    /// Delivers each trigger, in the order of its key; the guard sees to it that no effect happens twice.
    pub fn deliver(&mut self, _: Valid, sink: &SinkDefinition, guard: &GuardDefinition) -> Failed {
        self.definition.sink = sink.clone();
        self.definition.guard = guard.clone();
        Failed(())
    }

    /// Has a module in the broker judge each failure: can it ever succeed?
    pub fn classify(&mut self, _: Failed, module: &ModuleDefinition) -> Transient {
        self.definition.modules.classify = module.clone();
        Transient(())
    }

    /// Delivers again after a wait on a tier. The cost: a retried record leaves the order of its key.
    pub fn retry(&mut self, _: Transient, retry: &RetryDefinition) -> Exhausted {
        self.definition.retry = retry.clone();
        Exhausted(())
    }

    /// Keeps what was given up, and what was set aside for a person.
    pub fn dead_letters(&mut self, _: Exhausted, dlq: &LettersDefinition, parked: &LettersDefinition) -> End {
        self.definition.dlq = dlq.clone();
        self.definition.parked = parked.clone();
        End(())
    }

    /// The topology.
    ///
    /// # Errors
    /// Every mistake of what was declared.
    pub fn build(self, _: End) -> Result<Topology, Errors> {
        let Definition { source, modules, sink, retry, guard, dlq, parked, limits } = &self.definition;
        let (names, sink_kind) = check::all(&self.definition)?;
        let delays = retry.tiers.iter().copied();
        let tiers = names.tiers.iter().cloned().zip(delays).map(|(topic, delay)| Tier { topic, delay }).collect();
        Ok(Topology {
            names,
            partitions: source.partitions,
            source_retention: source.retention,
            idempotency_bucket: source.idempotency_bucket,
            modules: modules.clone(),
            sink: sink.clone(),
            sink_kind,
            sink_name: sink.name.as_str().into(),
            schedule: Schedule::new(retry.ceiling, retry.tiers.clone()),
            retry: retry.clone(),
            guard: guard.clone(),
            dlq_retention: dlq.retention,
            parked_retention: parked.retention,
            limits: limits.clone(),
            tiers,
        })
    }
}

/// Geofence triggers to one downstream: what does not heal on the tiers is a dead letter.
///
/// # Errors
/// Every mistake of the definition.
pub fn geofence(definition: &Definition) -> Result<Topology, Errors> {
    let mut t = TopologyBuilder::new();
    t.limits(&definition.limits);

    let triggers = t.source(&definition.source);
    let valid = t.validate(triggers, &definition.modules.validate);
    let failed = t.deliver(valid, &definition.sink, &definition.guard);
    let transient = t.classify(failed, &definition.modules.classify);
    let exhausted = t.retry(transient, &definition.retry);
    let end = t.dead_letters(exhausted, &definition.dlq, &definition.parked);
    t.build(end)
}
