//! Names of topics, modules and consumers, all derived from the source's. No name is built anywhere else.
//!
//! Fluvio takes 1 to 63 of `[a-z0-9-]`. The derived names are longer than the source's, so the builder checks every
//! one of them before anything is created.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// The longest name that Fluvio takes, characters.
pub const NAME_LENGTH_MAX: usize = 63;

/// The name of a topic: 1 to 63 of `[a-z0-9-]`, no `-` at either end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TopicName(Arc<str>);

/// Why a text cannot be the name of a topic or module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing at all.
    #[error("a name is empty")]
    Empty,
    /// Beyond [`NAME_LENGTH_MAX`].
    #[error("name `{0}` has {length} characters, {NAME_LENGTH_MAX} are the most", length = .0.len())]
    TooLong(String),
    /// A character that Fluvio does not take.
    #[error("name `{name}` contains `{character}`; only a-z, 0-9 and - are allowed")]
    BadCharacter {
        /// The whole text.
        name: String,
        /// The first bad one.
        character: char,
    },
    /// `-` at the beginning or the end.
    #[error("name `{0}` begins or ends with -")]
    DashAtEnd(String),
}

impl TopicName {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// When Fluvio would refuse it.
    pub fn try_new(name: &str) -> Result<Self, NameError> {
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if let Some(character) = name.chars().find(|c| !allowed(*c)) {
            return Err(NameError::BadCharacter { name: name.to_owned(), character });
        }
        if name.starts_with('-') || name.ends_with('-') {
            return Err(NameError::DashAtEnd(name.to_owned()));
        }
        if name.len() > NAME_LENGTH_MAX {
            return Err(NameError::TooLong(name.to_owned()));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a shared text.
    pub fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<TopicName> for String {
    fn from(name: TopicName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl TryFrom<String> for TopicName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Self::try_new(&name)
    }
}

/// Every name that a topology uses, derived from its source's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// What producers write to.
    pub source: TopicName,
    /// Work queue of `classify`.
    pub failures: TopicName,
    /// One topic per tier, in the order of the tiers.
    pub tiers: Vec<TopicName>,
    /// The dead letters.
    pub dlq: TopicName,
    /// Set aside for a person.
    pub parked: TopicName,
    /// Jobs, swaps and commands.
    pub control: TopicName,
    /// The module that judges the source.
    pub validate: TopicName,
    /// The module that judges failures.
    pub classify: TopicName,
}

impl Names {
    /// Derives all names; the second value lists every one that Fluvio would refuse.
    ///
    /// # Errors
    /// All bad names. When the source's own name is bad, only that one.
    pub fn derive(source: &str, tiers: &[Span]) -> Result<Self, Vec<NameError>> {
        let source = TopicName::try_new(source).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        let mut derived = |suffix: &str| {
            TopicName::try_new(&format!("{source}-{suffix}")).unwrap_or_else(|error| {
                errors.push(error);
                source.clone()
            })
        };
        let names = Self {
            failures: derived("failures"),
            tiers: tiers.iter().map(|delay| derived(&format!("retry-{delay}"))).collect(),
            dlq: derived("dlq"),
            parked: derived("parked"),
            control: derived("control"),
            validate: derived("validate"),
            classify: derived("classify"),
            source: source.clone(),
        };
        if errors.is_empty() { Ok(names) } else { Err(errors) }
    }

    /// The data topics, which all have the source's partition count: everything but `control`.
    pub fn data_topics(&self) -> impl Iterator<Item = &TopicName> {
        [&self.source, &self.failures].into_iter().chain(&self.tiers).chain([&self.dlq, &self.parked])
    }

    /// Whether a topic is one of this topology's.
    pub fn has_topic(&self, topic: &TopicName) -> bool {
        self.data_topics().chain([&self.control]).any(|ours| ours == topic)
    }

    /// How long records wait in `topic`, if it is a tier of this source, whether or not a definition still names it.
    pub fn delay_of_tier(&self, topic: &str) -> Option<Span> {
        let delay = topic.strip_prefix(self.source.as_str())?.strip_prefix("-retry-")?;
        // A name that eddy would write otherwise is not eddy's.
        delay.parse().ok().filter(|parsed: &Span| parsed.to_string() == delay)
    }

    /// Under which consumer id the positions of a road through `topic` are stored.
    pub fn consumer_id(&self, topic: &TopicName) -> String {
        format!("eddy-{topic}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_derives_from_the_source() {
        let tiers = [Span::from_secs(5), Span::from_secs(30), Span::from_secs(300)];

        let names = Names::derive("geofence-triggers", &tiers).unwrap();

        let topics: Vec<&str> = names.data_topics().map(TopicName::as_str).collect();
        assert_eq!(
            topics,
            [
                "geofence-triggers",
                "geofence-triggers-failures",
                "geofence-triggers-retry-5s",
                "geofence-triggers-retry-30s",
                "geofence-triggers-retry-5m",
                "geofence-triggers-dlq",
                "geofence-triggers-parked",
            ]
        );
        assert_eq!(names.control.as_str(), "geofence-triggers-control");
        assert_eq!(names.validate.as_str(), "geofence-triggers-validate");
        assert_eq!(names.classify.as_str(), "geofence-triggers-classify");
        assert_eq!(names.consumer_id(&names.failures), "eddy-geofence-triggers-failures");
    }

    #[test]
    fn a_source_that_is_short_enough_may_still_have_derived_names_that_are_not() {
        let source = "a".repeat(55);

        let errors = Names::derive(&source, &[Span::from_secs(5)]).unwrap_err();

        let too_long = ["failures", "retry-5s", "validate", "classify"];
        assert_eq!(errors, too_long.map(|suffix| NameError::TooLong(format!("{source}-{suffix}"))));
    }

    #[test]
    fn a_tier_is_known_by_its_name_whatever_the_definition_says_now() {
        let names = Names::derive("orders", &[Span::from_secs(5)]).unwrap();

        assert_eq!(names.delay_of_tier("orders-retry-5s"), Some(Span::from_secs(5)));
        assert_eq!(names.delay_of_tier("orders-retry-30m"), Some(Span::from_secs(1_800)));
        let foreign = ["orders", "orders-dlq", "orders-retry-", "orders-retry-soon", "orders-retry-60s", "x-retry-5s"];
        assert_eq!(foreign.map(|topic| names.delay_of_tier(topic)), [None; 6]);
    }

    #[test]
    fn names_that_fluvio_refuses_are_refused_here() {
        assert_eq!(TopicName::try_new(""), Err(NameError::Empty));
        assert_eq!(TopicName::try_new("-a"), Err(NameError::DashAtEnd("-a".into())));
        assert_eq!(TopicName::try_new("a-"), Err(NameError::DashAtEnd("a-".into())));
        assert_eq!(TopicName::try_new("Geo_x"), Err(NameError::BadCharacter { name: "Geo_x".into(), character: 'G' }));
        assert!(TopicName::try_new(&"a".repeat(63)).is_ok());
        assert!(TopicName::try_new(&"a".repeat(64)).is_err());
    }
}
