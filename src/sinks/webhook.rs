//! The `webhook` sink: one POST of the original bytes per delivery.
//!
//! Delivered means: a complete answer with a 2xx status, in time. Everything else becomes a refusal ([`answer`] for
//! what was answered, [`error`] for what was not). Redirects are never followed: a followed 301 turns the POST into a
//! GET that looks like a success, and a redirect is a way to reach addresses that nobody configured.
//!
//! Connections are pooled and their number is limited; waiting for a free one does not count against the timeout.
//! Plain HTTP only.

mod answer;
mod error;
mod resolver;
mod settings;

use std::time::Duration;

use bytes::Bytes;
use eddy_contract::{Code, SideEffect, idempotency};
use eddy_topology::{effect::Delivery, outcome::Outcome};
use futures_util::{FutureExt, future::BoxFuture};
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Uri,
    header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT},
};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use self::{answer::Answer, resolver::Resolver};
use super::{Sink, failed};

pub use self::settings::{Header, Settings, SettingsError};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const EDDY_ID: HeaderName = HeaderName::from_static("eddy-id");
const EDDY_ATTEMPT: HeaderName = HeaderName::from_static("eddy-attempt");
const EDDY_REPLAYED: HeaderName = HeaderName::from_static("eddy-replayed");

/// How long an idle connection is kept: less than the 5 s after which common servers close theirs, because a request
/// that meets such a close has an unknown outcome.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// See the module's documentation.
pub struct Webhook {
    name: String,
    target: Uri,
    /// Sent with every request.
    headers: HeaderMap,
    /// Values that an answer may echo and that no message may carry.
    secrets: Vec<String>,
    timeout: Duration,
    slots: Semaphore,
    client: Client<HttpConnector<Resolver>, Full<Bytes>>,
}

impl Webhook {
    /// A sink that posts to `settings.url`. Connects at the first delivery.
    ///
    /// # Errors
    /// When the URL or a header cannot be used, or a limit is zero.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let target = settings.target()?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("eddy/", env!("CARGO_PKG_VERSION"))));
        for header in &settings.headers {
            headers.insert(header.name.clone(), header.value.clone());
        }
        Ok(Self {
            target,
            headers,
            secrets: settings.headers.iter().filter_map(Header::secret).collect(),
            timeout: settings.timeout,
            slots: Semaphore::new(settings.connections_max),
            client: client(&settings),
            name: settings.name,
        })
    }

    async fn attempt(&self, delivery: Delivery) -> Outcome {
        let Some(mut request) = self.request(delivery) else {
            let message = "the idempotency key is not 1 to 256 visible ASCII characters";
            return failed(Code::InvalidIdempotencyKey, SideEffect::None, message);
        };
        let connection = capture_connection(&mut request);
        let _slot = self.slots.acquire().await.expect("the semaphore is never closed");
        let deadline = Instant::now() + self.timeout;
        match timeout_at(deadline, self.client.request(request)).await {
            Ok(Ok(response)) => Answer::read(response, deadline).await.outcome(&self.secrets),
            Ok(Err(error)) => error::outcome(&error),
            Err(_elapsed) => {
                let connected = connection.connection_metadata().is_some();
                let effect = if connected { SideEffect::Unknown } else { SideEffect::None };
                failed(Code::Timeout, effect, format!("no answer within {:?}", self.timeout))
            }
        }
    }

    /// `None` when the idempotency key cannot be a header; an effect that cannot be named is not sent.
    fn request(&self, delivery: Delivery) -> Option<Request<Full<Bytes>>> {
        if !idempotency::is_valid(&delivery.idempotency_key) {
            return None;
        }
        let mut headers = self.headers.clone();
        headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_str(&delivery.idempotency_key).ok()?);
        headers.insert(EDDY_ATTEMPT, delivery.attempt.into());
        // These two only inform, so a value that cannot be a header is left out rather than fail the delivery.
        if let Ok(id) = HeaderValue::from_maybe_shared(Bytes::from(delivery.id.to_string())) {
            headers.insert(EDDY_ID, id);
        }
        if let Some(traceparent) = delivery.traceparent.and_then(|text| visible(&text)) {
            headers.insert(TRACEPARENT, traceparent);
        }
        if delivery.replayed {
            headers.insert(EDDY_REPLAYED, HeaderValue::from_static("true"));
        }
        let mut request = Request::new(Full::new(delivery.payload));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = headers;
        Some(request)
    }
}

impl Sink for Webhook {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        self.attempt(delivery).boxed()
    }
}

fn client(settings: &Settings) -> Client<HttpConnector<Resolver>, Full<Bytes>> {
    let mut connector = HttpConnector::new_with_resolver(Resolver::new());
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(settings.connect_timeout));
    connector.set_keepalive(Some(Duration::from_secs(60)));
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(settings.connections_max)
        .build(connector)
}

/// A header value of visible ASCII, if `text` is that.
fn visible(text: &str) -> Option<HeaderValue> {
    let visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    visible.then(|| HeaderValue::from_str(text).ok()).flatten()
}

impl std::fmt::Debug for Webhook {
    /// Without path, query and headers, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook")
            .field("name", &self.name)
            .field("host", &self.target.authority().map(|authority| authority.as_str()))
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
