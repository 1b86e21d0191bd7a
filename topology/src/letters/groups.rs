//! Groups: dead letters of one cause, so that a person reads five lines and not ninety thousand.
//!
//! One cause is one signature: stage, class, status and the message with its numbers blanked. A signature may end for
//! several reasons (retries used up, or never known to be worth one), so a group counts its reasons.

use std::collections::BTreeMap;

use eddy_contract::RecordId;
use serde::Serialize;

use super::Letter;
use crate::filter::TimeField;

/// Letters with the same signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Of the last failure; empty where there was none.
    pub signature: String,
    /// How many.
    pub count: u64,
    /// When the first of them became a dead letter, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<i64>,
    /// When the last of them did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<i64>,
    /// The newest of them: the likeliest to fail the same way once more.
    pub sample: RecordId,
    /// How many have which reason.
    pub reasons: BTreeMap<String, u64>,
}

impl Group {
    /// The commonest reason; of equals the first by name.
    pub fn reason(&self) -> Option<&str> {
        let commonest = self.reasons.iter().rev().max_by_key(|(_, count)| **count);
        commonest.map(|(reason, _)| reason.as_str())
    }

    fn new(signature: &str, first: &Letter) -> Self {
        Self {
            signature: signature.to_owned(),
            count: 0,
            first_ms: None,
            last_ms: None,
            sample: first.envelope.id.clone(),
            reasons: BTreeMap::new(),
        }
    }

    fn add(&mut self, letter: &Letter) {
        let at_ms = TimeField::Quarantined.of(&letter.envelope);
        self.count += 1;
        if at_ms > self.last_ms {
            self.sample.clone_from(&letter.envelope.id);
        }
        self.last_ms = self.last_ms.max(at_ms);
        self.first_ms = self.first_ms.into_iter().chain(at_ms).min();
        if let Some(reason) = &letter.envelope.reason {
            match self.reasons.get_mut(reason) {
                Some(count) => *count += 1,
                None => drop(self.reasons.insert(reason.clone(), 1)),
            }
        }
    }
}

/// Groups letters by signature, the largest group first.
pub fn groups<'a>(letters: impl IntoIterator<Item = &'a Letter>) -> Vec<Group> {
    let mut by_signature: BTreeMap<&str, Group> = BTreeMap::new();
    for letter in letters {
        let signature = letter.envelope.failures.last().map_or("", |failure| failure.signature.as_str());
        by_signature.entry(signature).or_insert_with(|| Group::new(signature, letter)).add(letter);
    }
    let mut groups: Vec<Group> = by_signature.into_values().collect();
    // The sort is stable: groups of one size stay in the order of their signatures.
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

#[cfg(test)]
mod tests {
    use super::{super::sample::letter, *};

    #[test]
    fn letters_of_one_signature_are_one_group_and_the_largest_comes_first() {
        let letters = [letter(1, "a", "terminal:rejected"), letter(2, "b", "r"), letter(3, "b", "r")];

        let found = groups(&letters);

        let counted: Vec<_> = found.iter().map(|group| (group.signature.as_str(), group.count)).collect();
        assert_eq!(counted, [("b", 2), ("a", 1)]);
        assert_eq!(found[1].reason(), Some("terminal:rejected"));
    }

    #[test]
    fn a_group_knows_when_it_was_first_and_last_seen_and_its_newest_letter() {
        let letters = [letter(20, "a", "r"), letter(30, "a", "r"), letter(10, "a", "r")];

        let group = &groups(&letters)[0];

        assert_eq!((group.first_ms, group.last_ms), (Some(10), Some(30)));
        assert_eq!(group.sample, letters[1].envelope.id);
    }

    #[test]
    fn a_group_counts_its_reasons_and_names_the_commonest() {
        let letters = [letter(1, "a", "x"), letter(2, "a", "y"), letter(3, "a", "y")];

        let group = &groups(&letters)[0];

        assert_eq!(group.reason(), Some("y"));
        assert_eq!(group.reasons, BTreeMap::from([("x".to_owned(), 1), ("y".to_owned(), 2)]));
    }

    #[test]
    fn of_equally_common_reasons_the_first_by_name_is_said() {
        let letters = [letter(1, "a", "y"), letter(2, "a", "x")];

        assert_eq!(groups(&letters)[0].reason(), Some("x"));
    }

    #[test]
    fn letters_without_a_failure_are_a_group_of_their_own() {
        let mut unknown = letter(1, "a", "r");
        unknown.envelope.failures.clear();
        unknown.envelope.quarantined_at_ns = None;

        let found = groups([&unknown]);

        assert_eq!((found[0].signature.as_str(), found[0].count, found[0].first_ms), ("", 1, None));
        assert_eq!(found[0].sample, unknown.envelope.id);
    }
}
