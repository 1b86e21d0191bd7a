//! A downstream for tests: a real HTTP server on loopback that answers as it is told and remembers every request.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};

/// One request, in the order of arrival.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) idempotency_key: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
    /// The status that it was answered with.
    pub(crate) status: u16,
}

impl Received {
    /// The value of a header, empty when it was not sent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Decides the status of an answer from the body of a request.
pub(crate) type Script = dyn Fn(&[u8]) -> u16 + Send + Sync;

/// See the module's documentation. It ends when it is dropped.
pub(crate) struct Downstream {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    _server: JoinSet<()>,
}

impl Downstream {
    /// Answers every request with what `script` says.
    pub(crate) async fn start(script: impl Fn(&[u8]) -> u16 + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port on loopback");
        let address = listener.local_addr().expect("it is bound");
        let received = Arc::default();
        let mut server = JoinSet::new();
        server.spawn(serve(listener, Arc::new(script), Arc::clone(&received)));
        Self { address, received, _server: server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/triggers", self.address)
    }

    /// Everything so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no test panics while it holds this").clone()
    }
}

async fn serve(listener: TcpListener, script: Arc<Script>, received: Arc<Mutex<Vec<Received>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (script, received) = (Arc::clone(&script), Arc::clone(&received));
        let service = service_fn(move |request| answer(request, Arc::clone(&script), Arc::clone(&received)));
        connections.spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A client that is killed breaks its connections.
            drop(connection.await);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    script: Arc<Script>,
    received: Arc<Mutex<Vec<Received>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: BTreeMap<String, String> =
        request.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let Ok(body) = request.into_body().collect().await else {
        return Ok(Response::default());
    };
    let body = body.to_bytes();
    let status = script(&body);
    let idempotency_key = headers.get("idempotency-key").cloned().unwrap_or_default();
    let request = Received { at: Instant::now(), idempotency_key, headers, body, status };
    received.lock().expect("no test panics while it holds this").push(request);
    let mut response = Response::new(Full::default());
    *response.status_mut() = status.try_into().expect("scripts name statuses");
    Ok(response)
}
