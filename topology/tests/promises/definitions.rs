//! A definition with mistakes is refused before anything is created, and every mistake is named.

use eddy_topology::{
    Definition, Topology,
    builder::{Error, Errors},
    names::NameError,
};

/// The mistakes of the default definition with these lines over it.
fn mistakes(over: &str) -> Vec<Error> {
    let definition = Definition::parse(over).expect("the text is a definition");
    Topology::try_new(&definition).err().map_or(Vec::new(), |Errors(errors)| errors)
}

fn span(text: &str) -> eddy_topology::Span {
    text.parse().expect("a span such as `30s`")
}

#[test]
fn the_default_definition_has_no_mistakes() {
    assert_eq!(mistakes(""), []);
}

#[test]
fn every_mistake_is_reported_at_once() {
    let found = mistakes(
        r#"
        source.topic = "Geo"
        source.partitions = 0
        sink.kind = "carrier-pigeon"
        sink.in_flight_max = 0
        retry.tiers = []
        guard.durable_ttl = "1d"
        "#,
    );

    assert_eq!(found.len(), 6, "{found:#?}");
}

#[test]
fn a_bad_source_name() {
    let bad = NameError::BadCharacter { name: "geo_fence".into(), character: '_' };
    assert_eq!(mistakes("source.topic = 'geo_fence'"), [Error::SourceName(bad)]);
}

#[test]
fn derived_names_that_are_too_long() {
    let source = "a".repeat(54);

    let found = mistakes(&format!("source.topic = '{source}'"));

    let too_long = NameError::TooLong(format!("{source}-retry-30s"));
    assert_eq!(found, [Error::SourceName(too_long)]);
    assert_eq!(found[0].hint().unwrap(), "shorten the source's name by 1 characters");
}

#[test]
fn no_partitions() {
    assert_eq!(mistakes("source.partitions = 0"), [Error::NoPartitions]);
}

#[test]
fn no_tiers() {
    assert_eq!(mistakes("retry.tiers = []"), [Error::NoTiers]);
}

#[test]
fn a_tier_without_a_wait() {
    assert_eq!(mistakes("retry.tiers = ['0s', '30s', '5m']"), [Error::TierZero { index: 0 }]);
}

#[test]
fn tiers_that_do_not_ascend() {
    let found = mistakes("retry.tiers = ['5s', '5s', '5m']");
    assert_eq!(found, [Error::TiersNotAscending { index: 1, delay: span("5s"), before: span("5s") }]);
}

#[test]
fn more_retries_than_tiers() {
    assert_eq!(mistakes("retry.ceiling = 4"), [Error::CeilingIsNotTiers { ceiling: 4, tiers: 3 }]);
}

#[test]
fn tiers_that_no_retry_reaches() {
    assert_eq!(mistakes("retry.ceiling = 2"), [Error::CeilingIsNotTiers { ceiling: 2, tiers: 3 }]);
}

/// C10: retention never deletes a record before its delay ends.
#[test]
fn a_tier_that_forgets_its_records_before_they_are_due_or_the_outage_is_over() {
    let found = mistakes("retry.retention = '60s'\nretry.outage_max = '10m'");
    assert_eq!(found, [Error::TierRetentionTooShort { retention: span("60s"), needed: span("15m") }]);
}

#[test]
fn a_spread_of_more_than_the_delay() {
    assert_eq!(mistakes("retry.spread_percent = 101"), [Error::SpreadTooWide(101)]);
}

#[test]
fn a_retention_that_fluvio_refuses() {
    let found = mistakes("source.retention = '9s'");
    assert_eq!(found, [Error::RetentionBelowFluvios { path: "source.retention", retention: span("9s") }]);
}

#[test]
fn a_guard_that_forgets_before_dead_letters_are_gone() {
    let found = mistakes("dlq.retention = '30d'");
    assert_eq!(found, [Error::GuardForgetsTooSoon { ttl: span("16d"), needed: span("31d") }]);
}

#[test]
fn a_claim_that_ends_before_the_delivery_does() {
    let found = mistakes("sink.timeout = '60s'");
    assert_eq!(found, [Error::ClaimShorterThanDelivery { ttl: span("60s"), timeout: span("60s") }]);
}

#[test]
fn an_unknown_kind_of_sink() {
    let found = mistakes("sink.kind = 'webhok'");
    assert_eq!(found, [Error::UnknownSinkKind("webhok".into())]);
    assert_eq!(found[0].hint().unwrap(), "the kinds are webhook, topic, stdout");
}

#[test]
fn a_webhook_url_without_a_scheme() {
    assert_eq!(mistakes("sink.url = 'localhost:80'"), [Error::UrlWithoutScheme("localhost:80".into())]);
}

#[test]
fn a_topic_sink_without_a_topic() {
    assert_eq!(mistakes("sink.kind = 'topic'"), [Error::SinkTopicMissing]);
}

#[test]
fn a_topic_sink_with_a_bad_topic() {
    let found = mistakes("sink.kind = 'topic'\nsink.topic = '-x'");
    assert_eq!(found, [Error::SinkTopicName(NameError::DashAtEnd("-x".into()))]);
}

#[test]
fn a_topic_sink_that_feeds_itself() {
    let found = mistakes("sink.kind = 'topic'\nsink.topic = 'geofence-triggers'");
    assert!(matches!(found.as_slice(), [Error::SinkTopicIsOurs(_)]), "{found:?}");
}

#[test]
fn probes_that_begin_later_than_they_may() {
    let found = mistakes("sink.breaker.probe_interval = '1m'");
    assert_eq!(found, [Error::ProbeIntervalAboveMax { interval: span("1m"), max: span("30s") }]);
}

#[test]
fn whatever_must_be_more_than_nothing() {
    let paths = [
        ("retry.ceiling", "0"),
        ("source.idempotency_bucket", "'0s'"),
        ("sink.name", "''"),
        ("sink.timeout", "'0s'"),
        ("sink.in_flight_max", "0"),
        ("sink.breaker.failures_max", "0"),
        ("sink.breaker.probe_interval", "'0s'"),
        ("sink.breaker.blip_delay", "'0s'"),
        ("guard.recent_horizon", "'0s'"),
        ("guard.recent_keys_max", "0"),
        ("limits.window_max", "0"),
        ("limits.window_bytes_max", "0"),
    ];

    let found = paths.map(|(path, nothing)| mistakes(&format!("{path} = {nothing}")));

    assert_eq!(found, paths.map(|(path, _)| vec![Error::Zero { path }]));
}

#[test]
fn a_key_that_does_not_exist() {
    let error = Definition::parse("[retry]\ncieling = 3").unwrap_err();

    assert!(error.to_string().contains("unknown field `cieling`"), "{error}");
}

#[test]
fn every_key_of_the_default_definition_has_a_comment_above_it() {
    let lines: Vec<&str> = eddy_topology::definition::DEFAULT.lines().collect();
    let is_key = |line: &str| line.contains(" = ") && !line.starts_with("# ");

    let bare: Vec<&str> =
        lines.windows(2).filter(|pair| is_key(pair[1]) && !pair[0].starts_with('#')).map(|pair| pair[1]).collect();

    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn a_description_shows_the_whole_topology() {
    let topology = Topology::try_new(&Definition::default()).unwrap();

    assert_eq!(topology.describe(), include_str!("describe.txt"));
}
