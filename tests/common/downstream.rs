//! A downstream for tests: a real HTTP server on loopback that answers as it is told and remembers every request.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
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
    pub(crate) method: String,
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

    /// Whether the downstream took it.
    pub(crate) fn was_taken(&self) -> bool {
        self.status == 200
    }

    /// Whether the body contains `text`.
    pub(crate) fn says(&self, text: &str) -> bool {
        contains(&self.body, text)
    }
}

/// Whether `bytes` contain `text`.
pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// An answer. A status alone is one, too.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    status: u16,
    header: Option<(&'static str, String)>,
    body: Bytes,
    delay: Duration,
}

impl From<u16> for Reply {
    fn from(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

impl Reply {
    pub(crate) fn header(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { header: Some((name, value.into())), ..self }
    }

    pub(crate) fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// The request counts as received at once, and is answered so much later.
    pub(crate) fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }
}

type Script = dyn Fn(&[u8]) -> Reply + Send + Sync;

/// What all connections share.
struct Desk {
    script: Mutex<Arc<Script>>,
    received: Mutex<Vec<Received>>,
}

/// See the module's documentation. It ends when it is dropped.
pub(crate) struct Downstream {
    address: SocketAddr,
    desk: Arc<Desk>,
    server: JoinSet<()>,
}

impl Downstream {
    /// Answers every request with what `script` says of its body.
    pub(crate) async fn start<R: Into<Reply>>(script: impl Fn(&[u8]) -> R + Send + Sync + 'static) -> Self {
        let script: Arc<Script> = Arc::new(move |body| script(body).into());
        let desk = Arc::new(Desk { script: Mutex::new(script), received: Mutex::default() });
        let mut downstream = Self { address: (Ipv4Addr::LOCALHOST, 0).into(), desk, server: JoinSet::new() };
        downstream.come_back().await;
        downstream
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/triggers", self.address)
    }

    /// Everything so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.desk.received.lock().expect("no test panics while it holds this").clone()
    }

    /// How many requests that were; cheaper than counting what [`Downstream::received`] gives.
    pub(crate) fn requests(&self) -> usize {
        self.desk.received.lock().expect("no test panics while it holds this").len()
    }

    /// Answers otherwise from now on.
    pub(crate) fn answers<R: Into<Reply>>(&self, script: impl Fn(&[u8]) -> R + Send + Sync + 'static) {
        *self.desk.script.lock().expect("no test panics while it holds this") =
            Arc::new(move |body| script(body).into());
    }

    /// Closes all connections and refuses new ones.
    pub(crate) async fn go_away(&mut self) {
        self.server.shutdown().await;
    }

    /// Listens again, at the same address.
    pub(crate) async fn come_back(&mut self) {
        let listener = TcpListener::bind(self.address).await.expect("the port is free");
        self.address = listener.local_addr().expect("it is bound");
        self.server.spawn(serve(listener, Arc::clone(&self.desk)));
    }
}

async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let desk = Arc::clone(&desk);
        let service = service_fn(move |request| answer(request, Arc::clone(&desk)));
        connections.spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A client that is killed breaks its connections.
            drop(connection.await);
        });
    }
}

async fn answer(request: Request<Incoming>, desk: Arc<Desk>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: BTreeMap<String, String> =
        request.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let method = request.method().to_string();
    let Ok(body) = request.into_body().collect().await else {
        return Ok(Response::default());
    };
    let body = body.to_bytes();
    let script = Arc::clone(&desk.script.lock().expect("no test panics while it holds this"));
    let reply = script(&body);
    let idempotency_key = headers.get("idempotency-key").cloned().unwrap_or_default();
    let request = Received { at: Instant::now(), method, idempotency_key, headers, body, status: reply.status };
    desk.received.lock().expect("no test panics while it holds this").push(request);
    tokio::time::sleep(reply.delay).await;
    let mut response = Response::builder().status(reply.status);
    if let Some((name, value)) = reply.header {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(reply.body)).expect("scripts name statuses and headers that exist"))
}
