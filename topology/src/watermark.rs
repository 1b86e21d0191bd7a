//! The low-watermark of a partition: the unsettled records in the order of their offsets, and the position below them.
//!
//! Records finish out of order; the position is that of the oldest unfinished one, so a restart reads again everything
//! that may not be durable elsewhere, and never skips. Bounded by whoever fills it, see [`Watermark::span`].

use std::collections::VecDeque;

/// A record's place: a running number, never used twice.
pub(crate) type Seat = u64;

/// Unsettled records `T` and the position below them.
#[derive(Debug)]
pub(crate) struct Watermark<T> {
    /// From the oldest unsettled one; settled ones in between are `None`.
    places: VecDeque<(i64, Option<Box<T>>)>,
    /// Seat of the first place.
    first: Seat,
    /// The next offset to come.
    next: i64,
    unsettled: usize,
}

impl<T> Watermark<T> {
    pub(crate) const fn new(start: i64) -> Self {
        Self { places: VecDeque::new(), first: 0, next: start, unsettled: 0 }
    }

    /// The next offset to read after a restart.
    pub(crate) fn position(&self) -> i64 {
        self.places.front().map_or(self.next, |(offset, _)| *offset)
    }

    /// The next offset that is expected; smaller ones were seen.
    pub(crate) const fn next(&self) -> i64 {
        self.next
    }

    /// Unsettled records.
    pub(crate) const fn unsettled(&self) -> usize {
        self.unsettled
    }

    /// Places from the oldest unsettled record to the newest record: what memory is held for.
    pub(crate) fn span(&self) -> usize {
        self.places.len()
    }

    /// Takes the record at `offset`, which must not be below [`Watermark::next`].
    pub(crate) fn push(&mut self, offset: i64, record: T) -> Seat {
        debug_assert!(offset >= self.next, "offset {offset} comes after {}", self.next);
        self.places.push_back((offset, Some(Box::new(record))));
        self.next = offset + 1;
        self.unsettled += 1;
        self.first + self.places.len() as Seat - 1
    }

    /// Passes an offset that holds no record.
    pub(crate) fn pass(&mut self, offset: i64) {
        self.next = self.next.max(offset + 1);
    }

    /// The unsettled record on `seat`.
    pub(crate) fn get_mut(&mut self, seat: Seat) -> Option<&mut T> {
        let index = usize::try_from(seat.checked_sub(self.first)?).ok()?;
        self.places.get_mut(index)?.1.as_deref_mut()
    }

    /// The unsettled record on `seat`, to look at.
    pub(crate) fn get(&self, seat: Seat) -> Option<&T> {
        let index = usize::try_from(seat.checked_sub(self.first)?).ok()?;
        self.places.get(index)?.1.as_deref()
    }

    /// Settles the record on `seat` and returns it.
    pub(crate) fn settle(&mut self, seat: Seat) -> Option<Box<T>> {
        let index = usize::try_from(seat.checked_sub(self.first)?).ok()?;
        let record = self.places.get_mut(index)?.1.take()?;
        self.unsettled -= 1;
        while let Some((_, None)) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the order of settling, the position is the smallest unsettled offset, or the next to come.
        #[test]
        fn the_position_never_passes_an_unfinished_record(
            gaps in proptest::collection::vec(1_i64..4, 1..60),
            order in proptest::collection::vec(any::<proptest::sample::Index>(), 0..60),
        ) {
            let mut watermark = Watermark::new(100);
            let mut open: Vec<(i64, Seat)> = Vec::new();
            let mut offset = 99;
            for gap in gaps {
                offset += gap;
                open.push((offset, watermark.push(offset, offset)));
            }

            for index in order {
                if open.is_empty() {
                    break;
                }
                let (offset, seat) = open.remove(index.index(open.len()));
                let before = watermark.position();
                prop_assert_eq!(watermark.settle(seat).map(|settled| *settled), Some(offset));
                prop_assert_eq!(watermark.settle(seat), None);
                let smallest = open.iter().map(|(offset, _)| *offset).min();
                prop_assert_eq!(watermark.position(), smallest.unwrap_or(watermark.next()));
                prop_assert!(watermark.position() >= before);
                prop_assert_eq!(watermark.unsettled(), open.len());
            }
        }
    }

    #[test]
    fn a_hole_is_passed_without_settling_what_lies_below_it() {
        let mut watermark = Watermark::new(0);
        let seat = watermark.push(0, ());
        watermark.pass(1);

        assert_eq!(watermark.position(), 0);
        watermark.settle(seat);
        assert_eq!(watermark.position(), 2);
    }
}
