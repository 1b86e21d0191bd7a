//! The audit: is every record of the source in exactly one place?
//!
//! Conservation is checked per source offset and not by counters, which a crash would make wrong. A collector reads the
//! log and the guard and reports facts; here they are put together. Collect while nothing is moving.
//!
//! After a crash a record may be in two places for a while (a copy on a tier of what has been delivered since); that is
//! reported, and the record counted where it is furthest. What may never happen is that it is nowhere.

use std::collections::BTreeMap;

use eddy_contract::RecordId;
use serde::Serialize;

use crate::letters::Letters;

/// How many ids of each kind a report names.
const NAMED_MAX: usize = 20;

/// Where a record of the source can be, from the least to the most final.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the source, not passed by intake's position.
    Unread,
    /// In the failures topic, not passed by route's position.
    Failures,
    /// On the tier with this index, not passed by its position.
    Tier(usize),
    /// In the dead-letter topic, not closed.
    DeadLetters,
    /// In the parked topic, or closed in the dead-letter topic otherwise than by a replay.
    Parked,
    /// The guard says that its effect has happened.
    Delivered,
}

/// Puts facts together; see the module's documentation.
#[derive(Debug, Default)]
pub struct Audit {
    /// The furthest place of each record of the source, and whether it was seen in another one too.
    records: BTreeMap<RecordId, Found>,
    copies: u64,
    codes: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
struct Found {
    place: Option<Place>,
    is_elsewhere_too: bool,
}

/// What an audit found. Serialised as it is for `--report`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Records in the source.
    #[serde(rename = "in")]
    pub records: u64,
    /// Effects that have happened.
    pub delivered: u64,
    /// Open dead letters.
    pub dead_lettered: u64,
    /// Set aside for a person, or discarded by one.
    pub parked: u64,
    /// Waiting, by tier.
    pub on_tiers: BTreeMap<String, u64>,
    /// Not yet judged: unread, or failed and not routed.
    pub in_flight: u64,
    /// Records that say again what another one says.
    pub copies: u64,
    /// Open dead letters by code.
    pub codes: BTreeMap<String, u64>,
    /// No record is missing.
    pub conserved: bool,
    /// The first records that are nowhere.
    pub missing: Vec<RecordId>,
    /// How many there are.
    pub missing_count: u64,
    /// The first records that are in more than one place.
    pub in_two_places: Vec<RecordId>,
    /// How many there are.
    pub in_two_places_count: u64,
}

impl Audit {
    /// The source holds a record.
    pub fn source(&mut self, id: RecordId) {
        self.records.entry(id).or_default();
    }

    /// A record of the source is in `place`. What the source does not hold, such as the id of a record that was corrupt
    /// where it was found, is no matter of conservation.
    pub fn found(&mut self, id: &RecordId, place: Place) {
        let Some(found) = self.records.get_mut(id) else { return };
        match &found.place {
            Some(before) if *before == place => self.copies += 1,
            Some(before) => {
                found.is_elsewhere_too = true;
                found.place = Some(before.clone().max(place));
            }
            None => found.place = Some(place),
        }
    }

    /// The dead letters, folded.
    pub fn dead_letters(&mut self, letters: &Letters) {
        use eddy_contract::envelope::Resolution;

        self.copies += letters.copies();
        for letter in letters.all() {
            match letter.resolution {
                None => {
                    self.found(&letter.envelope.id, Place::DeadLetters);
                    let code = letter.code().map_or("unknown", |code| code.as_str());
                    *self.codes.entry(code).or_default() += 1;
                }
                // The guard knows what a replay delivered, and the parked topic what was parked.
                Some(Resolution::Replayed | Resolution::Parked | Resolution::Unparked) => {}
                Some(Resolution::Discarded | Resolution::Expired) => self.found(&letter.envelope.id, Place::Parked),
            }
        }
    }

