//! Lanes: records with one key go one after the other, records with different keys side by side.
//!
//! A lane exists as long as a record is in it. Only who is last in a lane and who follows whom is kept, so a key that
//! does not repeat costs one entry and no queue.

use std::collections::HashMap;

use bytes::Bytes;

use crate::watermark::Seat;

/// The lanes of one engine.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    last: HashMap<Bytes, Seat>,
    followers: HashMap<Seat, Seat>,
}

impl Lanes {
    /// Puts the record on `seat` at the end of a lane; says whether it may go at once.
    pub(crate) fn enter(&mut self, lane: Bytes, seat: Seat) -> bool {
        match self.last.insert(lane, seat) {
            None => true,
            Some(before) => {
                self.followers.insert(before, seat);
                false
            }
        }
    }

    /// Takes the record on `seat`, the first of its lane, out; returns who may go now.
    pub(crate) fn leave(&mut self, lane: &Bytes, seat: Seat) -> Option<Seat> {
        let follower = self.followers.remove(&seat);
        if follower.is_none() {
            self.last.remove(lane);
        }
        follower
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_key_go_one_after_the_other() {
        let mut lanes = Lanes::default();
        let lane = Bytes::from_static(b"device-1");

        assert!(lanes.enter(lane.clone(), 1));
        assert!(!lanes.enter(lane.clone(), 2));
        assert!(!lanes.enter(lane.clone(), 3));
        assert_eq!([1, 2, 3].map(|seat| lanes.leave(&lane, seat)), [Some(2), Some(3), None]);
        assert!(lanes.enter(lane, 4));
    }

    #[test]
    fn records_of_different_keys_do_not_wait_for_each_other() {
        let mut lanes = Lanes::default();

        let may_go = [&b"a"[..], b"b", b""].map(|key| lanes.enter(Bytes::from_static(key), key.len() as u64));

        assert_eq!(may_go, [true; 3]);
    }

    #[test]
    fn a_lane_that_is_empty_holds_no_memory() {
        let mut lanes = Lanes::default();
        let lane = Bytes::from_static(b"device-1");

        lanes.enter(lane.clone(), 1);
        lanes.enter(lane.clone(), 2);
        lanes.leave(&lane, 1);
        lanes.leave(&lane, 2);

        assert!(lanes.last.is_empty() && lanes.followers.is_empty());
    }
}
