//! Readers until the end of what was written, and the modules of these tests.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use eddy::{
    broker::{
        Cluster, Read, Reader, Record,
        judged::{self, Fallback, Judging, Module},
        reader::Counts,
    },
    modules::VALIDATE_WASM,
};
use eddy_contract::{Code, Header, Verdict};
use eddy_topology::engine::Input;

/// Longer than anything here takes on a busy machine; a reader that is silent for so long has lost something.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Everything that a reader gave, in order.
#[derive(Debug, Default)]
pub(crate) struct Got {
    pub(crate) inputs: Vec<Input>,
    pub(crate) evicted: Vec<(i64, i64)>,
    pub(crate) counts: Counts,
}

/// Reads until the input before `end` came.
pub(crate) async fn read_to(mut reader: Reader, end: i64) -> Got {
    let mut got = Got::default();
    let mut next = None;
    while next.is_none_or(|next| next < end) {
        let read = tokio::time::timeout(SILENCE_MAX, reader.next()).await;
        match read.unwrap_or_else(|_| panic!("silent at {next:?} of {end}: {:?}", reader.counts())).unwrap().unwrap() {
            Read::Batch { inputs, .. } => {
                next = inputs.last().map(|input| offset(input) + 1);
                got.inputs.extend(inputs);
            }
            Read::Evicted { from, to } => {
                next = Some(to);
                got.evicted.push((from, to));
            }
        }
    }
    got.counts = reader.counts();
    got
}

impl Got {
    /// Whether the offsets are exactly `from..to`, each once and in order.
    pub(crate) fn is_exactly(&self, from: i64, to: i64) -> bool {
        self.inputs.iter().map(offset).eq(from..to)
    }

    /// Whether each offset of `from..to` was either given or reported as evicted, exactly once, and what was given came
    /// in order.
    pub(crate) fn accounts_for(&self, from: i64, to: i64) -> bool {
        let evicted = self.evicted.iter().flat_map(|(from, to)| *from..*to);
        let mut accounted: Vec<i64> = evicted.chain(self.inputs.iter().map(offset)).collect();
        accounted.sort_unstable();
        accounted.into_iter().eq(from..to) && self.inputs.iter().map(offset).is_sorted()
    }

    /// The original bytes of every record, in order.
    pub(crate) fn originals(&self) -> Vec<Bytes> {
        self.inputs.iter().filter_map(original).collect()
    }

    /// The offsets that the log does not have.
    pub(crate) fn holes(&self) -> Vec<i64> {
        self.inputs.iter().filter(|input| matches!(input, Input::Hole { .. })).map(offset).collect()
    }

    /// The offsets that the fallback judged.
    pub(crate) fn natively(&self) -> Vec<i64> {
        let natively = |input: &&Input| matches!(input, Input::Judged { build, .. } if **build == *NATIVE);
        self.inputs.iter().filter(natively).map(offset).collect()
    }
}

pub(crate) fn offset(input: &Input) -> i64 {
    match input {
        Input::Judged { offset, .. } | Input::Raw { offset, .. } | Input::Hole { offset } => *offset,
    }
}

fn original(input: &Input) -> Option<Bytes> {
    match input {
        Input::Judged { output, .. } => {
            let (_, original) = Header::decode(output).unwrap();
            Some(output.slice_ref(original))
        }
        Input::Raw { value, .. } => Some(value.clone()),
        Input::Hole { .. } => None,
    }
}

const NATIVE: &str = "native";

/// Reads through eddy's own `validate`.
pub(crate) fn validated(cluster: &Cluster, topic: &str, from: i64) -> Reader {
    judged::read(cluster, topic, 0, from, judging(Bytes::from_static(VALIDATE_WASM)))
}

/// Reads through the module that fails on request.
pub(crate) fn judged_faultily(cluster: &Cluster, topic: &str, from: i64) -> Reader {
    judged::read(cluster, topic, 0, from, judging(Bytes::from_static(eddy_guests::faulty())))
}

pub(crate) fn judging(wasm: Bytes) -> Judging {
    let module = Module { name: "under-test".into(), wasm, build: "module".into(), params: BTreeMap::new() };
    let fallback = Fallback { judge: Arc::new(judge), build: NATIVE.into() };
    Judging { module, fallback, stall_after: Duration::from_secs(3) }
}

fn judge(record: &Record) -> Vec<u8> {
    let mut output = Vec::new();
    Header::new(Verdict::Valid, Code::Ok, record.offset, record.timestamp_ms).encode(&record.value, &mut output);
    output
}
