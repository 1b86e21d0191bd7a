//! Looks for mistakes, section by section. No check stops another.

use super::error::{Error, Errors, RETENTION_MIN};
use crate::{
    definition::{
        Definition, GuardDefinition, LimitsDefinition, RetryDefinition, SinkDefinition, SinkKind, SourceDefinition,
    },
    names::{Names, TopicName},
    time::Span,
};

/// Checks everything, and returns what the check found out on the way.
pub(super) fn all(definition: &Definition) -> Result<(Names, SinkKind), Errors> {
    let mut errors = Vec::new();
    let names = names(definition, &mut errors);
    source(&definition.source, &mut errors);
    retry(&definition.retry, &mut errors);
    let kind = sink(&definition.sink, names.as_ref(), &mut errors);
    breaker(&definition.sink, &mut errors);
    guard(&definition.guard, definition, &mut errors);
    retention("dlq.retention", definition.dlq.retention, &mut errors);
    retention("parked.retention", definition.parked.retention, &mut errors);
    limits(&definition.limits, &mut errors);
    match (names, kind) {
        (Some(names), Some(kind)) if errors.is_empty() => Ok((names, kind)),
        _ => Err(Errors(errors)),
    }
}

fn names(definition: &Definition, errors: &mut Vec<Error>) -> Option<Names> {
    Names::derive(&definition.source.topic, &definition.retry.tiers)
        .map_err(|bad| errors.extend(bad.into_iter().map(Error::SourceName)))
        .ok()
}

fn source(source: &SourceDefinition, errors: &mut Vec<Error>) {
    errors.extend((source.partitions == 0).then_some(Error::NoPartitions));
    not_zero("source.idempotency_bucket", source.idempotency_bucket.is_zero(), errors);
    retention("source.retention", source.retention, errors);
}

fn retry(retry: &RetryDefinition, errors: &mut Vec<Error>) {
    let tiers = &retry.tiers;
    errors.extend(tiers.is_empty().then_some(Error::NoTiers));
    for (index, delay) in tiers.iter().copied().enumerate() {
        errors.extend(delay.is_zero().then_some(Error::TierZero { index }));
        let before = index.checked_sub(1).map_or(Span::default(), |before| tiers[before]);
        errors.extend((index > 0 && delay <= before).then_some(Error::TiersNotAscending { index, delay, before }));
    }
    not_zero("retry.ceiling", retry.ceiling == 0, errors);
    if retry.ceiling > 0 && !tiers.is_empty() && retry.ceiling as usize != tiers.len() {
        errors.push(Error::CeilingIsNotTiers { ceiling: retry.ceiling, tiers: tiers.len() });
    }
    let longest = tiers.iter().copied().max().unwrap_or_default();
    let needed = sum(longest, retry.outage_max).max(RETENTION_MIN);
    if retry.retention < needed {
        errors.push(Error::TierRetentionTooShort { retention: retry.retention, needed });
    }
    errors.extend((retry.spread_percent > 100).then_some(Error::SpreadTooWide(retry.spread_percent)));
}

fn sink(sink: &SinkDefinition, names: Option<&Names>, errors: &mut Vec<Error>) -> Option<SinkKind> {
    not_zero("sink.name", sink.name.is_empty(), errors);
    not_zero("sink.timeout", sink.timeout.is_zero(), errors);
    not_zero("sink.in_flight_max", sink.in_flight_max == Some(0), errors);
    let kind = SinkKind::from_word(&sink.kind);
    match kind {
        None => errors.push(Error::UnknownSinkKind(sink.kind.clone())),
        Some(SinkKind::Webhook) => {
            let bad = |url: &&String| !url.starts_with("http://") && !url.starts_with("https://");
            errors.extend(sink.url.as_ref().filter(bad).map(|url| Error::UrlWithoutScheme(url.clone())));
        }
        Some(SinkKind::Topic) => errors.extend(sink_topic(sink.topic.as_deref(), names)),
        Some(SinkKind::Stdout) => {}
    }
    kind
}

fn sink_topic(topic: Option<&str>, names: Option<&Names>) -> Option<Error> {
    let Some(topic) = topic else { return Some(Error::SinkTopicMissing) };
    match TopicName::try_new(topic) {
        Err(error) => Some(Error::SinkTopicName(error)),
        Ok(topic) => names.is_some_and(|names| names.has_topic(&topic)).then_some(Error::SinkTopicIsOurs(topic)),
    }
}

fn breaker(sink: &SinkDefinition, errors: &mut Vec<Error>) {
    let breaker = &sink.breaker;
    not_zero("sink.breaker.failures_max", breaker.failures_max == 0, errors);
    not_zero("sink.breaker.probe_interval", breaker.probe_interval.is_zero(), errors);
    not_zero("sink.breaker.blip_delay", breaker.blip_delay.is_zero(), errors);
    let (interval, max) = (breaker.probe_interval, breaker.probe_interval_max);
    errors.extend((interval > max).then_some(Error::ProbeIntervalAboveMax { interval, max }));
}

fn guard(guard: &GuardDefinition, definition: &Definition, errors: &mut Vec<Error>) {
    not_zero("guard.recent_horizon", guard.recent_horizon.is_zero(), errors);
    not_zero("guard.recent_keys_max", guard.recent_keys_max == 0, errors);
    let (ttl, needed) = (guard.durable_ttl, sum(definition.dlq.retention, guard.margin));
    errors.extend((ttl < needed).then_some(Error::GuardForgetsTooSoon { ttl, needed }));
    let (ttl, timeout) = (guard.claim_ttl, definition.sink.timeout);
    errors.extend((ttl <= timeout).then_some(Error::ClaimShorterThanDelivery { ttl, timeout }));
}

fn limits(limits: &LimitsDefinition, errors: &mut Vec<Error>) {
    not_zero("limits.window_max", limits.window_max == 0, errors);
    not_zero("limits.window_bytes_max", limits.window_bytes_max == 0, errors);
}

fn retention(path: &'static str, retention: Span, errors: &mut Vec<Error>) {
    errors.extend((retention < RETENTION_MIN).then_some(Error::RetentionBelowFluvios { path, retention }));
}

fn not_zero(path: &'static str, is_zero: bool, errors: &mut Vec<Error>) {
    errors.extend(is_zero.then_some(Error::Zero { path }));
}

const fn sum(one: Span, other: Span) -> Span {
    Span::from_ms(one.as_ms().unsigned_abs() + other.as_ms().unsigned_abs())
}
