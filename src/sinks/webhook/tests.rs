//! The webhook against servers that answer well, badly, late and not at all.

mod server;

use std::sync::atomic::Ordering;

use eddy_topology::outcome::{Refusal, code_of_status};
use hyper::{Response, StatusCode, header};
use tokio::{net::TcpListener, sync::watch};

use self::server::{Server, dribbling_after, misbehaving, saying};
use super::*;

const PAYLOAD: &[u8] = b"{\"device_id\":\"d-1\"}\n";
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn delivery() -> Delivery {
    Delivery {
        id: "geofence-triggers/3/17".parse().unwrap(),
        key: Some(Bytes::from_static(b"d-1")),
        payload: Bytes::from_static(PAYLOAD),
        idempotency_key: "key-1".into(),
        traceparent: None,
        attempt: 2,
        replayed: false,
    }
}

fn webhook(url: &str) -> Webhook {
    Webhook::new(Settings::new("downstream", url)).unwrap()
}

fn impatient_webhook(url: &str) -> Webhook {
    Webhook::new(Settings { timeout: Duration::from_millis(100), ..Settings::new("downstream", url) }).unwrap()
}

fn status(status: u16) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

async fn refusal(webhook: &Webhook) -> Refusal {
    match webhook.deliver(delivery()).await {
        Outcome::Failed(refusal) => refusal,
        Outcome::Delivered => panic!("it was delivered"),
    }
}

async fn code_and_effect(webhook: &Webhook) -> (Code, SideEffect) {
    let refusal = refusal(webhook).await;
    (refusal.code, refusal.effect)
}

#[tokio::test]
async fn the_original_bytes_arrive_with_everything_that_names_the_delivery() {
    let server = Server::answering(|_| status(200)).await;

    let outcome = webhook(&server.url).deliver(Delivery { traceparent: Some(TRACE.into()), ..delivery() }).await;

    assert_eq!(outcome, Outcome::Delivered);
    let requests = server.requests.lock();
    let header = |name: &str| requests[0].headers().get(name).map(|value| value.to_str().unwrap());
    assert_eq!(requests[0].body(), PAYLOAD);
    assert_eq!((requests[0].method(), requests[0].uri().path()), (&Method::POST, "/triggers"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("idempotency-key"), Some("key-1"));
    assert_eq!(header("traceparent"), Some(TRACE));
    assert_eq!(header("eddy-id"), Some("geofence-triggers/3/17"));
    assert_eq!(header("eddy-attempt"), Some("2"));
    assert_eq!(header("eddy-replayed"), None);
}

#[tokio::test]
async fn a_replayed_delivery_says_so() {
    let server = Server::answering(|_| status(204)).await;

    let outcome = webhook(&server.url).deliver(Delivery { replayed: true, ..delivery() }).await;

    assert_eq!(outcome, Outcome::Delivered);
    assert_eq!(server.requests.lock()[0].headers()["eddy-replayed"], "true");
}

#[tokio::test]
async fn configured_headers_are_sent_and_may_replace_the_content_type() {
    let server = Server::answering(|_| status(200)).await;
    let headers = vec![
        Header::try_new("Authorization", "Bearer s3cret").unwrap(),
        Header::try_new("content-type", "text/x").unwrap(),
    ];
    let webhook = Webhook::new(Settings { headers, ..Settings::new("downstream", &server.url) }).unwrap();

    webhook.deliver(delivery()).await;

    let requests = server.requests.lock();
    assert_eq!(requests[0].headers()["authorization"], "Bearer s3cret");
    assert_eq!(requests[0].headers()["content-type"], "text/x");
}

#[tokio::test]
async fn every_final_status_that_a_server_can_send_becomes_its_code() {
    let server = Server::answering(|request| {
        let wanted = request.headers()["idempotency-key"].to_str().unwrap().parse().unwrap();
        status(wanted)
    })
    .await;
    let webhook = webhook(&server.url);
    let (mut codes, mut expected) = (Vec::new(), Vec::new());

    for wanted in 200..=599_u16 {
        let idempotency_key = wanted.to_string().into();
        let code = match webhook.deliver(Delivery { idempotency_key, ..delivery() }).await {
            Outcome::Delivered => Code::Ok,
            Outcome::Failed(refusal) => refusal.code,
        };
        codes.push((wanted, code));
        expected.push((wanted, code_of_status(wanted)));
    }

    assert_eq!(codes, expected);
    assert_eq!(server.request_count(), 400);
}

/// C41.
#[tokio::test]
async fn a_redirect_is_one_request_and_never_a_get_and_its_location_is_kept() {
    let server = Server::answering(|request| {
        let mut response = status(request.headers()["idempotency-key"].to_str().unwrap().parse().unwrap());
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/elsewhere"));
        response
    })
    .await;
    let webhook = webhook(&server.url);

    for wanted in ["301", "302", "303", "307", "308"] {
        let outcome = webhook.deliver(Delivery { idempotency_key: wanted.into(), ..delivery() }).await;

        let Outcome::Failed(refusal) = outcome else { panic!("{wanted} looks like a success") };
        assert_eq!((refusal.code, refusal.effect), (Code::Redirect, SideEffect::Refused));
        assert_eq!(refusal.location.as_deref(), Some("/elsewhere"));
    }

    let requests = server.requests.lock();
    assert_eq!(requests.len(), 5);
    assert!(requests.iter().all(|request| request.method() == Method::POST && request.uri().path() == "/triggers"));
}

#[tokio::test]
async fn what_the_downstream_says_and_asks_for_is_kept() {
    let server = Server::answering(|_| {
        let mut response = Response::new(Full::from("slow down"));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("7"));
        response
    })
    .await;

    let refusal = refusal(&webhook(&server.url)).await;

    assert_eq!((refusal.code, refusal.status, refusal.retry_after_ms), (Code::Throttled, Some(429), Some(7000)));
    assert_eq!(refusal.message, "slow down");
}

