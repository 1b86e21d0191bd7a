//! Judges as a broker would: with the functions that the modules are built from.

use eddy_contract::{Header, RecordView, Verdict};

use super::log::Stored;
use crate::{Input, Topology, definition::ModuleDefinition, effect::GuardedEffect};

/// Stands for the sha256 of a build.
const BUILD: &str = "native";

pub(super) fn by_validate(topology: &Topology, stored: &Stored) -> Input {
    let params = eddy_validate::Params::parse(texts(&topology.modules().validate)).expect("known parameters");
    judged(stored, |view, out| eddy_validate::judge(view, &params, out))
}

/// The effect that a record of the source has if it is valid.
pub(super) fn effect_of(topology: &Topology, stored: &Stored) -> Option<GuardedEffect> {
    let Input::Judged { output, .. } = by_validate(topology, stored) else { return None };
    let (header, original) = Header::decode(&output).expect("a module's output");
    (header.verdict == Verdict::Valid).then(|| topology.effect_of(&header, original))
}

pub(super) fn by_classify(topology: &Topology, stored: &Stored) -> Input {
    let params = eddy_classify::Params::parse(texts(&topology.modules().classify)).expect("known parameters");
    judged(stored, |view, out| eddy_classify::judge(view, &params, out))
}

pub(super) fn not_at_all(stored: &Stored) -> Input {
    let Stored { offset, timestamp, key, value, .. } = stored.clone();
    Input::Raw { offset, timestamp_ms: timestamp.0, key, value }
}

fn texts(module: &ModuleDefinition) -> impl Iterator<Item = (&str, &str)> {
    module.params.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

fn judged(stored: &Stored, judge: impl Fn(RecordView<'_>, &mut Vec<u8>)) -> Input {
    let mut output = Vec::new();
    let view = RecordView {
        key: stored.key.as_deref(),
        value: &stored.value,
        offset: stored.offset,
        timestamp_ms: stored.timestamp.0,
    };
    judge(view, &mut output);
    Input::Judged { offset: stored.offset, key: stored.key.clone(), output: output.into(), build: BUILD.into() }
}
