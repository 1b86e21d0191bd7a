//! An HTTP server that says yes to everything, and a client that does nothing but ask: what a webhook could be at most.

use std::{
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, Uri, body::Incoming, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::{net::TcpListener, task::JoinSet};

use super::measure::{Measured, Stopwatch};

/// It ends when it is dropped.
pub(crate) struct Downstream {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl Downstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port on loopback");
        let address = listener.local_addr().expect("it is bound");
        let mut server = JoinSet::new();
        server.spawn(serve(listener));
        Self { address, _server: server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/triggers", self.address)
    }

    /// Posts every trigger with the client that the webhook sink has, so many at a time.
    pub(crate) async fn ping_pong(&self, what: String, at_a_time: usize, triggers: Arc<[Bytes]>) -> Measured {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(at_a_time).build(connector);
        let url: Uri = self.url().parse().expect("an address and a path are a URL");
        let count = triggers.len();
        let next = Arc::new(AtomicUsize::new(0));
        let watch = Stopwatch::start();
        let mut players = JoinSet::new();
        for _ in 0..at_a_time {
            let (client, url, triggers, next) = (client.clone(), url.clone(), triggers.clone(), next.clone());
            players.spawn(async move {
                while let Some(trigger) = triggers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    post(&client, &url, trigger).await;
                }
            });
        }
        players.join_all().await;
        watch.stop(what, count)
    }
}

async fn post(client: &Client<HttpConnector, Full<Bytes>>, url: &Uri, trigger: &Bytes) {
    let mut request = Request::new(Full::new(trigger.clone()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.clone();
    let answer = client.request(request).await.expect("the server is there");
    answer.into_body().collect().await.expect("an answer is complete");
}

async fn serve(listener: TcpListener) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("a connection can be told so");
        connections.spawn(async move {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // A client that is gone breaks its connections.
            drop(connection.await);
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    drop(request.into_body().collect().await);
    Ok(Response::new(Full::new(Bytes::from_static(b"ok"))))
}
