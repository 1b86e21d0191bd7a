//! What to do when a judged stream does not give the next record. Decides only; reads nothing.
//!
//! A broker hides faults well: an output that does not fit is skipped to the end of the log without a word, a trap
//! takes the good neighbours of its read along and names no offset, and a chain that has put out half a gigabyte
//! dies for no reason of its records. So the first answer to a fault is a new stream at the same offset with room for
//! the very batch that comes next: more than before if its output did not fit, less if it did, because then an answer
//! covers few batches, comes soon, and the next fault is close to its cause. If the record is still missing, there is
//! more and more room; if the module still fails, or nothing else helped, the batch is judged natively, and the stream
//! goes on behind it. While that does not help either, natively judged stretches double.

/// The room of an ordinary stream: eight times the largest request of a default producer. The broker fills it while
/// it has a backlog, so it is also what one answer costs in memory.
pub(super) const ROOM_BYTES: usize = 8 << 20;

/// The largest room: twice the largest request that a broker accepts.
const ROOM_BYTES_MAX: usize = 64 << 20;

/// What a verdict header is thought to add to a record. More costs another fault, not a record.
const HEADER_BYTES: usize = 256;

/// Faults at one offset after which nothing but judging natively is tried.
const FAULTS_MAX: u32 = 4;

/// The longest stretch that is judged natively before the module gets another chance, batches.
const STRETCH_MAX: usize = 64;

/// Good answers after which a stream is given its ordinary room again.
const GOOD_ANSWERS: u32 = 64;

/// What went wrong at the next offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The log has the record and the stream does not give it.
    Missing,
    /// The module failed somewhere in the read, or put out something that is no verdict.
    Module,
    /// The module refused the very record that comes next.
    Record,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cure {
    /// Open the stream anew at the same offset, with the room that is now right.
    Reopen,
    /// Judge this many batches natively, then open the stream behind them.
    JudgeNatively { batches: usize },
}

/// The batch that holds the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) records: usize,
    pub(super) bytes: usize,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Recovery {
    room: usize,
    /// The room is made for one batch.
    narrow: bool,
    good_answers: u32,
    /// The offset of the last fault, and how many there were at it.
    fault_at: Option<i64>,
    faults: u32,
    stretch: usize,
}

impl Recovery {
    pub(super) const fn new() -> Self {
        Self { room: ROOM_BYTES, narrow: false, good_answers: 0, fault_at: None, faults: 0, stretch: 1 }
    }

    /// `max_bytes` of the next stream.
    pub(super) const fn room(&self) -> usize {
        self.room
    }

    /// How many faults there were at the present offset; patience with a stall grows with it.
    pub(super) const fn faults(&self) -> u32 {
        self.faults
    }

    /// An answer with verdicts came.
    pub(super) const fn progressed(&mut self) {
        self.good_answers += 1;
        self.faults = 0;
        self.fault_at = None;
        self.stretch = 1;
    }

    /// Whether the stream has earned its ordinary room again; it takes effect with the next stream.
    pub(super) fn widen(&mut self, caught_up: bool) -> bool {
        if !self.narrow || (self.good_answers < GOOD_ANSWERS && !caught_up) {
            return false;
        }
        self.narrow = false;
        // Where one batch was large, others will be.
        self.room = self.room.max(ROOM_BYTES);
        true
    }

    /// Decides what to do about a fault at `position`; `batch` is the one that holds it.
    pub(super) fn cure(&mut self, position: i64, fault: Fault, batch: Size) -> Cure {
        if self.fault_at != Some(position) {
            self.fault_at = Some(position);
            self.faults = 0;
        }
        self.faults += 1;
        self.good_answers = 0;
        let fits = batch.bytes * 2 + batch.records * HEADER_BYTES;
        match fault {
            Fault::Missing if self.faults == 1 => self.reopen(fits),
            Fault::Missing if self.faults < FAULTS_MAX => self.reopen(self.room * 4),
            Fault::Module if self.faults < FAULTS_MAX && !self.narrow => self.reopen(fits),
            Fault::Missing | Fault::Module | Fault::Record => {
                let batches = self.stretch;
                self.stretch = (self.stretch * 2).min(STRETCH_MAX);
                Cure::JudgeNatively { batches }
            }
        }
    }

