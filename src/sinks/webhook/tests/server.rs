//! Downstreams on loopback: a real HTTP server, and listeners that misbehave.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A server that answers, and what it saw.
pub(super) struct Server {
    pub(super) url: String,
    pub(super) requests: Arc<Mutex<Vec<Request<Bytes>>>>,
    pub(super) connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers every request at once.
    pub(super) async fn answering(
        answer: impl Fn(&Request<Bytes>) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        Self::answering_later(move |request| {
            let response = answer(request);
            Box::pin(async { response })
        })
        .await
    }

    pub(super) async fn answering_later(
        answer: impl Fn(&Request<Bytes>) -> BoxFuture<'static, Response<Full<Bytes>>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/triggers", listener.local_addr().unwrap());
        let server = Self { url, requests: Arc::default(), connections: Arc::default() };
        let (requests, connections, answer) = (server.requests.clone(), server.connections.clone(), Arc::new(answer));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, answer) = (requests.clone(), answer.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (requests, answer) = (requests.clone(), answer.clone());
                    async move {
                        let (parts, body) = request.into_parts();
                        let request = Request::from_parts(parts, body.collect().await.unwrap().to_bytes());
                        let response = answer(&request);
                        requests.lock().push(request);
                        Ok::<_, Infallible>(response.await)
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        server
    }

    pub(super) fn request_count(&self) -> usize {
        self.requests.lock().len()
    }
}

/// A listener that reads each request and then does as it likes with the connection.
pub(super) async fn misbehaving<F: Future<Output = ()> + Send + 'static>(
    then: impl Fn(TcpStream) -> F + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/triggers", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(super::PAYLOAD) {
                stream.read_buf(&mut request).await.unwrap();
            }
            tokio::spawn(then(stream));
        }
    });
    url
}

/// A listener that answers with these bytes and closes.
pub(super) async fn saying(bytes: &'static [u8]) -> String {
    misbehaving(move |mut stream| async move { stream.write_all(bytes).await.unwrap() }).await
}

/// A listener that answers with these bytes and then sends `.` in chunks, slowly, without an end.
pub(super) async fn dribbling_after(head: &'static [u8]) -> String {
    misbehaving(move |mut stream| async move {
        stream.write_all(head).await.unwrap();
        while stream.write_all(b"1\r\n.\r\n").await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await
}
