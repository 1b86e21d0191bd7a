//! Judged streams: every record of the log comes once, judged, whatever the module and the broker do.

use std::time::Duration;

use bytes::Bytes;
use eddy::{
    broker::{
        Read, Writer,
        admin::{self, ModulePlan, Plan, Storage, TopicPlan},
        judged,
    },
    modules::VALIDATE_WASM,
};
use eddy_contract::Header;
use eddy_topology::engine::Input;
use fluvio_protocol::record::Record;

use crate::{
    cluster::{SOURCE, TestCluster},
    produce::{Producer, Shape, TIMESTAMP_MS, backlog, numbered},
    through::{judged_faultily, judging, offset, read_to, validated},
};

/// M1.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_20_000_records_of_1_kb_is_judged_without_a_gap() {
    let test = TestCluster::start().await;
    let topic = test.topic("backlog").await;
    let values = numbered(20_000, 1000);
    backlog(&test.cluster, &topic, &values, 100).await;

    let got = read_to(validated(&test.cluster, &topic, 0), 20_000).await;

    assert!(got.is_exactly(0, 20_000));
    assert!(got.originals() == values);
    assert_eq!((got.counts.faults, got.counts.judged_natively), (0, 0));
    test.finish().await;
}

/// M1, M2: at the default `max_bytes` a module that adds three bytes to a record delivers none of these.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_200_000_small_records_in_batches_of_1_mb_is_judged_without_a_gap() {
    let test = TestCluster::start().await;
    let topic = test.topic("backlog").await;
    let values = numbered(200_000, 20);
    backlog(&test.cluster, &topic, &values, 35_000).await;

    let got = read_to(validated(&test.cluster, &topic, 0), 200_000).await;

    assert!(got.is_exactly(0, 200_000));
    assert!(got.originals() == values);
    assert_eq!(got.counts.judged_natively, 0);
    test.finish().await;
}

/// M2: the broker says nothing at all and stands at the log's end.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_output_does_not_fit_the_answer_is_noticed_and_given_more_room() {
    let test = TestCluster::start().await;
    let topic = test.topic("large").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.texts(&["small"]).await;
    producer.batch(numbered(12, 1_000_000)).await;

    let got = read_to(judged_faultily(&test.cluster, &topic, 0), 13).await;

    assert!(got.is_exactly(0, 13));
    assert!(got.counts.faults > 0);
    assert_eq!(got.counts.judged_natively, 0);
    test.finish().await;
}

/// M2: more records come behind the skipped batch before the silence is noticed.
#[tokio::test(flavor = "multi_thread")]
async fn a_skipped_batch_is_noticed_by_the_gap_before_the_next_one() {
    let test = TestCluster::start().await;
    let topic = test.topic("skipped").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.texts(&["small"]).await;
    let mut judging = judging(Bytes::from_static(eddy_guests::faulty()));
    judging.stall_after = Duration::from_secs(3600);
    let mut reader = judged::read(&test.cluster, &topic, 0, 0, judging);
    reader.next().await.unwrap().unwrap();
    producer.batch(numbered(12, 1_000_000)).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    producer.texts(&["behind"]).await;

    let got = read_to(reader, 14).await;

    assert!(got.is_exactly(1, 14));
    assert_eq!(got.counts.judged_natively, 0);
    test.finish().await;
}

/// M3: reopened inside the batch the module fails again, and to poll on skips the rest of the batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_a_record_that_the_module_refuses_is_judged_natively_from_there_on() {
    let test = TestCluster::start().await;
    let topic = test.topic("refused").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.texts(&["0", "1", "2", "3", "4", "refuse", "6", "7", "8", "9"]).await;
    producer.texts(&["10", "11"]).await;

    let got = read_to(judged_faultily(&test.cluster, &topic, 0), 12).await;

    assert!(got.is_exactly(0, 12));
    assert_eq!(got.originals(), ["0", "1", "2", "3", "4", "refuse", "6", "7", "8", "9", "10", "11"]);
    assert_eq!(got.natively(), (5..10).collect::<Vec<_>>());
    test.finish().await;
}

/// M3: with the refused record first, the broker jumps over 32 good ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_first_record_costs_its_neighbours_nothing() {
    let test = TestCluster::start().await;
    let topic = test.topic("refused-first").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.texts(&["refuse", "1", "2"]).await;
    for _ in 0..3 {
        producer.batch(numbered(10, 8)).await;
    }

    let got = read_to(judged_faultily(&test.cluster, &topic, 0), 33).await;

    assert!(got.is_exactly(0, 33));
    assert_eq!(got.natively(), [0, 1, 2]);
    test.finish().await;
}