/// C16.
#[tokio::test]
async fn of_a_body_of_a_megabyte_only_the_beginning_is_kept_and_no_character_is_cut() {
    let server = Server::answering(|_| {
        let mut response = Response::new(Full::from("x".repeat(1022) + &"🌀".repeat(250_000)));
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        response
    })
    .await;

    let refusal = refusal(&webhook(&server.url)).await;

    assert_eq!(refusal.code, Code::Rejected);
    assert_eq!(refusal.message, "x".repeat(1022) + "…");
}

#[tokio::test]
async fn a_success_with_a_large_body_is_a_success() {
    let server = Server::answering(|_| Response::new(Full::from("x".repeat(1_000_000)))).await;

    assert_eq!(webhook(&server.url).deliver(delivery()).await, Outcome::Delivered);
}

/// C39.
#[tokio::test]
async fn a_refused_connection_had_no_effect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);

    assert_eq!(code_and_effect(&webhook(&url)).await, (Code::Refused, SideEffect::None));
}

/// C39.
#[tokio::test]
async fn a_name_that_does_not_exist_had_no_effect() {
    let webhook = webhook("http://nobody.invalid/triggers");

    assert_eq!(code_and_effect(&webhook).await, (Code::Dns, SideEffect::None));
}

/// C39.
#[tokio::test]
async fn a_reset_before_the_answer_leaves_the_effect_unknown() {
    let url = misbehaving(|stream| async move { stream.set_zero_linger().unwrap() }).await;

    assert_eq!(code_and_effect(&webhook(&url)).await, (Code::Reset, SideEffect::Unknown));
}

#[tokio::test]
async fn a_close_before_the_answer_leaves_the_effect_unknown() {
    let url = saying(b"").await;

    assert_eq!(code_and_effect(&webhook(&url)).await, (Code::Reset, SideEffect::Unknown));
}

