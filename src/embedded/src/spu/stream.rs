//! Push: send what there is, wait for the acknowledgement, go on from where it says.
//!
//! The client moves the position, not the node: without modules it reckons the next offset from the last batch header
//! of an answer, which counts records that the cut at `max_bytes` took off (M1). With modules the answer names the
//! next offset, and while the client still reads, the next answer is made already; it is thrown away should the
//! acknowledgement differ.
//!
//! Errors travel as an answer with a code and without records. After most of them the stream is over, which the
//! client is not told in any other way.

use std::{io, sync::Arc};

use bytes::Bytes;
use fluvio_protocol::{api::RequestHeader, link::ErrorCode};
use fluvio_spu_schema::{
    fetch::FetchablePartitionResponse,
    server::stream_fetch::{StreamFetchRequest, StreamFetchResponse},
};
use tokio::sync::watch;

use super::{
    Shared, fetch,
    modules::{self, Judge, Judged},
};
use crate::{
    data::Replica,
    log::{Log, Tail},
    wire::{RawSet, Sink},
};

/// The client's end of a stream.
pub(super) struct Client {
    pub(super) header: RequestHeader,
    pub(super) session: u32,
    pub(super) sink: Arc<Sink>,
    pub(super) acknowledgements: watch::Receiver<i64>,
}

/// Why a stream ends: its client is told the code, or the connection is gone.
enum End {
    Told(ErrorCode),
    Lost(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Streams one partition until the client hangs up or the stream fails.
pub(super) async fn run(
    shared: Arc<Shared>,
    replica: Arc<Replica>,
    request: StreamFetchRequest<RawSet>,
    client: Client,
) -> io::Result<()> {
    let tail = replica.log.tail();
    let mut stream = Stream { client, replica, tail };
    let bytes_max = fetch::bytes_max(request.max_bytes);
    let end = match modules::resolve(&shared.meta, request.smartmodules) {
        Err(unknown) => End::Told(unknown),
        Ok(chain) if chain.is_empty() => stream.push_raw(request.fetch_offset, bytes_max).await,
        Ok(chain) => {
            let judge = modules::start(chain, Arc::clone(&stream.replica.log), bytes_max)?;
            stream.push_judged(request.fetch_offset, judge).await
        }
    };
    match end {
        End::Told(code) => stream.send(code, -1, Bytes::new()).await,
        End::Lost(error) => Err(error),
    }
}

/// The answer of a node that does not have the partition.
pub(super) fn not_leader(request: &StreamFetchRequest<RawSet>) -> StreamFetchResponse<RawSet> {
    StreamFetchResponse {
        topic: request.topic.clone(),
        stream_id: 0,
        partition: FetchablePartitionResponse {
            partition_index: request.partition,
            error_code: ErrorCode::NotLeaderForPartition,
            ..FetchablePartitionResponse::default()
        },
    }
}

struct Stream {
    client: Client,
    replica: Arc<Replica>,
    tail: watch::Receiver<Tail>,
}

impl Stream {
    async fn push_raw(&mut self, start: i64, bytes_max: u64) -> End {
        let mut position = start;
        loop {
            position = match self.push_raw_once(position, bytes_max).await {
                Ok(next) => next,
                Err(end) => return end,
            };
        }
    }

    async fn push_raw_once(&mut self, position: i64, bytes_max: u64) -> Result<i64, End> {
        self.check(position)?;
        self.records_at(position).await?;
        let slice = self.log().cut_slice(position, bytes_max).map_err(|error| End::Told(fetch::error_code(error)))?;
        // Zero lets the client reckon by itself (M1).
        self.send(ErrorCode::None, 0, slice.read()?).await?;
        self.acknowledged().await
    }

    async fn push_judged(&mut self, start: i64, mut judge: Judge) -> End {
        let mut position = start;
        loop {
            position = match self.push_judged_once(position, &mut judge).await {
                Ok(next) => next,
                Err(end) => return end,
            };
        }
    }

    async fn push_judged_once(&mut self, position: i64, judge: &mut Judge) -> Result<i64, End> {
        self.check(position)?;
        // The chain is built before there is anything to judge, so that a module that does not start is told at once.
        judge.started().await.map_err(End::Told)?;
        self.records_at(position).await?;
        match judge.judged(position).await.map_err(End::Told)? {
            Judged::Nothing { next } => Ok(next),
            Judged::Answer { code, next, records } => {
                if next < self.log().end_offset() {
                    judge.run_ahead(next);
                }
                self.send(code, next, records).await?;
                self.acknowledged().await
            }
        }
    }

    fn check(&self, position: i64) -> Result<(), End> {
        self.log().check(position).map_err(|error| End::Told(fetch::error_code(error)))
    }

    /// Waits until there are records from the position on.
    async fn records_at(&mut self, position: i64) -> Result<(), End> {
        let tail = self.tail.wait_for(|tail| match tail {
            Tail::Open(end_offset) => *end_offset > position,
            Tail::Deleted => true,
        });
        match *tail.await.map_err(|_| deleted())? {
            Tail::Open(_) => Ok(()),
            Tail::Deleted => Err(deleted()),
        }
    }

    /// Waits for the next acknowledgement; of several the last counts.
    async fn acknowledged(&mut self) -> Result<i64, End> {
        tokio::select! {
            changed = self.client.acknowledgements.changed() => match changed {
                Ok(()) => Ok(*self.client.acknowledgements.borrow_and_update()),
                Err(_) => Err(End::Lost(io::ErrorKind::ConnectionAborted.into())),
            },
            _ = self.tail.wait_for(|tail| *tail == Tail::Deleted) => Err(deleted()),
        }
    }

    async fn send(&self, error_code: ErrorCode, next_filter_offset: i64, records: Bytes) -> io::Result<()> {
        let head = fetch::head(self.replica.partition, self.log());
        let answer = StreamFetchResponse {
            topic: self.replica.topic.clone(),
            stream_id: self.client.session,
            partition: FetchablePartitionResponse { error_code, next_filter_offset, records: RawSet(records), ..head },
        };
        self.client.sink.send(&self.client.header, &answer).await
    }

    fn log(&self) -> &Log {
        &self.replica.log
    }
}

fn deleted() -> End {
    End::Told(ErrorCode::TopicDeleted)
}
