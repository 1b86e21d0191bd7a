//! Declares a topology and reports every mistake at once.

use crate::{
    definition::{Definition, SinkKind},
    names::{NameError, Names},
    schedule::Schedule,
    topology::Topology,
};

/// Every mistake of a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} mistakes in the definition", .0.len())]
pub struct Errors(pub Vec<Error>);

/// One mistake of a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that Fluvio refuses.
    #[error("source.topic: {0}")]
    Name(NameError),
}

/// The topology of geofence triggers.
///
/// # Errors
/// Every mistake of the definition.
pub fn geofence(definition: &Definition) -> Result<Topology, Errors> {
    let names = Names::derive(&definition.source.topic, &definition.retry.tiers)
        .map_err(|errors| Errors(errors.into_iter().map(Error::Name).collect()))?;
    Ok(Topology {
        names,
        partitions: definition.source.partitions,
        source_retention: definition.source.retention,
        idempotency_bucket: definition.source.idempotency_bucket,
        modules: definition.modules.clone(),
        sink: definition.sink.clone(),
        sink_kind: SinkKind::from_word(&definition.sink.kind).unwrap_or(SinkKind::Webhook),
        sink_name: definition.sink.name.as_str().into(),
        schedule: Schedule::new(definition.retry.ceiling, definition.retry.tiers.clone()),
        retry: definition.retry.clone(),
        guard: definition.guard.clone(),
        dlq_retention: definition.dlq.retention,
        parked_retention: definition.parked.retention,
        limits: definition.limits.clone(),
    })
}
