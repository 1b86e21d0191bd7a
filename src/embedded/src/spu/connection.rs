//! One client's connection: requests are taken in order, and everything that it started ends with it.
//!
//! Requests are handled one at a time, as on a real SPU, with one exception: an append takes its place in the log in
//! order, but its answer is awaited beside, because a sync (which a real SPU does not do) is long enough for the next
//! requests to gather in.

use std::{io, sync::Arc};

use fluvio_protocol::{
    api::{Request as Api, RequestHeader},
    link::{
        ErrorCode,
        versions::{ApiVersionKey, ApiVersionsRequest, ApiVersionsResponse},
    },
};
use fluvio_spu_schema::{
    fetch::FetchRequest,
    produce::ProduceRequest,
    server::{
        consumer_offset::{DeleteConsumerOffsetRequest, FetchConsumerOffsetsRequest, UpdateConsumerOffsetRequest},
        fetch_offset::FetchOffsetsRequest,
        stream_fetch::StreamFetchRequest,
        update_offset::{OffsetUpdateStatus, UpdateOffsetsRequest, UpdateOffsetsResponse},
    },
};
use tokio::{
    net::TcpStream,
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{Shared, fetch, offsets, produce, stream};
use crate::wire::{RawSet, Request, Sink, split};

/// Streams that one connection opens in its life; a client that wants more must connect again.
const STREAMS_MAX: usize = 1024;
/// Bytes of produce requests whose syncs are awaited at a time; more waits in the socket.
const UNANSWERED_BYTES_MAX: usize = 64 << 20;

/// A stream that was opened on this connection, found by its number by later requests.
#[derive(Debug)]
pub(super) struct Session {
    /// The last offset that the client acknowledged.
    pub(super) acknowledged: watch::Sender<i64>,
    /// Who commits offsets through this stream: topic, partition and consumer id.
    pub(super) consumer: Option<(String, u32, String)>,
}

/// Streams by the order in which they were opened, from 1; never forgotten, since clients do not say goodbye.
#[derive(Debug, Default)]
pub(super) struct Sessions(Vec<Session>);

impl Sessions {
    pub(super) fn get(&self, id: u32) -> Option<&Session> {
        self.0.get(usize::try_from(id).ok()?.checked_sub(1)?)
    }

    /// The new session's number, or `None` when the connection has had its share.
    pub(super) fn open(&mut self, session: Session) -> Option<u32> {
        if self.0.len() == STREAMS_MAX {
            return None;
        }
        self.0.push(session);
        u32::try_from(self.0.len()).ok()
    }
}

struct Connection {
    shared: Arc<Shared>,
    sink: Arc<Sink>,
    sessions: Sessions,
    unanswered: Arc<Semaphore>,
    tasks: JoinSet<io::Result<()>>,
}

/// Serves one client until it hangs up or asks for something that does not exist.
pub(super) async fn run(stream: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let (mut reader, sink) = split(stream)?;
    let mut connection = Connection {
        shared,
        sink: Arc::new(sink),
        sessions: Sessions::default(),
        unanswered: Arc::new(Semaphore::new(UNANSWERED_BYTES_MAX)),
        tasks: JoinSet::new(),
    };
    while let Some(request) = reader.next().await? {
        connection.handle(request).await?;
        while let Some(ended) = connection.tasks.try_join_next() {
            ended.map_err(io::Error::other)??;
        }
    }
    Ok(())
}

impl Connection {
    async fn handle(&mut self, request: Request) -> io::Result<()> {
        let header = &request.header;
        match header.api_key() {
            ApiVersionsRequest::API_KEY => self.sink.send(header, &versions()).await,
            ProduceRequest::<RawSet>::API_KEY => self.produce(request).await,
            FetchRequest::<RawSet>::API_KEY => {
                self.sink.send(header, &fetch::pull(&self.shared, request.decode()?)?).await
            }
            FetchOffsetsRequest::API_KEY => self.sink.send(header, &fetch::ends(&self.shared, request.decode()?)).await,
            StreamFetchRequest::<RawSet>::API_KEY => self.stream(&request).await,
            UpdateOffsetsRequest::API_KEY => {
                let answer = self.acknowledge(request.decode()?);
                self.sink.send(header, &answer).await
            }
            UpdateConsumerOffsetRequest::API_KEY => {
                let answer = offsets::update(&self.shared, &self.sessions, request.decode()?).await;
                self.sink.send(header, &answer).await
            }
            DeleteConsumerOffsetRequest::API_KEY => {
                let answer = offsets::delete(&self.shared, request.decode()?).await;
                self.sink.send(header, &answer).await
            }
            FetchConsumerOffsetsRequest::API_KEY => {
                self.sink.send(header, &offsets::list(&self.shared, request.decode()?)).await
            }
            key => Err(io::Error::new(io::ErrorKind::Unsupported, format!("no service has the key {key}"))),
        }
    }

    async fn produce(&mut self, request: Request) -> io::Result<()> {
        let bytes = u32::try_from(request.body_len()).expect("a frame is smaller than 4 GiB");
        let room = Arc::clone(&self.unanswered);
        let permit = room.acquire_many_owned(bytes).await.expect("the semaphore is never closed");
        let answer = produce::append(&self.shared, request.decode()?);
        let sink = Arc::clone(&self.sink);
        self.tasks.spawn(async move {
            sink.send(&request.header, &answer.await).await?;
            drop(permit);
            Ok(())
        });
        Ok(())
    }

    async fn stream(&mut self, request: &Request) -> io::Result<()> {
        let header: RequestHeader = request.header.clone();
        let fetch: StreamFetchRequest<RawSet> = request.decode()?;
        let Some(replica) = self.shared.data.replica(&fetch.topic, fetch.partition) else {
            return self.sink.send(&header, &stream::not_leader(&fetch)).await;
        };
        let (acknowledged, acknowledgements) = watch::channel(-1);
        let consumer = fetch.consumer_id.clone().map(|id| (fetch.topic.clone(), fetch.partition, id));
        let session = self
            .sessions
            .open(Session { acknowledged, consumer })
            .ok_or_else(|| io::Error::other(format!("more than {STREAMS_MAX} streams on one connection")))?;
        let client = stream::Client { header, session, sink: Arc::clone(&self.sink), acknowledgements };
        self.tasks.spawn(stream::run(Arc::clone(&self.shared), replica, fetch, client));
        Ok(())
    }

    fn acknowledge(&self, request: UpdateOffsetsRequest) -> UpdateOffsetsResponse {
        let status = request.offsets.into_iter().map(|update| {
            let session = self.sessions.get(update.session_id);
            let error = match session {
                None => ErrorCode::FetchSessionNotFoud,
                Some(session) => {
                    session.acknowledged.send_replace(update.offset);
                    ErrorCode::None
                }
            };
            OffsetUpdateStatus { session_id: update.session_id, error }
        });
        UpdateOffsetsResponse { status: status.collect() }
    }
}

/// What an SPU announces. The consumer offset services are not among it, though clients use them.
fn versions() -> ApiVersionsResponse {
    let key = |api_key: u16, min_version, max_version| ApiVersionKey {
        api_key: i16::try_from(api_key).expect("keys are small"),
        min_version,
        max_version,
    };
    let newest = FetchOffsetsRequest::DEFAULT_API_VERSION;
    ApiVersionsResponse {
        api_keys: vec![
            key(ProduceRequest::<RawSet>::API_KEY, 0, newest),
            key(FetchRequest::<RawSet>::API_KEY, 0, newest),
            key(FetchOffsetsRequest::API_KEY, newest, newest),
            key(StreamFetchRequest::<RawSet>::API_KEY, 0, newest),
            key(UpdateOffsetsRequest::API_KEY, 0, 0),
        ],
        ..ApiVersionsResponse::default()
    }
}
