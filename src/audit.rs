//! Collects the facts for the audit: every record of the source, what the guard knows of its effect, and where else it is.
//!
//! It reads the logs themselves and asks the guard; no counter takes part. What the facts amount to is decided by
//! [`eddy_topology::audit`]. Run it while nothing moves.

use std::collections::BTreeMap;

use eddy_contract::{Envelope, Header, RecordId, RecordView, Verdict};
use eddy_topology::{
    audit::{Audit, Place, Report},
    effect::{Claim, GuardedEffect},
    engine::Road,
    names::TopicName,
    topology::Topology,
};

use crate::{
    broker::{Cluster, Error, Record},
    guard::Guard,
    host::RoadProgress,
    letters, modules,
};

/// Effects that the guard is asked about at once.
const LOOKUP_MAX: usize = 10_000;

/// Audits everything that the source holds. `topology` is the host's own, with leftover tiers; `progress` says how far
/// each road is.
///
/// # Errors
/// When a topic cannot be read.
pub async fn audit(
    topology: &Topology,
    cluster: &Cluster,
    guard: &dyn Guard,
    progress: &[RoadProgress],
) -> Result<Report, Error> {
    let positions: Positions =
        progress.iter().map(|road| ((road.topic.clone(), road.partition), road.progress.position)).collect();
    let mut audit = Audit::default();
    let effects = source(topology, cluster, &positions, &mut audit).await?;
    delivered(guard, effects, &mut audit).await;
    for road in Road::all(topology) {
        let place = match road {
            Road::Intake => continue,
            Road::Route => Place::Failures,
            Road::Tier(tier) => Place::Tier(tier),
        };
        waiting(cluster, road.topic(topology), &positions, place, &mut audit).await?;
    }
    let names = topology.names();
    for parked in letters::dead_letters(cluster, &names.parked).await?.open() {
        audit.found(&parked.envelope.id, Place::Parked);
    }
    audit.dead_letters(&letters::dead_letters(cluster, &names.dlq).await?);
    let tiers: Vec<String> = topology.tiers().iter().map(|tier| tier.delay.to_string()).collect();
    Ok(audit.finish(&tiers))
}

type Positions = BTreeMap<(TopicName, u32), i64>;

/// Reports what the source holds, and gives the effects of its triggers.
async fn source(
    topology: &Topology,
    cluster: &Cluster,
    positions: &Positions,
    audit: &mut Audit,
) -> Result<Vec<(RecordId, GuardedEffect)>, Error> {
    let source = &topology.names().source;
    let params = modules::validate_params(topology.modules()).expect("the host that is audited started with them");
    let mut effects = Vec::new();
    letters::scan(
        cluster,
        source,
        |_| 0,
        |partition, record| {
            let id = RecordId { topic: source.as_str().to_owned(), partition, offset: record.offset, part: 0 };
            audit.source(id.clone());
            if positions.get(&(source.clone(), partition)).is_none_or(|position| record.offset >= *position) {
                audit.found(&id, Place::Unread);
            } else if let Some(effect) = effect_of(topology, &params, &record) {
                effects.push((id, effect));
            }
        },
    )
    .await?;
    Ok(effects)
}

/// The effect of a record that is a trigger.
fn effect_of(topology: &Topology, params: &eddy_validate::Params, record: &Record) -> Option<GuardedEffect> {
    let mut output = Vec::new();
    let Record { offset, timestamp_ms, key, value } = record;
    let view = RecordView { key: key.as_deref(), value, offset: *offset, timestamp_ms: *timestamp_ms };
    eddy_validate::judge(view, params, &mut output);
    let (header, original) = Header::decode(&output).ok()?;
    (header.verdict == Verdict::Valid).then(|| topology.effect_of(&header, original))
}

/// Reports the triggers whose effect the guard knows to have happened.
async fn delivered(guard: &dyn Guard, effects: Vec<(RecordId, GuardedEffect)>, audit: &mut Audit) {
    let (ids, effects): (Vec<RecordId>, Vec<GuardedEffect>) = effects.into_iter().unzip();
    for (ids, effects) in ids.chunks(LOOKUP_MAX).zip(effects.chunks(LOOKUP_MAX)) {
        let claims = guard.lookup(effects).await;
        for (id, _) in ids.iter().zip(claims).filter(|(_, claim)| *claim == Claim::Done) {
            audit.found(id, Place::Delivered);
        }
    }
}

/// Reports the envelopes of a topic that no position has passed.
async fn waiting(
    cluster: &Cluster,
    topic: &TopicName,
    positions: &Positions,
    place: Place,
    audit: &mut Audit,
) -> Result<(), Error> {
    let from = |partition| positions.get(&(topic.clone(), partition)).copied().unwrap_or(0);
    letters::scan(cluster, topic, from, |_, record| {
        if let Ok(envelope) = Envelope::decode(&record.value) {
            audit.found(&envelope.id, place.clone());
        }
    })
    .await
}
