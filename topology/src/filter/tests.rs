//! What a filter promises.

use eddy_contract::{
    Class, Code, Failure,
    envelope::{Attempts, Origin},
};

use super::*;

const NOW_MS: i64 = 1_796_040_000_000;

/// An exhausted letter of `van-17` with every time an hour from the next: event, origin, failed, quarantined.
fn letter() -> Letter {
    let origin =
        Origin { topic: "triggers".into(), partition: 3, offset: 17, timestamp_ms: Some(hours_ago(2)), part: 0 };
    let envelope = Envelope {
        reason: Some("exhausted:unavailable".into()),
        idempotency_key: Some("key-1".into()),
        device: Some("van-17".into()),
        fence: Some("depot".into()),
        event_time_ns: Some(hours_ago(3) * 1_000_000),
        quarantined_at_ns: Some(NOW_MS * 1_000_000 + 999_999),
        attempts: Attempts { delivery: 4, replay: 0 },
        failures: vec![failure(SideEffect::Unknown, hours_ago(2)), failure(SideEffect::Refused, hours_ago(1))],
        ..Envelope::new(origin, Vec::new())
    };
    Letter { partition: 3, offset: 1, payload_bytes: 0, envelope, resolution: None }
}

fn hours_ago(hours: i64) -> i64 {
    NOW_MS - hours * 3_600_000
}

