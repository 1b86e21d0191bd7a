//! What a topic or SmartModule must look like to be taken: names, limits, and what this node can do.
//!
//! Names and limits are a real cluster's. What is refused beyond that is refused because this node is one SPU: several
//! replicas, assigned or mirrored partitions, deduplication.

use fluvio_controlplane_metadata::smartmodule::SmartModuleSpec;
use fluvio_controlplane_metadata::topic::{ReplicaSpec, TopicSpec};
use fluvio_sc_schema::shared::validate_resource_name;

/// Partitions that a topic has at most; each costs open files.
pub const PARTITIONS_MAX: u32 = 1024;

/// The longest key of a SmartModule: name, group and version.
pub const SMARTMODULE_KEY_BYTES_MAX: usize = 3 * 63;

/// Why a topic or SmartModule is refused.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not 1 to 63 of `a-z`, `0-9` and inner `-`.
    #[error("invalid topic name `{0}`: 1 to 63 of a-z, 0-9 and inner hyphens")]
    TopicName(String),
    /// A store key: a name, or name, group and version joined by hyphens.
    #[error("invalid SmartModule name `{0}`: 1 to {SMARTMODULE_KEY_BYTES_MAX} of a-z, 0-9 and -._+")]
    SmartModuleName(String),
    /// Retention, segment or partition size out of bounds.
    #[error("invalid configuration of topic `{topic}`: {limit}")]
    Limits {
        /// The topic's name.
        topic: String,
        /// The limit, with both numbers.
        limit: String,
    },
    /// No partitions, or too many.
    #[error("topic `{topic}` cannot have {partitions} partitions: 1 to {PARTITIONS_MAX}")]
    Partitions {
        /// The topic's name.
        topic: String,
        /// How many it should have.
        partitions: u32,
    },
    /// More replicas than SPUs.
    #[error("topic `{topic}` wants {replicas} replicas of each partition, and this node is one SPU")]
    Replicas {
        /// The topic's name.
        topic: String,
        /// How many it should have.
        replicas: u32,
    },
    /// Assigned or mirrored partitions.
    #[error("topic `{0}`: this node places partitions itself and mirrors nothing")]
    Placement(String),
    /// Deduplication runs a SmartModule before each write, which this node does not.
    #[error("topic `{0}`: this node does not deduplicate")]
    Deduplication(String),
    /// A SmartModule without bytes.
    #[error("SmartModule `{0}` has no bytes")]
    EmptySmartModule(String),
}

/// Checks a topic that is to be created.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_topic(name: &str, spec: &TopicSpec) -> Result<(), Refusal> {
    if name.is_empty() || validate_resource_name(name).is_err() {
        return Err(Refusal::TopicName(name.to_owned()));
    }
    let ReplicaSpec::Computed(replicas) = spec.replicas() else {
        return Err(Refusal::Placement(name.to_owned()));
    };
    check_partitions(name, replicas.partitions)?;
    if replicas.replication_factor != 1 {
        return Err(Refusal::Replicas { topic: name.to_owned(), replicas: replicas.replication_factor });
    }
    if spec.get_deduplication().is_some() {
        return Err(Refusal::Deduplication(name.to_owned()));
    }
    match spec.validate_config() {
        Some(limit) => Err(Refusal::Limits { topic: name.to_owned(), limit }),
        None => Ok(()),
    }
}

/// Checks how many partitions a topic is to have.
///
/// # Errors
/// When there are none or too many.
pub fn check_partitions(topic: &str, partitions: u32) -> Result<(), Refusal> {
    match partitions {
        1..=PARTITIONS_MAX => Ok(()),
        _ => Err(Refusal::Partitions { topic: topic.to_owned(), partitions }),
    }
}

/// Checks a SmartModule that is to be created or replaced under a store key.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_smartmodule(key: &str, spec: &SmartModuleSpec) -> Result<(), Refusal> {
    let taken = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_' | '+');
    if key.is_empty() || key.len() > SMARTMODULE_KEY_BYTES_MAX || !key.chars().all(taken) {
        return Err(Refusal::SmartModuleName(key.to_owned()));
    }
    if spec.wasm.payload.is_empty() {
        return Err(Refusal::EmptySmartModule(key.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fluvio_controlplane_metadata::topic::{CleanupPolicy, SegmentBasedPolicy, TopicStorageConfig};

    use super::*;

    fn topic() -> TopicSpec {
        TopicSpec::new_computed(1, 1, None)
    }

    fn check(spec: &TopicSpec) -> Result<(), Refusal> {
        check_topic("triggers", spec)
    }

    #[test]
    fn a_plain_topic_is_taken() {
        assert_eq!(check(&topic()), Ok(()));
    }

    #[test]
    fn a_name_of_63_characters_is_taken_and_one_of_64_is_not() {
        assert_eq!(check_topic(&"a".repeat(63), &topic()), Ok(()));
        assert_eq!(check_topic(&"a".repeat(64), &topic()), Err(Refusal::TopicName("a".repeat(64))));
    }

    #[test]
    fn names_of_other_characters_or_with_outer_hyphens_are_refused() {
        for name in ["", "Triggers", "a_b", "a b", "a.b", "-a", "a-", "ü", "../a"] {
            assert_eq!(check_topic(name, &topic()), Err(Refusal::TopicName(name.to_owned())));
        }
    }

    #[test]
    fn a_retention_below_ten_seconds_is_refused() {
        let retained = |time_in_seconds| {
            let mut spec = topic();
            spec.set_cleanup_policy(CleanupPolicy::Segment(SegmentBasedPolicy { time_in_seconds }));
            spec
        };

        assert_eq!(check(&retained(10)), Ok(()));
        assert!(matches!(check(&retained(9)), Err(Refusal::Limits { .. })));
    }

    #[test]
    fn a_segment_below_one_kibibyte_is_refused() {
        let segmented = |segment_size| {
            let mut spec = topic();
            spec.set_storage(TopicStorageConfig { segment_size: Some(segment_size), max_partition_size: None });
            spec
        };

        assert_eq!(check(&segmented(1024)), Ok(()));
        assert!(matches!(check(&segmented(1023)), Err(Refusal::Limits { .. })));
    }

    #[test]
    fn a_partition_smaller_than_its_segment_is_refused() {
        let mut spec = topic();
        spec.set_storage(TopicStorageConfig { segment_size: Some(4096), max_partition_size: Some(4095) });

        assert!(matches!(check(&spec), Err(Refusal::Limits { .. })));
    }

    #[test]
    fn what_one_spu_cannot_do_is_refused() {
        let assigned = TopicSpec::new_assigned(vec![(0, vec![5001])]);

        assert!(matches!(check(&TopicSpec::new_computed(0, 1, None)), Err(Refusal::Partitions { .. })));
        assert!(matches!(check(&TopicSpec::new_computed(1, 2, None)), Err(Refusal::Replicas { .. })));
        assert!(matches!(check(&assigned), Err(Refusal::Placement(_))));
    }
}
