//! Produce: batches go into their logs as they came, or are refused one partition at a time.
//!
//! Both isolations mean the same here: an acknowledged batch is on disk, and there are no followers to wait for.
//! Modules on the producing side are not run; a request that names some is refused instead of stored unjudged.

use bytes::Bytes;
use fluvio_protocol::link::ErrorCode;
use fluvio_protocol::record::ReplicaKey;
use fluvio_spu_schema::produce::{PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse};

use super::Shared;
use crate::{
    log::AppendError,
    wire::{Batch, RawSet},
};

/// What a partition takes in one request, as on a real SPU.
const REQUEST_BYTES_MAX: usize = 32 << 20;

/// Queues all batches of the request in its order; the future answers when they are durable.
pub(super) fn append(
    shared: &Shared,
    request: ProduceRequest<RawSet>,
) -> impl Future<Output = ProduceResponse> + Send + use<> {
    let with_modules = !request.smartmodules.is_empty();
    let topics: Vec<_> = request
        .topics
        .into_iter()
        .map(|topic| {
            let partitions: Vec<_> = topic
                .partitions
                .into_iter()
                .map(|partition| {
                    let index = partition.partition_index;
                    let refused = if with_modules { Err(modules_refused()) } else { Ok(()) };
                    let queued = refused.and_then(|()| queue(shared, &topic.name, index, partition.records.0));
                    (index, queued)
                })
                .collect();
            (topic.name, partitions)
        })
        .collect();
    async move {
        let mut answer = ProduceResponse::default();
        for (name, queued) in topics {
            let mut partitions = Vec::with_capacity(queued.len());
            for (partition_index, queued) in queued {
                let outcome = match queued {
                    Ok(durable) => durable.await.map_err(|error| error_code(&error, &name, partition_index)),
                    Err(refused) => Err(refused),
                };
                partitions.push(partition_answer(partition_index, outcome));
            }
            answer.responses.push(TopicProduceResponse { name, partitions });
        }
        answer
    }
}

fn queue(
    shared: &Shared,
    topic: &str,
    partition: u32,
    records: Bytes,
) -> Result<impl Future<Output = Result<i64, AppendError>> + use<>, ErrorCode> {
    let replica = shared.data.replica(topic, partition).ok_or(ErrorCode::NotLeaderForPartition)?;
    if records.len() > REQUEST_BYTES_MAX {
        return Err(ErrorCode::MessageTooLarge);
    }
    let batches = Batch::split_all(records).map_err(|malformed| ErrorCode::Other(malformed.to_string()))?;
    Ok(replica.log.append(batches))
}

fn modules_refused() -> ErrorCode {
    ErrorCode::Other("this node runs no modules on the producing side".to_owned())
}

fn error_code(error: &AppendError, topic: &str, partition: u32) -> ErrorCode {
    match error {
        AppendError::TooLarge => ErrorCode::MessageTooLarge,
        AppendError::Storage(cause) if cause.kind() == std::io::ErrorKind::StorageFull => {
            ErrorCode::PartitionFull { replica_key: ReplicaKey::new(topic, partition) }
        }
        AppendError::Storage(_) => ErrorCode::StorageError,
        AppendError::ShortCircuited => ErrorCode::PartitionShortCircuited,
        AppendError::Closed => ErrorCode::NotLeaderForPartition,
    }
}

fn partition_answer(partition_index: u32, outcome: Result<i64, ErrorCode>) -> PartitionProduceResponse {
    let (base_offset, error_code) = match outcome {
        Ok(base_offset) => (base_offset, ErrorCode::None),
        Err(error_code) => (-1, error_code),
    };
    PartitionProduceResponse { partition_index, base_offset, error_code, ..PartitionProduceResponse::default() }
}