fn failure(effect: SideEffect, at: i64) -> Failure {
    Failure {
        at,
        stage: "deliver".into(),
        class: Some(Class::Transient),
        code: Code::Unavailable,
        signature: format!("deliver:transient:503:{effect:?}"),
        status: Some(503),
        message: String::new(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: None,
        effect,
        location: None,
    }
}

fn matches(filter: Filter) -> bool {
    filter.matches(&letter())
}

fn within(field: TimeField, since_ms: impl Into<Option<i64>>, until_ms: impl Into<Option<i64>>) -> bool {
    let window = Window { field, since_ms: since_ms.into(), until_ms: until_ms.into() };
    matches(Filter { window: Some(window), ..Filter::default() })
}

#[test]
fn a_filter_that_asks_nothing_means_every_letter() {
    assert!(matches(Filter::default()));
    assert!(Filter::default().is_everything());
}

#[test]
fn classes_are_alternatives() {
    let of = |classes: &[End]| matches(Filter { class: classes.iter().copied().collect(), ..Filter::default() });

    assert!(of(&[End::Exhausted]));
    assert!(of(&[End::Terminal, End::Exhausted]));
    assert!(!of(&[End::Terminal, End::Unclassified]));
}

#[test]
fn a_reason_is_meant_exactly_unless_it_ends_with_a_star() {
    let of = |reason: &str| matches(Filter { reason: Some(reason.into()), ..Filter::default() });

    assert!(of("exhausted:unavailable"));
    assert!(of("exhausted:un*"));
    assert!(of("*"));
    assert!(!of("exhausted:"));
    assert!(!of("terminal:*"));
}

#[test]
fn signature_and_effect_are_those_of_the_last_failure() {
    let signed = |text: &str| matches(Filter { signature: Some(text.into()), ..Filter::default() });
    let effect = |effect| matches(Filter { effect: vec![effect], ..Filter::default() });

    assert!(signed("deliver:transient:503:Refused"));
    assert!(!signed("deliver:transient:503:Unknown"));
    assert!(effect(SideEffect::Refused));
    assert!(!effect(SideEffect::Unknown));
}

#[test]
fn a_letter_without_a_failure_was_never_sent() {
    let mut unsent = letter();
    unsent.envelope.failures.clear();
    let of = |effect| Filter { effect: vec![effect], ..Filter::default() }.matches(&unsent);

    assert!(of(SideEffect::None));
    assert!(!of(SideEffect::Unknown));
}

#[test]
fn what_the_trigger_said_must_be_the_same() {
    let some = |text: &str| Some(text.to_owned());

    assert!(matches(Filter { device: some("van-17"), fence: some("depot"), ..Filter::default() }));
    assert!(matches(Filter { idempotency_key: some("key-1"), ..Filter::default() }));
    assert!(!matches(Filter { device: some("van-17"), fence: some("yard"), ..Filter::default() }));
    assert!(!matches(Filter { device: some("van-1"), ..Filter::default() }));
    assert!(!matches(Filter { idempotency_key: some("key-2"), ..Filter::default() }));
}

#[test]
fn an_origin_is_a_topic_or_one_of_its_partitions() {
    let from = |text: &str| matches(Filter { origin: Some(text.parse().unwrap()), ..Filter::default() });

    assert!(from("triggers") && from("triggers/3"));
    assert!(!from("triggers/0") && !from("trigger"));
    for bad in ["", "/3", "triggers/", "triggers/x", "triggers/3/17"] {
        assert_eq!(bad.parse::<Source>(), Err(ParseSourceError(bad.into())));
    }
}

#[test]
fn ids_are_alternatives() {
    let of =
        |ids: &[&str]| matches(Filter { id: ids.iter().map(|id| id.parse().unwrap()).collect(), ..Filter::default() });

    assert!(of(&["triggers/0/1", "triggers/3/17"]));
    assert!(!of(&["triggers/0/1", "triggers/3/18"]));
}

#[test]
fn windows_side_by_side_share_no_letter_and_miss_none() {
    let at = hours_ago(2);

    assert!(within(TimeField::Origin, at, at + 1));
    assert!(!within(TimeField::Origin, at - 1, at));
    assert!(!within(TimeField::Origin, at + 1, None));
    assert!(within(TimeField::Origin, at, None) && within(TimeField::Origin, None, at + 1));
}

#[test]
fn a_window_is_one_of_the_time_that_it_names() {
    let hour = |field| [0, 1, 2, 3].map(|hours| within(field, hours_ago(hours), hours_ago(hours) + 1));

    assert_eq!(hour(TimeField::Quarantined), [true, false, false, false]);
    assert_eq!(hour(TimeField::Failed), [false, true, false, false]);
    assert_eq!(hour(TimeField::Origin), [false, false, true, false]);
    assert_eq!(hour(TimeField::Event), [false, false, false, true]);
    assert_eq!(TimeField::default(), TimeField::Quarantined);
}

#[test]
fn a_letter_that_does_not_have_the_time_is_in_no_window() {
    let mut unread = letter();
    unread.envelope.event_time_ns = None;
    let window = Window { field: TimeField::Event, ..Window::default() };

    assert!(!Filter { window: Some(window), ..Filter::default() }.matches(&unread));
}

#[test]
fn criteria_narrow_each_other() {
    let class = BTreeSet::from([End::Exhausted]);

    assert!(matches(Filter { class: class.clone(), fence: Some("depot".into()), ..Filter::default() }));
    assert!(!matches(Filter { class, fence: Some("yard".into()), ..Filter::default() }));
}

#[test]
fn a_filter_is_stored_as_what_it_asks_and_nothing_else() {
    let filter = Filter {
        class: BTreeSet::from([End::Terminal]),
        effect: vec![SideEffect::Unknown],
        reason: Some("terminal:*".into()),
        window: Some(Window { field: TimeField::Failed, since_ms: Some(5), until_ms: None }),
        origin: Some("triggers/3".parse().unwrap()),
        id: BTreeSet::from(["triggers/3/17".parse().unwrap()]),
        ..Filter::default()
    };

    let json = serde_json::to_string(&filter).unwrap();

    let expected = concat!(
        r#"{"class":["terminal"],"reason":"terminal:*","effect":["unknown"],"#,
        r#""window":{"field":"failed","since_ms":5},"origin":"triggers/3","id":["triggers/3/17"]}"#
    );
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<Filter>(&json).unwrap(), filter);
    assert_eq!(serde_json::to_string(&Filter::default()).unwrap(), "{}");
}

#[test]
fn a_criterion_of_a_later_build_is_refused_rather_than_ignored() {
    let error = serde_json::from_str::<Filter>(r#"{"class":["terminal"],"colour":"red"}"#).unwrap_err();

    assert!(error.to_string().contains("unknown field `colour`"), "{error}");
}
