//! The embedded guard: what it still knows after a crash, and what a disk that fails makes of it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::guard::{
    conformance::{self, INTAKE, Subject, answer, claim, effect, lookup, with_other_bytes},
    ledger::Group,
    writer::StoreError,
};

/// Nothing is stored unless somebody hurries.
const NEVER: Duration = Duration::from_secs(3600);

struct InFolder(TempDir);

impl InFolder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }
}

impl Subject for InFolder {
    type Guard = EmbeddedGuard;

    fn open(&self, claim_ttl: Duration) -> EmbeddedGuard {
        EmbeddedGuard::open(self.0.path(), &Settings { claim_ttl, ..Settings::default() }).unwrap()
    }
}

conformance::conformance_tests!(InFolder::new());

/// A disk that can be made to fail after half of the work.
struct Faulty {
    disk: Disk,
    fails: Arc<AtomicBool>,
}

impl Storage for Faulty {
    fn store(&mut self, group: &Group, now_s: u64) -> Result<Option<Reader>, StoreError> {
        if self.fails.load(Ordering::SeqCst) {
            self.disk.failed = true;
            self.disk.journal.append(&group.recent[..group.recent.len() / 2], now_s)?;
            return Err(StoreError::Journal(std::io::ErrorKind::StorageFull.into()));
        }
        self.disk.store(group, now_s)
    }

    fn generation_is_old(&self, now_s: u64) -> bool {
        self.disk.generation_is_old(now_s)
    }

    fn begin_generation(&mut self, now_s: u64) -> Result<(), StoreError> {
        self.disk.begin_generation(now_s)
    }

    fn sweep(&mut self, now_s: u64) -> Result<Option<Reader>, StoreError> {
        self.disk.sweep(now_s)
    }
}

fn open(dir: &Path, settings: &Settings) -> EmbeddedGuard {
    EmbeddedGuard::open(dir, settings).unwrap()
}

fn open_on_faulty_disk(dir: &Path) -> (EmbeddedGuard, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let wrap = |disk| Faulty { disk, fails: Arc::clone(&fails) };
    let guard = EmbeddedGuard::open_on(dir, &Settings::default(), wrap).unwrap();
    (guard, fails)
}

#[tokio::test]
async fn when_the_disk_fails_marks_fail_and_nothing_is_granted() {
    let dir = TempDir::new().unwrap();
    let (guard, fails) = open_on_faulty_disk(dir.path());
    fails.store(true, Ordering::SeqCst);

    guard.mark(&effect("recent"), Horizon::Recent);
    let last = guard.mark(&effect("durable"), Horizon::Durable);

    assert!(!answer(&guard, last).await);
    assert_eq!(claim(&guard, INTAKE, &effect("new")).await, Claim::Unavailable);
    assert_eq!(lookup(&guard, &effect("recent")).await, Claim::Unavailable);
}

#[tokio::test]
async fn when_the_disk_works_again_refused_marks_are_stored_after_all() {
    let dir = TempDir::new().unwrap();
    let (guard, fails) = open_on_faulty_disk(dir.path());
    fails.store(true, Ordering::SeqCst);
    guard.mark(&effect("recent"), Horizon::Recent);
    let refused = guard.mark(&effect("durable"), Horizon::Durable);
    answer(&guard, refused).await;

    fails.store(false, Ordering::SeqCst);
    let later = guard.mark(&effect("later"), Horizon::Recent);
    guard.progress().wait_for(|progress| progress.stored >= later).await.unwrap();

    assert_eq!(claim(&guard, INTAKE, &effect("new")).await, Claim::Granted);
    drop(guard);
    let guard = open(dir.path(), &Settings::default());
    let answers = guard.lookup(&[effect("recent"), effect("durable"), effect("later")]).await;
    assert_eq!(answers, [Claim::Done; 3]);
}

#[tokio::test]
async fn a_mark_is_not_reported_before_it_is_stored() {
    let dir = TempDir::new().unwrap();
    let guard = open(dir.path(), &Settings { group_interval: NEVER, ..Settings::default() });

    let sequence = guard.mark(&effect("k"), Horizon::Recent);

    assert_eq!(guard.progress().borrow().answer(sequence), None);
    assert!(answer(&guard, sequence).await);
}