/// C39.
#[tokio::test]
async fn a_success_that_breaks_off_leaves_the_effect_unknown() {
    let url = saying(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;

    assert_eq!(code_and_effect(&webhook(&url)).await, (Code::Reset, SideEffect::Unknown));
}

#[tokio::test]
async fn a_refusal_that_breaks_off_is_still_a_refusal() {
    let url = saying(b"HTTP/1.1 503 Busy\r\ncontent-length: 100\r\n\r\nhalf").await;

    let refusal = refusal(&webhook(&url)).await;

    assert_eq!((refusal.code, refusal.effect), (Code::Unavailable, SideEffect::Refused));
    assert_eq!(refusal.message, "half");
}

/// C39.
#[tokio::test]
async fn no_answer_in_time_leaves_the_effect_unknown() {
    let url = misbehaving(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;

    assert_eq!(code_and_effect(&impatient_webhook(&url)).await, (Code::Timeout, SideEffect::Unknown));
}

#[tokio::test]
async fn an_endless_success_is_cut_by_the_timeout() {
    let url = dribbling_after(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;

    assert_eq!(code_and_effect(&impatient_webhook(&url)).await, (Code::Timeout, SideEffect::Unknown));
}

#[tokio::test]
async fn an_endless_refusal_is_cut_by_the_timeout_and_still_a_refusal() {
    let url = dribbling_after(b"HTTP/1.1 400 No\r\ntransfer-encoding: chunked\r\n\r\n").await;

    assert_eq!(code_and_effect(&impatient_webhook(&url)).await, (Code::Rejected, SideEffect::Refused));
}

#[tokio::test]
async fn an_answer_that_is_not_http_leaves_the_effect_unknown() {
    let url = saying(b"SSH-2.0-OpenSSH_9.6\r\n").await;

    assert_eq!(code_and_effect(&webhook(&url)).await, (Code::InvalidAnswer, SideEffect::Unknown));
}

#[tokio::test]
async fn a_status_that_nobody_knows_leaves_the_effect_unknown() {
    let url = saying(b"HTTP/1.1 799 What\r\ncontent-length: 0\r\n\r\n").await;

    assert_eq!(code_and_effect(&webhook(&url)).await, (Code::InvalidAnswer, SideEffect::Unknown));
}

#[tokio::test]
async fn an_idempotency_key_that_cannot_be_a_header_is_not_sent() {
    let server = Server::answering(|_| status(200)).await;
    let webhook = webhook(&server.url);

    for hostile in ["", "a b", "k\r\neddy-replayed: true", "k\u{e9}", "k\0", &"k".repeat(257)] {
        let Outcome::Failed(refusal) =
            webhook.deliver(Delivery { idempotency_key: hostile.into(), ..delivery() }).await
        else {
            panic!("{hostile:?} was sent")
        };
        assert_eq!((refusal.code, refusal.effect), (Code::InvalidIdempotencyKey, SideEffect::None));
    }

    assert_eq!(server.request_count(), 0);
}

#[tokio::test]
async fn a_traceparent_that_cannot_be_a_header_is_left_out() {
    let server = Server::answering(|_| status(200)).await;

    let outcome = webhook(&server.url).deliver(Delivery { traceparent: Some("00\r\nx: y".into()), ..delivery() }).await;

    assert_eq!(outcome, Outcome::Delivered);
    assert!(!server.requests.lock()[0].headers().contains_key("traceparent"));
    assert!(!server.requests.lock()[0].headers().contains_key("x"));
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::answering(|_| status(200)).await;
    let webhook = webhook(&server.url);

    for _ in 0..20 {
        webhook.deliver(delivery()).await;
    }

    assert_eq!((server.request_count(), server.connections.load(Ordering::SeqCst)), (20, 1));
}

#[tokio::test]
async fn there_are_never_more_connections_than_allowed_and_waiting_for_one_is_no_timeout() {
    let (open, gate) = watch::channel(false);
    let server = Server::answering_later(move |_| {
        let mut gate = gate.clone();
        Box::pin(async move {
            gate.wait_for(|open| *open).await.unwrap();
            status(200)
        })
    })
    .await;
    let settings = Settings { connections_max: 3, ..Settings::new("downstream", &server.url) };
    let webhook = Webhook::new(settings).unwrap();
    let deliveries = futures_util::future::join_all((0..30).map(|_| webhook.deliver(delivery())));
    let opening = async {
        while server.request_count() < 3 {
            tokio::task::yield_now().await;
        }
        open.send(true).unwrap();
    };

    let (outcomes, ()) = tokio::join!(deliveries, opening);

    assert_eq!(outcomes, vec![Outcome::Delivered; 30]);
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_secret_is_neither_printed_nor_echoed_into_a_message() {
    let server = Server::answering(|request| {
        let echo = format!("bad credentials: {}", request.headers()["authorization"].to_str().unwrap());
        let mut response = Response::new(Full::from(echo));
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    })
    .await;
    let settings = Settings {
        headers: vec![Header::try_new("authorization", "Bearer s3cret").unwrap()],
        ..Settings::new("downstream", &format!("{}?token=t0ken", server.url))
    };
    let printed_settings = format!("{settings:?}");
    let webhook = Webhook::new(settings).unwrap();

    let refusal = refusal(&webhook).await;

    let printed = format!("{printed_settings} {webhook:?} {refusal:?}");
    assert_eq!(refusal.message, "bad credentials: Bearer …");
    assert!(!printed.contains("s3cret") && !printed.contains("t0ken"), "{printed}");
}

#[test]
fn settings_that_cannot_work_are_refused_with_a_hint() {
    let refused = |url: &str| Webhook::new(Settings::new("downstream", url)).unwrap_err();

    assert!(matches!(refused("https://example.com/"), SettingsError::Https));
    assert!(refused("https://example.com/").hint().is_some());
    assert!(matches!(refused("ftp://example.com/"), SettingsError::UnknownScheme));
    assert!(matches!(refused("example.com"), SettingsError::UnknownScheme));
    assert!(matches!(refused("/triggers"), SettingsError::UnknownScheme));
    assert!(matches!(refused("http://a b/"), SettingsError::NotAUrl(_)));
    assert!(matches!(refused("http://user:pass@example.com/"), SettingsError::Credentials));
    assert!(!refused("http://user:pass@example.com/").to_string().contains("pass"));
}

#[test]
fn limits_of_zero_are_refused_by_name() {
    let settings = Settings { connections_max: 0, ..Settings::new("downstream", "http://localhost/") };

    assert_eq!(Webhook::new(settings).unwrap_err().to_string(), "`connections_max` of a webhook must not be zero");
}

#[test]
fn headers_that_eddy_sets_or_that_break_lines_are_refused() {
    let refused = |name, value| Header::try_new(name, value).unwrap_err();

    assert!(matches!(refused("Idempotency-Key", "x"), SettingsError::Reserved(_)));
    assert!(matches!(refused("Host", "x"), SettingsError::Reserved(_)));
    assert!(matches!(refused("a b", "x"), SettingsError::HeaderName(_)));
    assert!(matches!(refused("x-token", "s3cret\r\nx: y"), SettingsError::HeaderValue(_)));
    assert!(!refused("x-token", "s3cret\r\nx: y").to_string().contains("s3cret"));
}
