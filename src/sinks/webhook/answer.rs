//! What an answer means: the table of statuses, `Retry-After`, `Location`, and a bounded look at the body.

use std::time::{Duration, SystemTime};

use eddy_contract::{Code, SideEffect};
use eddy_topology::outcome::{Outcome, Refusal, code_of_status};
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body, Incoming},
    header::{DATE, HeaderName, LOCATION, RETRY_AFTER},
};
use tokio::time::{Instant, timeout_at};

use crate::sinks::chain;

/// How much of a body is kept for the message.
const BODY_KEPT_BYTES: usize = 1024;

/// How much of a body is read, so that its connection can be used again; beyond that the connection is closed.
const BODY_READ_BYTES_MAX: usize = 64 * 1024;

/// How much of a `Location` is kept.
const LOCATION_BYTES_MAX: usize = 1024;

/// The longest wait that a downstream can ask for. It is not told from a longer one.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An answer as far as it was read.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    end: End,
}

/// How reading the body ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Complete, or more of it than anyone wants to read.
    Enough,
    TimedOut,
    Broken(String),
}

impl Answer {
    /// Reads the body until `deadline`, and keeps its first bytes.
    pub(super) async fn read(response: Response<Incoming>, deadline: Instant) -> Self {
        let (parts, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        let end = read_body(&mut incoming, &mut body, deadline).await;
        Self { status: parts.status, headers: parts.headers, body, end }
    }

    /// A 2xx counts only when complete. Any other status is a no, however much of its body came.
    pub(super) fn outcome(&self, secrets: &[String]) -> Outcome {
        let code = code_of_status(self.status.as_u16());
        let (code, effect, message) = match (code, &self.end) {
            (Code::Ok, End::Enough) => return Outcome::Delivered,
            (Code::Ok, End::TimedOut) => {
                (Code::Timeout, SideEffect::Unknown, "the answer was not complete in time".into())
            }
            (Code::Ok, End::Broken(error)) => (Code::Reset, SideEffect::Unknown, error.clone()),
            (Code::InvalidAnswer, _) => (code, SideEffect::Unknown, self.message(secrets)),
            (_, _) => (code, SideEffect::Refused, self.message(secrets)),
        };
        Outcome::Failed(Refusal {
            code,
            status: Some(self.status.as_u16()),
            retry_after_ms: retry_after_ms(&self.headers, SystemTime::now()),
            message,
            effect,
            location: self.location(),
        })
    }

    /// The body as text, without secrets that it echoes.
    fn message(&self, secrets: &[String]) -> String {
        let text = text_of(&self.body, BODY_KEPT_BYTES);
        secrets.iter().fold(text, |text, secret| text.replace(secret, "…"))
    }

    fn location(&self) -> Option<String> {
        let location = self.headers.get(LOCATION)?;
        Some(text_of(location.as_bytes(), LOCATION_BYTES_MAX))
    }
}

async fn read_body(incoming: &mut Incoming, kept: &mut Vec<u8>, deadline: Instant) -> End {
    let mut read_bytes = 0;
    while !incoming.is_end_stream() && read_bytes <= BODY_READ_BYTES_MAX {
        let frame = match timeout_at(deadline, incoming.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return End::Broken(chain(&error)),
            Err(_elapsed) => return End::TimedOut,
        };
        let data = frame.data_ref().map(|data| &data[..]).unwrap_or_default();
        // One byte more than is kept shows that there was more.
        let room = (BODY_KEPT_BYTES + 1).saturating_sub(kept.len());
        kept.extend_from_slice(&data[..data.len().min(room)]);
        read_bytes += data.len();
    }
    End::Enough
}

/// `Retry-After` in either form. A date is taken relative to the answer's own `Date`, so that clocks need not agree.
fn retry_after_ms(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let wanted = text(RETRY_AFTER)?;
    let wait = if !wanted.is_empty() && wanted.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(wanted.parse().unwrap_or(u64::MAX))
    } else {
        let from = text(DATE).and_then(date).unwrap_or(now);
        date(wanted)?.duration_since(from).unwrap_or_default()
    };
    u64::try_from(wait.min(RETRY_AFTER_MAX).as_millis()).ok()
}

/// At most `max` bytes as text, cut between characters; what is not UTF-8 is replaced.
fn text_of(bytes: &[u8], max: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let cut = bytes.len() > max;
    let end = if cut { text.floor_char_boundary(max) } else { text.len() };
    let mut text = text[..end].to_owned();
    if cut {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
