//! Consumer offsets over the wire: commit through an open stream, delete, list.
//!
//! A commit names only the stream's session on this connection, and any number is taken for an offset (M12).

use fluvio_protocol::{link::ErrorCode, record::ReplicaKey};
use fluvio_spu_schema::server::consumer_offset::{
    ConsumerOffset, DeleteConsumerOffsetRequest, DeleteConsumerOffsetResponse, FetchConsumerOffsetsRequest,
    FetchConsumerOffsetsResponse, UpdateConsumerOffsetRequest, UpdateConsumerOffsetResponse,
};

use super::{Shared, connection::Sessions};

/// Commits an offset for the consumer that opened the stream.
pub(super) async fn update(
    shared: &Shared,
    sessions: &Sessions,
    request: UpdateConsumerOffsetRequest,
) -> UpdateConsumerOffsetResponse {
    let offset = request.offset;
    let error_code = match sessions.get(request.session_id).map(|session| &session.consumer) {
        None => ErrorCode::FetchSessionNotFoud,
        Some(None) => ErrorCode::OffsetManagementDisabled,
        Some(Some((topic, partition, id))) => stored(shared.offsets.set(topic, *partition, id, offset).await),
    };
    UpdateConsumerOffsetResponse { offset, error_code }
}

/// Forgets a consumer's offset; one that is not there is forgotten already.
pub(super) async fn delete(shared: &Shared, request: DeleteConsumerOffsetRequest) -> DeleteConsumerOffsetResponse {
    let ReplicaKey { topic, partition } = &request.replica_id;
    let error_code = stored(shared.offsets.delete(topic, *partition, &request.consumer_id).await);
    DeleteConsumerOffsetResponse { error_code }
}

/// Lists committed offsets, narrowed to a partition or a consumer if asked.
pub(super) fn list(shared: &Shared, request: FetchConsumerOffsetsRequest) -> FetchConsumerOffsetsResponse {
    let filter = request.filter_opts.unwrap_or_default();
    let wanted = |consumer: &ConsumerOffset| {
        filter.replica_id.as_ref().is_none_or(|replica| *replica == consumer.replica_id)
            && filter.consumer_id.as_ref().is_none_or(|id| *id == consumer.consumer_id)
    };
    let all = shared.offsets.list().into_iter().map(|(key, committed)| {
        ConsumerOffset::new(
            key.consumer,
            ReplicaKey::new(key.topic, key.partition),
            committed.offset,
            committed.modified_ms,
        )
    });
    FetchConsumerOffsetsResponse { error_code: ErrorCode::None, consumers: all.filter(wanted).collect() }
}

fn stored<T>(outcome: Result<T, crate::store::Error>) -> ErrorCode {
    match outcome {
        Ok(_) => ErrorCode::None,
        Err(error) => ErrorCode::Other(error.to_string()),
    }
}
