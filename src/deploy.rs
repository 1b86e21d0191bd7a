//! What a topology needs of a cluster: which topics, kept for how long, and which modules.
//!
//! This says what; [`broker::admin`](crate::broker::admin) does it, and only what is missing.

use std::time::Duration;

use bytes::Bytes;
use eddy_topology::{definition::SinkKind, names::TopicName, time::Span, topology::Topology};

use crate::{
    broker::admin::{DerivedPlan, ModulePlan, Plan, Storage, TopicPlan},
    modules,
};

/// Closed segments expire and the active one never does, so eddy's own topics get segments that close in time; still
/// larger than the largest batch that a broker takes.
const SEGMENT_BYTES: u32 = 64 << 20;

/// The control topic is the memory of jobs and builds; it is small and kept for ten years.
const CONTROL_RETENTION: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Everything that `topology` needs.
pub fn plan(topology: &Topology) -> Plan {
    let names = topology.names();
    let source_retention = duration(topology.source_retention());
    let mut derived = vec![per_partition(&names.failures, source_retention)];
    derived.extend(names.tiers.iter().map(|tier| per_partition(tier, duration(topology.tier_retention()))));
    derived.push(per_partition(&names.dlq, duration(topology.dlq_retention())));
    derived.push(per_partition(&names.parked, duration(topology.parked_retention())));
    if let (SinkKind::Topic, Some(target)) = (topology.sink_kind(), &topology.sink().topic) {
        derived.push(DerivedPlan { name: target.clone(), partitions: None, storage: Storage::default() });
    }
    derived.push(DerivedPlan { partitions: Some(1), ..per_partition(&names.control, CONTROL_RETENTION) });
    Plan {
        source: TopicPlan {
            name: names.source.as_str().to_owned(),
            partitions: topology.partitions(),
            storage: Storage { retention: Some(source_retention), ..Storage::default() },
        },
        derived,
        modules: vec![
            ModulePlan { name: names.validate.as_str().to_owned(), wasm: Bytes::from_static(modules::VALIDATE_WASM) },
            ModulePlan { name: names.classify.as_str().to_owned(), wasm: Bytes::from_static(modules::CLASSIFY_WASM) },
        ],
    }
}

fn per_partition(topic: &TopicName, retention: Duration) -> DerivedPlan {
    let storage = Storage { retention: Some(retention), segment_bytes: Some(SEGMENT_BYTES), ..Storage::default() };
    DerivedPlan { name: topic.as_str().to_owned(), partitions: None, storage }
}

fn duration(span: Span) -> Duration {
    Duration::from_millis(u64::try_from(span.as_ms()).unwrap_or(0))
}
