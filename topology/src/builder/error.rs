//! The mistakes that a definition can have, each with the path of its key and, where one is known, a way out.

use std::fmt;

use crate::{
    definition::SinkKind,
    names::{NameError, TopicName},
    time::Span,
};

/// Every mistake of a definition; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

/// One mistake of a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that Fluvio refuses, the source's own or one derived from it.
    #[error("`source.topic`: {0}")]
    SourceName(NameError),
    /// A topic needs one.
    #[error("`source.partitions` is 0")]
    NoPartitions,
    /// Something has to be more than nothing.
    #[error("`{path}` is 0")]
    Zero {
        /// Of the key.
        path: &'static str,
    },
    /// Fluvio closes segments no faster.
    #[error("`{path}` is {retention}, {RETENTION_MIN} is the least that Fluvio takes")]
    RetentionBelowFluvios {
        /// Of the key.
        path: &'static str,
        /// What it says.
        retention: Span,
    },
    /// Nothing could ever be retried.
    #[error("`retry.tiers` is empty")]
    NoTiers,
    /// A tier without a wait.
    #[error("`retry.tiers[{index}]` is 0")]
    TierZero {
        /// In the list.
        index: usize,
    },
    /// A tier that does not wait longer than the one before.
    #[error("`retry.tiers[{index}]` is {delay}, not longer than the {before} before it")]
    TiersNotAscending {
        /// In the list.
        index: usize,
        /// What it says.
        delay: Span,
        /// What the one before it says.
        before: Span,
    },
    /// One tier per retry.
    #[error("`retry.ceiling` is {ceiling} and `retry.tiers` has {tiers}; each retry has its tier")]
    CeilingIsNotTiers {
        /// Retries.
        ceiling: u32,
        /// Tiers.
        tiers: usize,
    },
    /// A record would expire before it is due, or during an outage.
    #[error(
        "`retry.retention` is {retention}, shorter than the longest tier and `retry.outage_max` together: {needed}"
    )]
    TierRetentionTooShort {
        /// What it says.
        retention: Span,
        /// The least.
        needed: Span,
    },
    /// More than all of the delay.
    #[error("`retry.spread_percent` is {0}, more than 100")]
    SpreadTooWide(u32),
    /// A word that is no kind of sink.
    #[error("`sink.kind` is `{0}`, which is no kind of sink")]
    UnknownSinkKind(String),
    /// A webhook's target that is no address.
    #[error("`sink.url` is `{0}`, which begins with neither http:// nor https://")]
    UrlWithoutScheme(String),
    /// A topic sink without a topic.
    #[error("`sink.topic` is absent, and a sink of the kind `topic` needs it")]
    SinkTopicMissing,
    /// A topic sink's target that Fluvio refuses.
    #[error("`sink.topic`: {0}")]
    SinkTopicName(NameError),
    /// What is delivered would come in again.
    #[error("`sink.topic` is `{0}`, a topic of this topology: what is delivered would come in again")]
    SinkTopicIsOurs(TopicName),
    /// A first probe that is later than the last.
    #[error("`sink.breaker.probe_interval` is {interval}, longer than `sink.breaker.probe_interval_max`: {max}")]
    ProbeIntervalAboveMax {
        /// What it says.
        interval: Span,
        /// What the other one says.
        max: Span,
    },
    /// The guard would forget an effect before its dead letter is gone, and a replay would repeat it.
    #[error("`guard.durable_ttl` is {ttl}, shorter than `dlq.retention` and `guard.margin` together: {needed}")]
    GuardForgetsTooSoon {
        /// What it says.
        ttl: Span,
        /// The least.
        needed: Span,
    },
    /// The right to send would end while a delivery is on its way.
    #[error("`guard.claim_ttl` is {ttl}, not longer than `sink.timeout`: {timeout}")]
    ClaimShorterThanDelivery {
        /// What it says.
        ttl: Span,
        /// What the other one says.
        timeout: Span,
    },
}

/// The shortest retention that Fluvio takes.
pub(super) const RETENTION_MIN: Span = Span::from_secs(10);

impl Error {
    /// What can be done about it, where that is more than the message says.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::SourceName(NameError::TooLong(name)) => {
                Some(format!("shorten the source's name by {} characters", name.len() - crate::names::NAME_LENGTH_MAX))
            }
            Self::CeilingIsNotTiers { tiers, .. } => {
                Some(format!("set `retry.ceiling` to {tiers}, or change the tiers"))
            }
            Self::TierRetentionTooShort { needed, .. } => Some(format!("set `retry.retention` to {needed} or more")),
            Self::GuardForgetsTooSoon { needed, .. } => Some(format!("set `guard.durable_ttl` to {needed} or more")),
            Self::UnknownSinkKind(_) => {
                Some(format!("the kinds are {}", SinkKind::ALL.map(SinkKind::as_str).join(", ")))
            }
            Self::SourceName(_)
            | Self::NoPartitions
            | Self::Zero { .. }
            | Self::RetentionBelowFluvios { .. }
            | Self::NoTiers
            | Self::TierZero { .. }
            | Self::TiersNotAscending { .. }
            | Self::SpreadTooWide(_)
            | Self::UrlWithoutScheme(_)
            | Self::SinkTopicMissing
            | Self::SinkTopicName(_)
            | Self::SinkTopicIsOurs(_)
            | Self::ProbeIntervalAboveMax { .. }
            | Self::ClaimShorterThanDelivery { .. } => None,
        }
    }
}

impl fmt::Display for Errors {
    /// One mistake per line, each with its hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            let line_break = if number > 0 { "\n" } else { "" };
            write!(f, "{line_break}{error}")?;
            if let Some(hint) = error.hint() {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}