/// M4: a trap names no offset and takes its good neighbours along.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_traps_the_module_is_found_and_its_neighbours_are_judged() {
    let test = TestCluster::start().await;
    let topic = test.topic("trap").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    for _ in 0..30 {
        producer.batch(numbered(10, 1000)).await;
    }
    producer.texts(&["300", "trap", "302"]).await;
    for _ in 0..30 {
        producer.batch(numbered(10, 1000)).await;
    }

    let got = read_to(judged_faultily(&test.cluster, &topic, 0), 603).await;

    assert!(got.is_exactly(0, 603));
    let natively = got.natively();
    assert!(natively.contains(&301) && natively.len() < 100, "{natively:?}");
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_are_no_verdicts_or_lie_about_their_offset_are_replaced() {
    let test = TestCluster::start().await;
    let topic = test.topic("garbage").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.texts(&["0", "garbage", "2"]).await;
    producer.texts(&["3", "4"]).await;
    producer.texts(&["5", "wrong offset", "7"]).await;
    producer.texts(&["8"]).await;

    let got = read_to(judged_faultily(&test.cluster, &topic, 0), 9).await;

    assert!(got.is_exactly(0, 9));
    assert_eq!(got.originals(), ["0", "garbage", "2", "3", "4", "5", "wrong offset", "7", "8"]);
    assert!(got.natively().contains(&1) && got.natively().contains(&6));
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_cannot_even_start_leaves_everything_to_the_fallback() {
    let test = TestCluster::start().await;
    let topic = test.topic("broken").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    for _ in 0..20 {
        producer.batch(numbered(10, 100)).await;
    }
    let judging = judging(Bytes::from_static(b"\0asm, but no module"));

    let got = read_to(judged::read(&test.cluster, &topic, 0, 0, judging), 200).await;

    assert!(got.is_exactly(0, 200));
    assert_eq!(got.counts.judged_natively, 200);
    test.finish().await;
}

/// M6: by its name the broker would find the build before this one, or none.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_judges_with_the_very_bytes_that_it_was_given_whatever_the_cluster_has_by_that_name() {
    let test = TestCluster::start().await;
    let topic = test.topic(SOURCE).await;
    let name = format!("{topic}-validate");
    Producer::connect(&test.cluster, &topic).await.texts(&["refuse", "trap"]).await;
    let judging = |name: &str| {
        let mut judging = judging(Bytes::from_static(VALIDATE_WASM));
        judging.module.name = name.into();
        judging
    };

    let unknown = judged::read(&test.cluster, &topic, 0, 0, judging(&name));
    let unknown = read_to(unknown, 2).await;
    admin::apply(&test.cluster, &module_plan(&topic, &name, eddy_guests::faulty())).await.unwrap();
    tokio::time::sleep(OLD_BUILD_MAX).await;
    let replaced = read_to(judged::read(&test.cluster, &topic, 0, 0, judging(&name)), 2).await;

    for got in [unknown, replaced] {
        assert!(got.is_exactly(0, 2));
        assert_eq!(got.originals(), ["refuse", "trap"]);
        assert_eq!((got.counts.faults, got.counts.judged_natively), (0, 0), "another module judged");
    }
    test.finish().await;
}

/// Longer than a broker takes to know a module by its name.
const OLD_BUILD_MAX: Duration = Duration::from_secs(1);

fn module_plan(topic: &str, name: &str, wasm: &'static [u8]) -> Plan {
    let source = TopicPlan { name: topic.to_owned(), partitions: 1, storage: Storage::default() };
    let modules = vec![ModulePlan { name: name.to_owned(), wasm: Bytes::from_static(wasm) }];
    Plan { source, derived: Vec::new(), modules }
}

