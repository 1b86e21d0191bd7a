//! Intake: what `validate` said of a source record, turned into the record's first step.
//!
//! Valid triggers are delivered; everything else is a dead letter with its bytes intact. The module alone judges: nothing
//! here looks into the payload.

use std::sync::Arc;

use bytes::Bytes;
use eddy_contract::{Class, Code, Header, RecordId, Verdict};

use super::{
    Place,
    flight::{Basis, Step, Task},
};
use crate::{
    letter::{self, End},
    time::Timestamp,
    topology::Topology,
};

/// Decides what becomes of a source record that was found at `place`.
pub(super) fn judged(
    topology: &Topology,
    place: Place,
    key: Option<&Bytes>,
    output: &Bytes,
    build: &Arc<str>,
    now: Timestamp,
) -> Step {
    let Ok((header, original)) = Header::decode(output) else {
        return unjudged(topology, place.id(&topology.names.source, 0), output, now);
    };
    let id = place.id(&topology.names.source, header.part);
    if header.verdict != Verdict::Valid {
        return invalid(topology, &id, &header, original, build, now);
    }
    let effect = topology.effect_of(&header, original);
    let payload = output.slice_ref(original);
    let lane = key.cloned().unwrap_or_else(|| output.slice_ref(header.device.as_bytes()));
    let basis =
        Basis::Trigger { output: output.clone(), build: build.clone(), module: topology.names.validate.clone() };
    let mut task = Task::new(id, payload, effect, basis);
    task.traceparent = (!header.traceparent.is_empty()).then(|| header.traceparent.into());
    task.lane = Some(lane);
    Step::Deliver(Box::new(task))
}

fn invalid(
    topology: &Topology,
    id: &RecordId,
    header: &Header<'_>,
    original: &[u8],
    build: &Arc<str>,
    now: Timestamp,
) -> Step {
    let end = if header.verdict == Verdict::Terminal { End::Terminal } else { End::Unclassified };
    let class = letter::class_of(header.verdict);
    let mut envelope = letter::of_trigger(id, header, original, &topology.names.validate, build);
    envelope.failures.push(letter::finding("validate", class, header.code, header.detail, now));
    Step::bury(topology, envelope, end, header.code, now)
}

/// The reader hands over nothing that does not decode; should it do so all the same, the bytes are kept.
fn unjudged(topology: &Topology, id: RecordId, output: &Bytes, now: Timestamp) -> Step {
    let mut envelope = letter::of_bytes(&id, None, output);
    let message = "output of the module has no verdict header";
    envelope.failures.push(letter::finding("validate", Class::Unclassified, Code::Module, message, now));
    Step::bury(topology, envelope, End::Unclassified, Code::Module, now)
}
