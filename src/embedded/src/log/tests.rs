//! What the log promises: order, durability, recovery, retention.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use fluvio_protocol::record::Record;
use tempfile::TempDir;

use super::{AppendError, Log, LogConfig, OffsetError, Slice, Tail};
use crate::wire::{Batch, Builder};

const SMALL_SEGMENTS: LogConfig =
    LogConfig { segment_bytes_max: 400, partition_bytes_max: u64::MAX, retention_secs: u64::MAX };

/// A log in a folder that ends with the test.
struct Scene {
    dir: TempDir,
    config: LogConfig,
    log: Arc<Log>,
}

impl Scene {
    fn new(config: LogConfig) -> Self {
        let dir = TempDir::new().unwrap();
        let log = Arc::new(Log::open(dir.path(), config).unwrap());
        Self { dir, config, log }
    }

    /// Forgets everything but the files, as a kill does.
    fn killed(self) -> Self {
        let Self { dir, config, log } = self;
        drop(log);
        let log = Arc::new(Log::open(dir.path(), config).unwrap());
        Self { dir, config, log }
    }

    async fn append(&self, records: &[&str]) -> i64 {
        self.log.append(vec![batch(records)]).await.unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    fn last_file(&self) -> PathBuf {
        self.files().pop().unwrap()
    }

    /// Every record that can be read from the offset on, segment after segment.
    fn read_from(&self, mut offset: i64) -> Vec<(i64, String)> {
        let mut read = Vec::new();
        while offset < self.log.end_offset() {
            for batch in batches(&self.log.whole_slice(offset, 1).unwrap()) {
                offset = batch.end_offset();
                read.extend(records_of(&batch));
            }
        }
        read
    }
}

fn batch(values: &[&str]) -> Batch {
    let mut builder = Builder::default();
    for (delta, value) in values.iter().enumerate() {
        let mut record = Record::new(*value);
        record.preamble.set_offset_delta(delta as i64);
        builder.push(&record, 0);
    }
    let mut bytes = builder.finish(0, values.len() as i64).into();
    Batch::split_from(&mut bytes).unwrap()
}

fn batches(slice: &Slice) -> Vec<Batch> {
    Batch::split_all(slice.read().unwrap()).unwrap()
}

fn records_of(batch: &Batch) -> Vec<(i64, String)> {
    let records: Vec<Record> = fluvio_protocol::Decoder::decode_from(&mut batch.records(), 0).unwrap();
    records
        .iter()
        .map(|record| {
            (batch.base_offset() + record.preamble.offset_delta(), String::from_utf8_lossy(&record.value).into_owned())
        })
        .collect()
}

fn numbered(values: &[&str]) -> Vec<(i64, String)> {
    values.iter().enumerate().map(|(at, value)| (at as i64, (*value).to_owned())).collect()
}

#[tokio::test]
async fn records_come_back_at_consecutive_offsets_in_the_order_they_were_appended() {
    let scene = Scene::new(LogConfig::default());

    assert_eq!(scene.append(&["a", "b"]).await, 0);
    assert_eq!(scene.append(&["c"]).await, 2);

    assert_eq!(scene.read_from(0), numbered(&["a", "b", "c"]));
    assert_eq!((scene.log.start_offset(), scene.log.end_offset()), (0, 3));
}

#[tokio::test]
async fn appends_take_their_place_when_they_are_called_however_late_they_are_awaited() {
    let scene = Scene::new(LogConfig::default());

    let waiting: Vec<_> = (0..50).map(|_| scene.log.append(vec![batch(&["x"])])).collect();
    let mut offsets = Vec::new();
    for append in waiting.into_iter().rev() {
        offsets.push(append.await.unwrap());
    }

    assert_eq!(offsets, (0..50).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a", "b"]).await;
    scene.append(&["c"]).await;

    let scene = scene.killed();

    assert_eq!(scene.read_from(0), numbered(&["a", "b", "c"]));
    assert_eq!(scene.append(&["d"]).await, 3);
}

#[tokio::test]
async fn what_readers_can_see_is_in_the_file() {
    let scene = Scene::new(LogConfig::default());
    let mut tail = scene.log.tail();
    let append = tokio::spawn(scene.log.append(vec![batch(&["a"])]));

    tail.wait_for(|tail| *tail == Tail::Open(1)).await.unwrap();

    assert_eq!(fs::metadata(scene.last_file()).unwrap().len(), scene.log.size_bytes());
    assert_eq!(append.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn a_torn_write_is_cut_and_the_log_goes_on_before_it() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a"]).await;
    let whole = fs::read(scene.last_file()).unwrap();
    scene.append(&["torn"]).await;
    let torn = fs::metadata(scene.last_file()).unwrap().len() - 1;
    OpenOptions::new().write(true).open(scene.last_file()).unwrap().set_len(torn).unwrap();

    let scene = scene.killed();

    assert_eq!(fs::read(scene.last_file()).unwrap(), whole);
    assert_eq!(scene.append(&["b"]).await, 1);
    assert_eq!(scene.killed().read_from(0), numbered(&["a", "b"]));
}

#[tokio::test]
async fn a_flipped_bit_in_the_last_batch_is_found_and_the_batch_cut() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a"]).await;
    scene.append(&["flipped"]).await;
    let mut bytes = fs::read(scene.last_file()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(scene.last_file(), bytes).unwrap();

    let scene = scene.killed();

    assert_eq!(scene.read_from(0), numbered(&["a"]));
    assert_eq!(scene.append(&["b"]).await, 1);
}

#[tokio::test]
async fn zeros_that_a_crash_left_behind_the_end_are_cut() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a"]).await;
    let file = OpenOptions::new().write(true).open(scene.last_file()).unwrap();
    file.write_all_at(&[0; 4096], file.metadata().unwrap().len()).unwrap();

    assert_eq!(scene.killed().read_from(0), numbered(&["a"]));
}

#[tokio::test]
async fn a_sound_batch_of_another_place_is_not_taken_for_ours() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a"]).await;
    let again = fs::read(scene.last_file()).unwrap();
    let file = OpenOptions::new().write(true).open(scene.last_file()).unwrap();
    file.write_all_at(&again, again.len() as u64).unwrap();

    assert_eq!(scene.killed().read_from(0), numbered(&["a"]));
}

#[tokio::test]
async fn damage_in_a_closed_segment_makes_a_hole_and_costs_nothing_behind_it() {
    let scene = Scene::new(SMALL_SEGMENTS);
    let value = "v".repeat(300);
    for _ in 0..3 {
        scene.append(&[&value]).await;
    }
    let damaged = &scene.files()[1];
    fs::write(damaged, b"not a batch").unwrap();

    let scene = scene.killed();

    let offsets: Vec<_> = scene.read_from(0).into_iter().map(|(offset, _)| offset).collect();
    assert_eq!(offsets, [0, 2]);
    assert_eq!(scene.append(&["next"]).await, 3);
    assert_eq!(fs::read(&scene.files()[1]).unwrap(), b"not a batch", "kept for a person to look at");
}

#[tokio::test]
async fn a_segment_is_closed_before_it_would_grow_too_large() {
    let scene = Scene::new(SMALL_SEGMENTS);
    let value = "v".repeat(150);

    for _ in 0..5 {
        scene.append(&[&value]).await;
    }

    let sizes: Vec<_> = scene.files().iter().map(|file| fs::metadata(file).unwrap().len()).collect();
    assert!(sizes.len() > 1 && sizes.iter().all(|size| *size <= SMALL_SEGMENTS.segment_bytes_max), "{sizes:?}");
    assert_eq!(scene.killed().read_from(0).len(), 5);
}

#[tokio::test]
async fn a_batch_larger_than_a_segment_is_refused() {
    let scene = Scene::new(SMALL_SEGMENTS);

    let refused = scene.log.append(vec![batch(&[&"v".repeat(500)])]).await;

    assert!(matches!(refused, Err(AppendError::TooLarge)));
    assert_eq!(scene.append(&["small"]).await, 0);
}

#[tokio::test]
async fn a_log_that_could_not_write_once_takes_no_more() {
    let scene = Scene::new(SMALL_SEGMENTS);
    scene.append(&["a"]).await;
    fs::remove_dir_all(scene.dir.path()).unwrap();

    let failed = scene.log.append(vec![batch(&[&"v".repeat(300)])]).await;
    let later = scene.log.append(vec![batch(&["b"])]).await;

    assert!(matches!(failed, Err(AppendError::Storage(_))), "{failed:?}");
    assert!(matches!(later, Err(AppendError::ShortCircuited)), "{later:?}");
    assert_eq!(scene.log.end_offset(), 1);
}

#[tokio::test]
async fn retention_by_size_deletes_the_oldest_closed_segments_and_never_the_last() {
    let scene = Scene::new(LogConfig { partition_bytes_max: 1, ..SMALL_SEGMENTS });
    let value = "v".repeat(300);
    for _ in 0..3 {
        scene.append(&[&value]).await;
    }

    scene.log.clean(SystemTime::now()).unwrap();

    assert_eq!(scene.log.start_offset(), 2);
    assert_eq!(scene.files().len(), 1);
    assert_eq!(scene.log.check(1), Err(OffsetError::Evicted { offset: 1, next_available: 2 }));
    let scene = scene.killed();
    assert_eq!((scene.log.start_offset(), scene.log.end_offset()), (2, 3));
}

#[tokio::test]
async fn retention_by_age_deletes_closed_segments_only_when_they_are_old() {
    let scene = Scene::new(LogConfig { retention_secs: 10, ..SMALL_SEGMENTS });
    let value = "v".repeat(300);
    for _ in 0..2 {
        scene.append(&[&value]).await;
    }

    scene.log.clean(SystemTime::now()).unwrap();
    assert_eq!(scene.log.start_offset(), 0);

    scene.log.clean(SystemTime::now() + Duration::from_secs(60)).unwrap();
    assert_eq!(scene.log.start_offset(), 1);
}

#[tokio::test]
async fn a_slice_stays_readable_after_its_segment_was_deleted() {
    let scene = Scene::new(LogConfig { partition_bytes_max: 1, ..SMALL_SEGMENTS });
    let value = "v".repeat(300);
    scene.append(&[&value]).await;
    let slice = scene.log.cut_slice(0, u64::MAX).unwrap();
    scene.append(&[&value]).await;

    scene.log.clean(SystemTime::now()).unwrap();

    assert_eq!(records_of(&batches(&slice)[0]), [(0, value)]);
}

#[tokio::test]
async fn a_cut_slice_starts_with_the_batch_that_holds_the_offset_and_ends_anywhere() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a", "b", "c"]).await;
    scene.append(&["d"]).await;