/// M7: a stream reports timestamps of -1, and offsets that are wrong for all but total maps.
#[tokio::test(flavor = "multi_thread")]
async fn offsets_and_timestamps_are_true_when_a_stream_begins_in_the_middle_of_a_batch() {
    let test = TestCluster::start().await;
    let topic = test.topic("middle").await;
    Producer::connect(&test.cluster, &topic).await.batch(numbered(100, 10)).await;

    let got = read_to(validated(&test.cluster, &topic, 24), 100).await;

    assert!(got.is_exactly(24, 100));
    assert!(got.originals() == numbered(100, 10)[24..]);
    for input in &got.inputs {
        let Input::Judged { output, .. } = input else { panic!("{input:?}") };
        assert_eq!(Header::decode(output).unwrap().0.timestamp_ms, TIMESTAMP_MS);
    }
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holes_of_the_log_are_confirmed_and_accepted() {
    let test = TestCluster::start().await;
    let topic = test.topic("holes").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    producer.shaped((0..5).map(|_| Record::new("kept")), Shape { holes: 3, ..Shape::default() }).await;
    producer.texts(&["behind"]).await;
    producer.shaped((0..2).map(|_| Record::new("last")), Shape { holes: 2, ..Shape::default() }).await;

    let got = read_to(validated(&test.cluster, &topic, 0), 13).await;

    assert!(got.is_exactly(0, 13));
    assert_eq!(got.holes(), [5, 6, 7, 11, 12]);
    assert_eq!(got.counts.judged_natively, 0);
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_written_while_the_stream_waits_come_at_once() {
    let test = TestCluster::start().await;
    let topic = test.topic("live").await;
    let writer = Writer::new(&test.cluster);
    let mut reader = validated(&test.cluster, &topic, 0);
    writer.write(&topic, 0, None, "first".into()).await.unwrap();
    reader.next().await.unwrap().unwrap();

    let start = std::time::Instant::now();
    writer.write(&topic, 0, None, "second".into()).await.unwrap();
    reader.next().await.unwrap().unwrap();

    assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
    test.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judged_stream_goes_on_behind_the_last_record_when_the_broker_comes_back() {
    let mut test = TestCluster::start().await;
    if !test.is_own() {
        return println!("skipped: only a test's own node is restarted");
    }
    let topic = test.topic("restart").await;
    let writer = Writer::new(&test.cluster);
    writer.write(&topic, 0, None, "before".into()).await.unwrap();
    let mut reader = validated(&test.cluster, &topic, 0);
    reader.next().await.unwrap().unwrap();

    test.restart(Duration::from_millis(300)).await;
    while writer.write(&topic, 0, None, "after".into()).await.is_err() {}

    let got = read_to(reader, 2).await;
    assert_eq!(got.originals(), ["after"]);
    test.finish().await;
}

/// M8: a module that never returns cannot be interrupted, and burns a core until the broker is started again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "leaves modules that burn the cores: cargo test --test broker a_record_on_which -- --ignored"]
async fn a_record_on_which_the_module_never_returns_is_judged_natively_and_its_neighbours_go_on() {
    let test = TestCluster::start().await;
    if !test.is_own() {
        return println!("skipped: no broker but a test's own is given a module that never returns");
    }
    let topic = test.topic("loop").await;
    let producer = Producer::connect(&test.cluster, &topic).await;
    for values in [["0", "1"], ["loop", "3"], ["4", "5"]] {
        producer.texts(&values).await;
    }
    let mut judging = judging(Bytes::from_static(eddy_guests::faulty()));
    judging.stall_after = Duration::from_millis(500);

    let got = read_to(judged::read(&test.cluster, &topic, 0, 0, judging), 6).await;

    assert!(got.is_exactly(0, 6));
    assert!(got.natively().contains(&2), "{:?}", got.natively());
    test.finish().await;
}

/// M5: a module made with Fluvio's macro never gives its outputs' memory back.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "moves 800 MB: cargo test --test broker -- --ignored"]
async fn a_module_that_dies_of_its_own_outputs_is_opened_again_and_nothing_is_lost() {
    let test = TestCluster::start().await;
    let topic = test.topic("outputs").await;
    let value = Bytes::from(vec![7; 40_000]);
    let writer = Writer::new(&test.cluster);
    for _ in 0..200 {
        writer.write_all(&topic, 0, vec![(None, value.clone()); 100]).await.unwrap();
    }

    let mut reader = judged_faultily(&test.cluster, &topic, 0);
    let mut next = 0;
    while next < 20_000 {
        let Some(Ok(Read::Batch { inputs, .. })) = reader.next().await else { panic!("stopped at {next}") };
        assert!(inputs.iter().map(offset).eq((next..).take(inputs.len())));
        next += i64::try_from(inputs.len()).unwrap();
    }

    let counts = reader.counts();
    assert!(counts.faults > 0, "the module did not die");
    assert_eq!(counts.judged_natively, 0);
    test.finish().await;
}
