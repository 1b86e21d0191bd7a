//! The journal: what is found again after a torn, damaged or unfinished write.

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const NOW_S: u64 = 1_800_000_000;

fn entry(number: u64) -> Entry {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Entry { key: Key(key), fingerprint: Fingerprint((!number).to_be_bytes()) }
}

fn entries(numbers: std::ops::Range<u64>) -> Vec<Entry> {
    numbers.map(entry).collect()
}

fn open(dir: &TempDir) -> (Journal, Loaded) {
    Journal::open(dir.path(), NOW_S).unwrap()
}

fn file_of(dir: &TempDir, generation: u64) -> File {
    File::options().write(true).open(file_path(dir.path(), generation)).unwrap()
}

#[test]
fn what_was_appended_is_found_again_in_order() {
    let dir = TempDir::new().unwrap();
    let (mut journal, _) = open(&dir);
    journal.append(&entries(0..3), NOW_S).unwrap();
    journal.append(&entries(3..5), NOW_S).unwrap();
    drop(journal);

    let (_, loaded) = open(&dir);

    assert_eq!((loaded.current, loaded.previous), (entries(0..5), vec![]));
}

#[test]
fn half_a_slot_at_the_end_is_overwritten() {
    let dir = TempDir::new().unwrap();
    let (mut journal, _) = open(&dir);
    journal.append(&entries(0..2), NOW_S).unwrap();
    file_of(&dir, 1).set_len(32 + 32 + 7).unwrap();

    let (mut journal, loaded) = open(&dir);
    journal.append(&entries(2..3), NOW_S).unwrap();

    assert_eq!(loaded.current, entries(0..1));
    assert_eq!(open(&dir).1.current, [entry(0), entry(2)]);
}

#[test]
fn a_damaged_slot_does_not_hide_its_neighbours() {
    let dir = TempDir::new().unwrap();
    let (mut journal, _) = open(&dir);
    journal.append(&entries(0..3), NOW_S).unwrap();
    let mut file = file_of(&dir, 1);
    file.seek(SeekFrom::Start(32 + 32 + 20)).unwrap();
    file.write_all(&[0xAA]).unwrap();

    let (_, loaded) = open(&dir);

    assert_eq!(loaded.current, [entry(0), entry(2)]);
}

#[test]
fn entries_of_a_failed_append_can_be_appended_again() {
    let dir = TempDir::new().unwrap();
    let (mut journal, _) = open(&dir);
    journal.append(&entries(0..1), NOW_S).unwrap();
    let mut torn = file_of(&dir, 1);
    torn.seek(SeekFrom::Start(journal.length)).unwrap();
    torn.write_all(&[0x55; 50]).unwrap();

    journal.append(&entries(1..4), NOW_S).unwrap();

    assert_eq!(open(&dir).1.current, entries(0..4));
}

#[test]
fn a_slot_counts_only_in_the_generation_it_was_written_to() {
    let slot = entry_slot(entry(1), NOW_S, 7);

    assert_eq!(parse_entry_slot(&slot, 7), Some(entry(1)));
    assert_eq!(parse_entry_slot(&slot, 8), None);
}

#[test]
fn zeros_are_no_entry() {
    assert_eq!(parse_entry_slot(&[0; 32], 1), None);
}

#[test]
fn the_generation_before_the_current_is_kept_and_older_ones_are_deleted() {
    let dir = TempDir::new().unwrap();
    let (mut journal, _) = open(&dir);
    journal.append(&entries(0..1), NOW_S).unwrap();
    journal.rotate(NOW_S).unwrap();
    journal.append(&entries(1..2), NOW_S).unwrap();
    journal.rotate(NOW_S).unwrap();
    journal.append(&entries(2..3), NOW_S).unwrap();

    let (_, loaded) = open(&dir);

    assert_eq!((loaded.previous, loaded.current), (entries(1..2), entries(2..3)));
    assert_eq!(generations(dir.path()).unwrap(), [2, 3]);
}

#[test]
fn a_crash_while_a_generation_begins_loses_nothing_of_the_one_before() {
    let dir = TempDir::new().unwrap();
    let (mut journal, _) = open(&dir);
    journal.append(&entries(0..2), NOW_S).unwrap();
    fs::write(file_path(dir.path(), 2), [0; 11]).unwrap();

    let (mut journal, loaded) = open(&dir);
    journal.append(&entries(2..3), NOW_S).unwrap();

    assert_eq!((loaded.previous, loaded.current), (entries(0..2), vec![]));
    let (_, loaded) = open(&dir);
    assert_eq!((loaded.previous, loaded.current), (entries(0..2), entries(2..3)));
}

#[test]
fn the_age_of_a_generation_outlives_the_process() {
    let dir = TempDir::new().unwrap();
    drop(open(&dir));

    let (journal, _) = Journal::open(dir.path(), NOW_S + 100).unwrap();

    assert_eq!(journal.age_s(NOW_S + 100), 100);
}

#[test]
fn a_journal_of_a_later_build_is_refused_by_name() {
    let dir = TempDir::new().unwrap();
    drop(open(&dir));
    let mut slot = first_slot(NOW_S, 1);
    slot[7] = VERSION + 1;
    file_of(&dir, 1).write_all(&seal(slot, 1)).unwrap();

    let error = Journal::open(dir.path(), NOW_S).unwrap_err();

    assert!(matches!(error, JournalError::UnknownVersion { version: 2, .. }), "{error}");
}

proptest! {
    /// A crash may cut the file anywhere after the last group that was reported, and leave anything behind that.
    #[test]
    fn after_a_crash_at_any_byte_every_reported_entry_is_there_and_no_other(
        groups in prop::collection::vec(1_u64..6, 1..8),
        reported in 0_usize..8,
        cut in any::<prop::sample::Index>(),
        garbage in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let dir = TempDir::new().unwrap();
        let (mut journal, _) = open(&dir);
        let (mut next, mut reported_entries, mut reported_bytes) = (0, 0, journal.length);
        for (index, size) in groups.iter().enumerate() {
            journal.append(&entries(next..next + size), NOW_S).unwrap();
            next += size;
            if index < reported {
                (reported_entries, reported_bytes) = (next, journal.length);
            }
        }
        let unreported_bytes = journal.length - reported_bytes;
        let kept = reported_bytes + cut.index(unreported_bytes as usize + 1) as u64;
        let mut file = file_of(&dir, 1);
        file.set_len(kept).unwrap();
        file.seek(SeekFrom::Start(kept)).unwrap();
        file.write_all(&garbage).unwrap();

        let (_, loaded) = open(&dir);

        let found = loaded.current.len() as u64;
        prop_assert!(found >= reported_entries, "{found} of {reported_entries}");
        prop_assert_eq!(loaded.current, entries(0..found));
    }

    /// Even when the cut goes through the first slot, nothing is invented and the journal goes on.
    #[test]
    fn a_journal_cut_at_any_byte_at_all_opens_and_goes_on(cut in 0_u64..200) {
        let dir = TempDir::new().unwrap();
        let (mut journal, _) = open(&dir);
        journal.append(&entries(0..5), NOW_S).unwrap();
        file_of(&dir, 1).set_len(cut).unwrap();

        let (mut journal, loaded) = open(&dir);
        journal.append(&[entry(9)], NOW_S).unwrap();

        let found = loaded.current.len() as u64;
        prop_assert_eq!(found, (cut.min(192) / 32).saturating_sub(1));
        prop_assert_eq!(loaded.current, entries(0..found));
        prop_assert_eq!(open(&dir).1.current.last().copied(), Some(entry(9)));
    }
}
