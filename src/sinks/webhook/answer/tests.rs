//! Statuses and headers of answers, and what they say of a delivery.

use hyper::header::HeaderValue;

use super::*;

fn codes_of(statuses: impl IntoIterator<Item = u16>) -> Vec<Code> {
    let mut codes: Vec<Code> = statuses.into_iter().map(code_of_status).collect();
    codes.dedup();
    codes
}

fn retry_after(value: &'static str) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
    headers.insert(DATE, HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"));
    retry_after_ms(&headers, SystemTime::UNIX_EPOCH)
}

#[test]
fn every_status_has_its_code() {
    assert_eq!(codes_of(0..=199), [Code::InvalidAnswer]);
    assert_eq!(codes_of(200..=299), [Code::Ok]);
    assert_eq!(codes_of(300..=399), [Code::Redirect]);
    assert_eq!(codes_of([400, 413, 415, 422]), [Code::Rejected]);
    assert_eq!(codes_of([401, 403, 407]), [Code::Unauthorized]);
    assert_eq!(codes_of([408, 409, 425]), [Code::TryAgain]);
    assert_eq!(codes_of([410]), [Code::Gone]);
    assert_eq!(codes_of([429]), [Code::Throttled]);
    assert_eq!(
        codes_of([402, 404, 405, 406, 411, 412, 414, 416, 418, 421, 426, 428, 431, 451, 499]),
        [Code::RejectedOther]
    );
    assert_eq!(codes_of([500, 502, 503, 504, 507, 508, 511, 599]), [Code::Unavailable]);
    assert_eq!(codes_of([501, 505]), [Code::RejectedOther]);
    assert_eq!(codes_of(600..=999), [Code::InvalidAnswer]);
}

#[test]
fn retry_after_may_be_seconds() {
    assert_eq!(retry_after("0"), Some(0));
    assert_eq!(retry_after(" 120 "), Some(120_000));
}

#[test]
fn retry_after_may_be_a_date_in_any_of_its_three_forms_and_counts_from_the_answers_own_date() {
    assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30_000));
    assert_eq!(retry_after("Sunday, 06-Nov-94 08:50:07 GMT"), Some(30_000));
    assert_eq!(retry_after("Sun Nov  6 08:50:07 1994"), Some(30_000));
    assert_eq!(retry_after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
}

#[test]
fn retry_after_is_bounded() {
    assert_eq!(retry_after("86401"), Some(86_400_000));
    assert_eq!(retry_after("99999999999999999999999"), Some(86_400_000));
    assert_eq!(retry_after("Fri, 31 Dec 9999 23:59:59 GMT"), Some(86_400_000));
}

#[test]
fn retry_after_that_is_neither_is_ignored() {
    assert_eq!(["", "-1", "1.5", "soon", "5s"].map(retry_after), [None; 5]);
}

#[test]
fn bytes_that_are_not_text_are_replaced() {
    assert_eq!(text_of(b"a\xFFb", 10), "a\u{FFFD}b");
    assert_eq!(text_of("🌀🌀".as_bytes(), 6), "🌀…");
}