#[tokio::test]
async fn a_guard_that_is_dropped_stores_what_is_left() {
    let dir = TempDir::new().unwrap();
    let guard = open(dir.path(), &Settings { group_interval: NEVER, ..Settings::default() });
    guard.mark(&effect("recent"), Horizon::Recent);
    guard.mark(&effect("durable"), Horizon::Durable);

    drop(guard);

    let guard = open(dir.path(), &Settings::default());
    assert_eq!(guard.lookup(&[effect("recent"), effect("durable")]).await, [Claim::Done; 2]);
}

#[test]
fn a_second_guard_on_the_same_folder_is_refused() {
    let dir = TempDir::new().unwrap();
    let first = open(dir.path(), &Settings::default());

    let error = EmbeddedGuard::open(dir.path(), &Settings::default()).unwrap_err();

    assert!(matches!(error, OpenError::Lock(LockError::InUse { .. })), "{error}");
    drop(first);
    open(dir.path(), &Settings::default());
}

#[tokio::test]
async fn of_many_recent_effects_the_newest_are_remembered_and_files_do_not_pile_up() {
    let dir = TempDir::new().unwrap();
    let settings = Settings { recent_keys_max: 20, group_interval: NEVER, ..Settings::default() };
    let guard = open(dir.path(), &settings);
    let effects: Vec<GuardedEffect> = (0..100).map(|number| effect(&number.to_string())).collect();
    for effect in &effects {
        let sequence = guard.mark(effect, Horizon::Recent);
        answer(&guard, sequence).await;
    }

    let before = guard.lookup(&effects).await;
    drop(guard);
    let guard = open(dir.path(), &settings);
    let after = guard.lookup(&effects).await;

    assert_eq!(before[90..], [Claim::Done; 10]);
    assert_eq!(before[..80], [Claim::Granted; 80]);
    assert_eq!(after[90..], [Claim::Done; 10]);
    assert_eq!(after[..80], [Claim::Granted; 80]);
    assert!(fs::read_dir(dir.path()).unwrap().count() <= 4, "lock, durable store, two generations");
}

#[tokio::test]
async fn durable_effects_are_forgotten_after_their_time_to_live() {
    let dir = TempDir::new().unwrap();
    let guard = open(dir.path(), &Settings { durable_ttl: Duration::ZERO, ..Settings::default() });

    let sequence = guard.mark(&effect("k"), Horizon::Durable);
    assert!(answer(&guard, sequence).await);

    assert_eq!(lookup(&guard, &effect("k")).await, Claim::Granted);
}

#[test]
fn the_sweep_removes_what_has_expired_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let (mut durable, _) = Durable::open(&dir.path().join("durable.redb")).unwrap();
    let entries: Vec<Entry> = (0..3000).map(|number| Entry::of(&effect(&number.to_string()))).collect();
    durable.commit(&entries[..2500], 100).unwrap();
    durable.commit(&entries[2500..], 200).unwrap();

    let steps: Vec<bool> = (0..4).map(|_| durable.sweep(100).unwrap().is_some()).collect();

    let reader = durable.commit(&[], 0).unwrap();
    let left = entries.iter().filter(|entry| reader.get(entry.key, 0).unwrap().is_some()).count();
    assert_eq!((steps[0], left), (true, 500));
}

#[derive(Debug, Clone)]
enum Step {
    Mark(u8, Horizon),
    Store,
}

fn step() -> impl Strategy<Value = Step> {
    let horizon = prop_oneof![Just(Horizon::Recent), Just(Horizon::Durable)];
    prop_oneof![4 => (0_u8..20, horizon).prop_map(|(key, horizon)| Step::Mark(key, horizon)), 1 => Just(Step::Store)]
}

