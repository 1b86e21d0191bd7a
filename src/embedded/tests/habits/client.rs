//! A client that writes its frames by hand and sees every answer in the order in which it comes.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use fluvio_protocol::{
    Decoder, Encoder,
    api::{Request, RequestHeader},
};
use fluvio_spu_schema::server::{
    stream_fetch::{DefaultStreamFetchRequest, DefaultStreamFetchResponse},
    update_offset::{OffsetUpdate, UpdateOffsetsRequest},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    socket: TcpStream,
    requests: i32,
    waiting: VecDeque<(i32, Bytes)>,
    streams: u32,
}

/// An open stream, by the request that opened it.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    request: i32,
    pub(crate) session: u32,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        Self { socket, requests: 0, waiting: VecDeque::new(), streams: 0 }
    }

    /// Sends a request and gives its answer; what is pushed meanwhile is kept for later.
    pub(crate) async fn call<R: Request>(&mut self, request: &R) -> R::Response {
        let id = self.send(request).await;
        self.answer(id, R::DEFAULT_API_VERSION).await
    }

    /// Opens a stream; its session is the next number of this connection.
    pub(crate) async fn open(&mut self, request: &DefaultStreamFetchRequest) -> Stream {
        self.streams += 1;
        Stream { request: self.send(request).await, session: self.streams }
    }

    /// The next answer of a stream.
    pub(crate) async fn pushed(&mut self, stream: Stream) -> DefaultStreamFetchResponse {
        self.answer(stream.request, DefaultStreamFetchRequest::DEFAULT_API_VERSION).await
    }

    /// Acknowledges as the stock client does: what the answer names, else reckoned from the last batch.
    pub(crate) async fn acknowledge(&mut self, stream: Stream, pushed: &DefaultStreamFetchResponse) {
        let next = pushed.partition.next_offset_for_fetch().unwrap();
        self.acknowledge_offset(stream.session, next).await;
    }

    pub(crate) async fn acknowledge_offset(&mut self, session_id: u32, offset: i64) {
        let request = UpdateOffsetsRequest::new(vec![OffsetUpdate { offset, session_id }]);
        let answer = self.call(&request).await;
        assert!(answer.status[0].error.is_ok(), "{answer:?}");
    }

    /// Whether answers of a stream have come that nobody took.
    pub(crate) fn has_pushed(&self, stream: Stream) -> bool {
        self.waiting.iter().any(|(id, _)| *id == stream.request)
    }

    /// Sends bytes that need not be a request.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    /// Waits until the node hangs up; answers before that are an error.
    pub(crate) async fn hung_up(mut self) {
        let mut byte = [0];
        let read = tokio::time::timeout(PATIENCE, self.socket.read(&mut byte)).await.unwrap();
        assert!(matches!(read, Ok(0) | Err(_)), "an answer came");
    }

    /// Sends a request and gives its number.
    pub(crate) async fn send<R: Request>(&mut self, request: &R) -> i32 {
        self.requests += 1;
        let version = R::DEFAULT_API_VERSION;
        let mut header = RequestHeader::new(R::API_KEY);
        header.set_api_version(version).set_correlation_id(self.requests);
        let mut frame = BytesMut::new();
        frame.put_i32((header.write_size(0) + request.write_size(version)) as i32);
        header.encode(&mut frame, 0).unwrap();
        request.encode(&mut frame, version).unwrap();
        self.send_bytes(&frame).await;
        self.requests
    }

    async fn answer<A: Decoder + Default>(&mut self, id: i32, version: i16) -> A {
        loop {
            if let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == id) {
                let (_, mut body) = self.waiting.remove(at).unwrap();
                return A::decode_from(&mut body, version).unwrap();
            }
            let frame = tokio::time::timeout(PATIENCE, self.frame()).await.unwrap();
            self.waiting.push_back(frame);
        }
    }

    async fn frame(&mut self) -> (i32, Bytes) {
        let len = self.socket.read_i32().await.unwrap();
        let mut frame = vec![0; len as usize];
        self.socket.read_exact(&mut frame).await.unwrap();
        let mut frame = Bytes::from(frame);
        (frame.get_i32(), frame)
    }
}
