//! The demo downstream: what `eddy dev` delivers to when no sink is configured.
//!
//! It answers mostly 200, sometimes 503, sometimes 422, sometimes late, so that one run uses every road of the
//! topology. Which trigger meets which fate follows from its idempotency key alone, so two runs over the same input end
//! alike. It honours the key: an effect is counted once however often it is sent. It is no load balancer, no mock of
//! anything and no part of `eddy run`.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use eddy_contract::idempotency::sha256_hex;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, Response, StatusCode, body::Incoming, header::HeaderMap, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinSet};

/// The largest body it reads, bytes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// How late a slow answer is.
const SLOW: Duration = Duration::from_millis(250);

/// What a trigger meets, of 1,000 triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// 200 at once: all the others.
    Accepted,
    /// 200 after [`SLOW`]: 10.
    Slow,
    /// 503 for the first two tries, then 200: 15.
    Recovers,
    /// 503 for ever: 2.
    Unavailable,
    /// 422: 3.
    Refused,
}

impl Fate {
    /// The fate of the trigger with this idempotency key.
    fn of(idempotency_key: &str) -> Self {
        let digest = sha256_hex(idempotency_key.as_bytes());
        let lot = u32::from_str_radix(&digest[..8], 16).expect("sha256_hex writes hex digits") % 1000;
        match lot {
            0..10 => Self::Slow,
            10..25 => Self::Recovers,
            25..27 => Self::Unavailable,
            27..30 => Self::Refused,
            _ => Self::Accepted,
        }
    }
}

/// What the downstream has seen.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Seen {
    pub requests: u64,
    /// Different effects that took place.
    pub effects: u64,
    /// Requests for an effect that had already taken place.
    pub repeated: u64,
}

#[derive(Debug, Default)]
struct Ledger {
    seen: Seen,
    /// Idempotency key to tries, and whether the effect took place.
    triggers: HashMap<String, (u32, bool)>,
}

impl Ledger {
    /// Books one request and says how to answer it.
    fn answer(&mut self, idempotency_key: &str) -> (StatusCode, Duration) {
        self.seen.requests += 1;
        let (tries, done) = self.triggers.entry(idempotency_key.to_owned()).or_default();
        *tries += 1;
        if *done {
            self.seen.repeated += 1;
            return (StatusCode::OK, Duration::ZERO);
        }
        let (status, delay) = match Fate::of(idempotency_key) {
            Fate::Accepted => (StatusCode::OK, Duration::ZERO),
            Fate::Slow => (StatusCode::OK, SLOW),
            Fate::Recovers if *tries > 2 => (StatusCode::OK, Duration::ZERO),
            Fate::Recovers | Fate::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, Duration::ZERO),
            Fate::Refused => (StatusCode::UNPROCESSABLE_ENTITY, Duration::ZERO),
        };
        if status == StatusCode::OK {
            *done = true;
            self.seen.effects += 1;
        }
        (status, delay)
    }
}

/// A running demo downstream; it ends when this is dropped.
#[derive(Debug)]
pub struct Demo {
    address: SocketAddr,
    ledger: Arc<Mutex<Ledger>>,
    _server: JoinSet<()>,
}

impl Demo {
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, ledger.clone()));
        Ok(Self { address, ledger, _server: server })
    }

    /// Where to post to.
    pub fn url(&self) -> String {
        format!("http://{}/triggers", self.address)
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        self.ledger.lock().seen
    }
}

async fn serve(listener: TcpListener, ledger: Arc<Mutex<Ledger>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                let ledger = ledger.clone();
                let service = service_fn(move |request| receive(request, ledger.clone()));
                connections.spawn(async move {
                    // A connection that breaks is the client's to notice.
                    drop(
                        hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .serve_connection(TokioIo::new(stream), service)
                            .await,
                    );
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn receive(request: Request<Incoming>, ledger: Arc<Mutex<Ledger>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let key = idempotency_key(request.headers());
    let (status, delay) = match (key, Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await) {
        (Some(key), Ok(_)) => ledger.lock().answer(&key),
        _ => (StatusCode::BAD_REQUEST, Duration::ZERO),
    };
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let mut response = Response::new(Full::new(Bytes::from_static(status.canonical_reason().unwrap_or("").as_bytes())));
    *response.status_mut() = status;
    Ok(response)
}

fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("idempotency-key")?.to_str().ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_with(fate: Fate) -> String {
        (0..).map(|n| format!("key-{n}")).find(|key| Fate::of(key) == fate).unwrap()
    }

    #[test]
    fn a_recovering_trigger_is_refused_twice_and_then_takes_effect_once() {
        let key = key_with(Fate::Recovers);
        let mut ledger = Ledger::default();

        let answers: Vec<u16> = (0..4).map(|_| ledger.answer(&key).0.as_u16()).collect();

        assert_eq!(answers, [503, 503, 200, 200]);
        assert_eq!(ledger.seen, Seen { requests: 4, effects: 1, repeated: 1 });
    }

    #[test]
    fn an_unavailable_trigger_never_takes_effect() {
        let key = key_with(Fate::Unavailable);
        let mut ledger = Ledger::default();

        let answers: Vec<u16> = (0..5).map(|_| ledger.answer(&key).0.as_u16()).collect();

        assert_eq!(answers, [503; 5]);
        assert_eq!(ledger.seen.effects, 0);
    }
}