/// The folder as a crash would leave it: what was stored, and torn bytes of what was being written.
fn crashed_copy(dir: &Path, torn: &[u8]) -> TempDir {
    let copy = TempDir::new().unwrap();
    for file in fs::read_dir(dir).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let journal = copy.path().join("00000001.journal");
    let bytes = [fs::read(&journal).unwrap(), torn.to_vec()].concat();
    fs::write(journal, bytes).unwrap();
    copy
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn after_a_crash_no_reported_mark_is_missing_and_no_other_key_is_done(
        steps in prop::collection::vec(step(), 1..40),
        torn in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let dir = TempDir::new().unwrap();
            let guard = open(dir.path(), &Settings { group_interval: NEVER, ..Settings::default() });
            let (mut marked, mut reported, mut last) = (vec![false; 20], vec![false; 20], 0);
            for step in steps {
                match step {
                    Step::Mark(key, horizon) => {
                        last = guard.mark(&effect(&key.to_string()), horizon);
                        marked[usize::from(key)] = true;
                    }
                    Step::Store => {
                        prop_assert!(answer(&guard, last).await);
                        reported.clone_from(&marked);
                    }
                }
            }

            let copy = crashed_copy(dir.path(), &torn);
            let guard = open(copy.path(), &Settings::default());

            for (number, (marked, reported)) in marked.into_iter().zip(reported).enumerate() {
                let effect = effect(&number.to_string());
                let found = lookup(&guard, &effect).await;
                prop_assert!(!reported || found == Claim::Done, "key {number} was reported and is {found:?}");
                prop_assert!(marked || found == Claim::Granted, "key {number} was never marked and is {found:?}");
                let other = lookup(&guard, &with_other_bytes(&effect)).await;
                prop_assert!(!reported || other == Claim::Conflict, "key {number} with other bytes is {other:?}");
            }
            Ok(())
        })?;
    }
}

const VICTIM_FOLDER: &str = "EDDY_TEST_GUARD_FOLDER";
const VICTIM_ROUND: &str = "EDDY_TEST_GUARD_ROUND";

fn nth_effect(round: &str, number: u64) -> GuardedEffect {
    effect(&format!("{round}-{number}"))
}

/// Marks of the victim that are not reported yet.
const WINDOW: u64 = 200;

/// Not a test of its own: marks, and says what was stored, until it is killed.
#[tokio::test]
#[ignore = "started, and killed, by the test below"]
async fn victim() {
    let (folder, round) = (std::env::var(VICTIM_FOLDER).unwrap(), std::env::var(VICTIM_ROUND).unwrap());
    let guard = open(Path::new(&folder), &Settings { group_interval: Duration::ZERO, ..Settings::default() });
    let (mut progress, mut reported) = (guard.progress(), 0);
    for number in 1.. {
        let horizon = if number % 7 == 0 { Horizon::Durable } else { Horizon::Recent };
        assert_eq!(guard.mark(&nth_effect(&round, number), horizon), number);
        let stored = progress.wait_for(|progress| progress.stored + WINDOW > number).await.unwrap().stored;
        if stored > reported {
            reported = stored;
            println!("\nstored {stored}");
        }
    }
}

/// Starts the victim, lets it report a few times, kills it, and returns the last mark that it reported.
fn marks_reported_before_a_kill(folder: &Path, round: &str, reports: usize) -> u64 {
    let name = format!("{}::victim", module_path!().split_once("::").unwrap().1);
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([&name, "--exact", "--ignored", "--nocapture"])
        .env(VICTIM_FOLDER, folder)
        .env(VICTIM_ROUND, round)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
    let reported = lines.filter_map(|line| line.strip_prefix("stored ")?.parse().ok()).take(reports).last();
    victim.kill().unwrap();
    victim.wait().unwrap();
    reported.expect("at least one report")
}

#[tokio::test]
async fn after_kill_9_every_mark_that_was_reported_is_done() {
    let dir = TempDir::new().unwrap();

    for round in 1..=20_usize {
        let name = round.to_string();
        let reported = marks_reported_before_a_kill(dir.path(), &name, round);

        let guard = open(dir.path(), &Settings::default());
        let effects: Vec<GuardedEffect> = (1..=reported).map(|number| nth_effect(&name, number)).collect();
        let missing = guard.lookup(&effects).await.into_iter().filter(|found| *found != Claim::Done).count();
        assert_eq!(missing, 0, "of {reported} in round {round}");
        assert_eq!(lookup(&guard, &nth_effect(&name, u64::MAX)).await, Claim::Granted);
    }
}