    /// Draws the balance. `tiers` names the tiers in their order.
    pub fn finish(self, tiers: &[String]) -> Report {
        let mut report = Report {
            records: self.records.len() as u64,
            delivered: 0,
            dead_lettered: 0,
            parked: 0,
            on_tiers: tiers.iter().map(|tier| (tier.clone(), 0)).collect(),
            in_flight: 0,
            copies: self.copies,
            codes: self.codes.into_iter().map(|(code, count)| (code.to_owned(), count)).collect(),
            conserved: false,
            missing: Vec::new(),
            missing_count: 0,
            in_two_places: Vec::new(),
            in_two_places_count: 0,
        };
        for (id, found) in self.records {
            if found.is_elsewhere_too {
                report.in_two_places_count += 1;
                report.in_two_places.extend((report.in_two_places.len() < NAMED_MAX).then(|| id.clone()));
            }
            match found.place {
                Some(Place::Delivered) => report.delivered += 1,
                Some(Place::DeadLetters) => report.dead_lettered += 1,
                Some(Place::Parked) => report.parked += 1,
                Some(Place::Tier(tier)) => {
                    let name = tiers.get(tier).cloned().unwrap_or_else(|| tier.to_string());
                    *report.on_tiers.entry(name).or_default() += 1;
                }
                Some(Place::Unread | Place::Failures) => report.in_flight += 1,
                None => {
                    report.missing_count += 1;
                    report.missing.extend((report.missing.len() < NAMED_MAX).then_some(id));
                }
            }
        }
        report.conserved = report.missing_count == 0;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(offset: i64) -> RecordId {
        RecordId { topic: "source".into(), partition: 0, offset, part: 0 }
    }

    fn audit_of(records: i64) -> Audit {
        let mut audit = Audit::default();
        (0..records).for_each(|offset| audit.source(id(offset)));
        audit
    }

    #[test]
    fn every_record_is_counted_in_the_place_where_it_is() {
        let mut audit = audit_of(5);
        let places = [Place::Delivered, Place::DeadLetters, Place::Parked, Place::Tier(1), Place::Failures];
        (0..).zip(places).for_each(|(offset, place)| audit.found(&id(offset), place));

        let report = audit.finish(&["5s".into(), "30s".into()]);

        assert!(report.conserved);
        assert_eq!((report.delivered, report.dead_lettered, report.parked, report.in_flight), (1, 1, 1, 1));
        assert_eq!(report.on_tiers, BTreeMap::from([("5s".into(), 0), ("30s".into(), 1)]));
    }

    #[test]
    fn a_record_that_is_nowhere_is_named() {
        let mut audit = audit_of(2);
        audit.found(&id(0), Place::Delivered);

        let report = audit.finish(&[]);

        assert!(!report.conserved);
        assert_eq!(report.missing, [id(1)]);
    }

    #[test]
    fn a_record_in_two_places_is_named_and_counted_where_it_is_furthest() {
        let mut audit = audit_of(1);
        audit.found(&id(0), Place::Delivered);
        audit.found(&id(0), Place::Tier(0));

        let report = audit.finish(&["5s".into()]);

        assert_eq!((report.delivered, report.on_tiers["5s"]), (1, 0));
        assert_eq!(report.in_two_places, [id(0)]);
    }

    #[test]
    fn two_copies_in_one_place_are_one_record() {
        let mut audit = audit_of(1);
        audit.found(&id(0), Place::Tier(0));
        audit.found(&id(0), Place::Tier(0));

        let report = audit.finish(&["5s".into()]);

        assert_eq!((report.copies, report.in_two_places_count, report.on_tiers["5s"]), (1, 0, 1));
    }

    #[test]
    fn what_the_source_does_not_hold_is_not_counted() {
        let mut audit = audit_of(0);
        audit.found(&id(7), Place::DeadLetters);

        assert_eq!(audit.finish(&[]).dead_lettered, 0);
    }
}