    let slice = scene.log.cut_slice(2, 70).unwrap().read().unwrap();

    assert_eq!(slice.len(), 70);
    assert_eq!(slice, scene.log.cut_slice(0, 70).unwrap().read().unwrap());
}

#[tokio::test]
async fn a_whole_slice_has_as_many_whole_batches_as_fit_and_at_least_one() {
    let scene = Scene::new(LogConfig::default());
    for value in ["a", "b", "c"] {
        scene.append(&[value]).await;
    }
    let one = batch(&["a"]).bytes_len() as u64;
    let fitting = |offset, hint| batches(&scene.log.whole_slice(offset, hint).unwrap()).len();

    assert_eq!(fitting(0, 0), 1);
    assert_eq!(fitting(0, 2 * one - 1), 1);
    assert_eq!(fitting(0, 2 * one), 2);
    assert_eq!(fitting(0, u64::from(u32::MAX)), 3);
    assert_eq!(fitting(2, 0), 1);
    assert_eq!(fitting(3, 0), 0);
}

#[tokio::test]
async fn an_offset_beyond_the_end_is_an_error_and_the_end_itself_is_not() {
    let scene = Scene::new(LogConfig::default());
    scene.append(&["a"]).await;

    assert_eq!(scene.log.check(1), Ok(()));
    assert_eq!(scene.log.check(2), Err(OffsetError::BeyondEnd { offset: 2, end_offset: 1 }));
    assert_eq!(scene.log.check(-1), Err(OffsetError::Evicted { offset: -1, next_available: 0 }));
}

#[tokio::test]
async fn a_closed_log_has_answered_what_it_took_and_takes_no_more() {
    let scene = Scene::new(LogConfig::default());
    let taken = scene.log.append(vec![batch(&["a"])]);

    scene.log.close().await;

    assert!(matches!(scene.log.append(vec![batch(&["b"])]).await, Err(AppendError::Closed)));
    assert_eq!(taken.await.unwrap(), 0);
    assert_eq!(scene.killed().read_from(0), numbered(&["a"]));
}
