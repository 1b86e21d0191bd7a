//! Pull: what a log holds from an offset on, and where logs begin and end. Both answer at once.
//!
//! An answer is cut at `max_bytes` wherever that falls (M1), so its last batch is mostly incomplete and the client
//! must tell. It starts with the whole batch that holds the offset, so its first records may be older than asked for.

use std::{io, sync::Arc};

use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::{
    fetch::{FetchPartition, FetchRequest, FetchResponse, FetchablePartitionResponse, FetchableTopicResponse},
    server::fetch_offset::{
        FetchOffsetPartitionResponse, FetchOffsetTopicResponse, FetchOffsetsRequest, FetchOffsetsResponse,
    },
};

use super::Shared;
use crate::{
    log::{Log, OffsetError},
    wire::RawSet,
};

/// What one partition gives in one answer, whatever the client allows; all of it is in memory at once.
pub(super) const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Answers a pull.
pub(super) fn pull(shared: &Shared, request: FetchRequest<RawSet>) -> io::Result<FetchResponse<RawSet>> {
    let mut answer = FetchResponse::default();
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.fetch_partitions.len());
        for asked in topic.fetch_partitions {
            partitions.push(pull_partition(shared, &topic.name, &asked)?);
        }
        answer.topics.push(FetchableTopicResponse {
            name: topic.name,
            partitions,
            ..FetchableTopicResponse::default()
        });
    }
    Ok(answer)
}

/// Answers where logs begin and end.
pub(super) fn ends(shared: &Shared, request: FetchOffsetsRequest) -> FetchOffsetsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions =
            topic.partitions.iter().map(|asked| end_of(shared, &topic.name, asked.partition_index)).collect();
        FetchOffsetTopicResponse { name: topic.name, partitions }
    });
    FetchOffsetsResponse { topics: topics.collect() }
}

/// An answer about a partition that has no records in it yet.
pub(super) fn head(partition_index: u32, log: &Log) -> FetchablePartitionResponse<RawSet> {
    FetchablePartitionResponse {
        partition_index,
        high_watermark: log.end_offset(),
        log_start_offset: log.start_offset(),
        ..FetchablePartitionResponse::default()
    }
}

/// How a client is told that an offset cannot be read.
pub(super) fn error_code(error: OffsetError) -> ErrorCode {
    match error {
        OffsetError::Evicted { offset, next_available } => ErrorCode::OffsetEvicted { offset, next_available },
        OffsetError::BeyondEnd { .. } => ErrorCode::Other(error.to_string()),
    }
}

/// What a client allows an answer to have.
pub(super) fn bytes_max(asked: i32) -> u64 {
    u64::try_from(asked).unwrap_or(0).min(ANSWER_BYTES_MAX)
}

fn pull_partition(
    shared: &Shared,
    topic: &str,
    asked: &FetchPartition,
) -> io::Result<FetchablePartitionResponse<RawSet>> {
    let partition_index = asked.partition_index;
    let Some(replica) = shared.data.replica(topic, partition_index) else {
        let error_code = ErrorCode::NotLeaderForPartition;
        return Ok(FetchablePartitionResponse { partition_index, error_code, ..FetchablePartitionResponse::default() });
    };
    let log: &Arc<Log> = &replica.log;
    let mut answer = head(partition_index, log);
    match log.cut_slice(asked.fetch_offset, bytes_max(asked.max_bytes)) {
        Ok(slice) => answer.records = RawSet(slice.read()?),
        Err(error) => answer.error_code = error_code(error),
    }
    Ok(answer)
}

fn end_of(shared: &Shared, topic: &str, partition_index: u32) -> FetchOffsetPartitionResponse {
    match shared.data.replica(topic, partition_index) {
        None => FetchOffsetPartitionResponse {
            partition_index,
            error_code: ErrorCode::PartitionNotLeader,
            start_offset: -1,
            last_stable_offset: -1,
        },
        Some(replica) => FetchOffsetPartitionResponse {
            partition_index,
            error_code: ErrorCode::None,
            start_offset: replica.log.start_offset(),
            last_stable_offset: replica.log.end_offset(),
        },
    }
}