    fn reopen(&mut self, room: usize) -> Cure {
        self.room = room.min(ROOM_BYTES_MAX);
        self.narrow = true;
        Cure::Reopen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Size = Size { records: 10, bytes: 16_000 };

    #[test]
    fn a_silent_stream_gets_room_for_the_next_batch_then_more_and_then_no_other_chance() {
        let mut recovery = Recovery::new();

        let tries: Vec<_> = (0..4).map(|_| (recovery.cure(7, Fault::Missing, BATCH), recovery.room())).collect();

        let fits = BATCH.bytes * 2 + BATCH.records * HEADER_BYTES;
        let natively = (Cure::JudgeNatively { batches: 1 }, fits * 16);
        assert_eq!(tries, [(Cure::Reopen, fits), (Cure::Reopen, fits * 4), (Cure::Reopen, fits * 16), natively]);
    }

    #[test]
    fn a_huge_batch_gets_the_room_it_needs_at_once() {
        let mut recovery = Recovery::new();

        recovery.cure(7, Fault::Missing, Size { records: 1, bytes: 30 << 20 });

        assert!(recovery.room() > 60 << 20);
    }

    #[test]
    fn a_module_that_fails_is_tried_on_few_batches_before_one_is_judged_natively() {
        let mut recovery = Recovery::new();

        assert_eq!(recovery.cure(0, Fault::Module, BATCH), Cure::Reopen);
        assert!(recovery.room() < ROOM_BYTES / 100);
        assert_eq!(recovery.cure(0, Fault::Module, BATCH), Cure::JudgeNatively { batches: 1 });
    }

    #[test]
    fn a_chain_that_died_of_its_output_is_only_reopened() {
        let mut recovery = Recovery::new();

        recovery.progressed();
        assert_eq!(recovery.cure(1_000_000, Fault::Module, BATCH), Cure::Reopen);
        recovery.progressed();

        assert_eq!(recovery.cure(2_000_000, Fault::Missing, BATCH), Cure::Reopen);
    }

    #[test]
    fn a_record_that_the_module_refuses_is_judged_natively_at_once() {
        assert_eq!(Recovery::new().cure(5, Fault::Record, BATCH), Cure::JudgeNatively { batches: 1 });
    }

    #[test]
    fn stretches_double_while_the_module_never_succeeds_and_start_again_when_it_does() {
        let mut recovery = Recovery::new();
        recovery.cure(0, Fault::Module, BATCH);

        let stretches: Vec<_> = (0..4).map(|at| recovery.cure(at, Fault::Module, BATCH)).collect();
        recovery.progressed();

        let natively = |batches| Cure::JudgeNatively { batches };
        assert_eq!(stretches, [natively(1), natively(2), natively(4), natively(8)]);
        assert_eq!(recovery.cure(99, Fault::Module, BATCH), natively(1));
    }

    #[test]
    fn faults_of_changing_kind_at_one_offset_come_to_an_end() {
        let mut recovery = Recovery::new();
        let faults = [Fault::Module, Fault::Missing, Fault::Missing, Fault::Missing];

        let cures: Vec<_> = faults.map(|fault| recovery.cure(3, fault, BATCH)).into();

        assert_eq!(cures.last(), Some(&Cure::JudgeNatively { batches: 1 }));
    }

    #[test]
    fn a_stream_gets_its_ordinary_room_back_after_good_answers_or_when_it_has_caught_up() {
        let mut recovery = Recovery::new();
        recovery.cure(0, Fault::Module, BATCH);

        assert!(!recovery.widen(false));
        (0..GOOD_ANSWERS).for_each(|_| recovery.progressed());
        assert!(recovery.widen(false));
        assert_eq!(recovery.room(), ROOM_BYTES);

        recovery.cure(9, Fault::Module, BATCH);
        assert!(recovery.widen(true));
    }
}
