//! Push through modules.

use fluvio_compression::Compression;
use fluvio_protocol::{
    link::ErrorCode,
    record::{Batch, Record},
};
use fluvio_spu_schema::server::{
    smartmodule::{SmartModuleInvocation, SmartModuleInvocationWasm},
    stream_fetch::DefaultStreamFetchResponse,
};

use crate::{
    client::{Client, Stream},
    guest::{self, forgetful, picky},
    scene::{Scene, batch, delivered, no_error, stream, values},
};

const PLENTY: i32 = 1 << 20;

/// A client with a stream through the picky module over these batches.
async fn judged(scene: &Scene, batches: &[&[&str]], start: i64, max_bytes: i32) -> (Client, Stream) {
    let mut client = scene.client().await;
    for values in batches {
        client.produce(values).await;
    }
    let pushes = client.open(&stream(start, max_bytes, vec![picky()])).await;
    (client, pushes)
}

/// Produces until something is pushed, which shows what the stream did with the records before.
async fn pushed_at_last(client: &mut Client, pushes: Stream) -> DefaultStreamFetchResponse {
    while !client.has_pushed(pushes) {
        client.produce(&["after the jump"]).await;
    }
    client.pushed(pushes).await
}

fn refused_offset(answer: &DefaultStreamFetchResponse) -> i64 {
    let code = &answer.partition.error_code;
    let ErrorCode::SmartModuleRuntimeError(refused) = code else { panic!("{code:?} is no refusal") };
    refused.offset
}

#[tokio::test]
async fn output_of_several_batches_comes_as_one_batch_and_names_the_next_offset() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["a", "b"], &["c"]], 0, PLENTY).await;

    let answer = client.pushed(pushes).await.partition;

    assert_eq!(answer.records.batches.len(), 1);
    assert_eq!(delivered(&answer, 0), [(0, "a".to_owned()), (1, "b".to_owned()), (2, "c".to_owned())]);
    assert_eq!((answer.next_filter_offset, answer.high_watermark), (3, 3));
}

#[tokio::test]
async fn compressed_batches_are_judged_too() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let mut batch = Batch::from(vec![Record::new(codec.to_string()), Record::new("-dropped")]);
        batch.header.set_compression(codec);
        client.produce_batch(Batch::try_from(batch).unwrap()).await;
    }

    let pushes = client.open(&stream(0, PLENTY, vec![picky()])).await;

    assert_eq!(values(&client.pushed(pushes).await.partition), ["gzip", "snappy", "lz4", "zstd"]);
}

#[tokio::test]
async fn stages_of_a_chain_follow_each_other() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a", "-dropped", "b"]).await;

    let pushes = client.open(&stream(0, PLENTY, vec![picky(), picky()])).await;

    assert_eq!(values(&client.pushed(pushes).await.partition), ["a", "b"]);
}

#[tokio::test]
async fn m2_a_first_output_larger_than_max_bytes_never_comes_and_the_stream_jumps_to_the_end() {
    let scene = Scene::new().await;
    let large = "v".repeat(2000);
    let (mut client, pushes) = judged(&scene, &[&[large.as_str()], &["small"]], 0, 1000).await;

    let answer = pushed_at_last(&mut client, pushes).await.partition;

    assert!(no_error(&answer));
    assert!(values(&answer).iter().all(|value| value == "after the jump"), "{:?}", values(&answer));
    assert!(answer.records.batches[0].base_offset >= 2);
}

#[tokio::test]
async fn output_that_would_pass_max_bytes_is_made_again_for_the_next_answer() {
    let scene = Scene::new().await;
    let (first, second) = ("a".repeat(600), "b".repeat(600));
    let (mut client, pushes) = judged(&scene, &[&[first.as_str()], &[second.as_str()]], 0, 1000).await;

    let answer = client.pushed(pushes).await;
    assert_eq!(values(&answer.partition), [first]);
    assert_eq!(answer.partition.next_filter_offset, 1);

    client.acknowledge(pushes, &answer).await;
    assert_eq!(values(&client.pushed(pushes).await.partition), [second]);
}

#[tokio::test]
async fn m2_when_a_whole_segment_is_filtered_later_segments_are_skipped_too() {
    let scene = Scene::with_small_segments(1 << 20).await;
    let dropped = format!("-{}", "v".repeat(1500));
    let batches: &[&[&str]] = &[&[&dropped], &[&dropped], &["kept"]];
    let (mut client, pushes) = judged(&scene, batches, 0, PLENTY).await;

    let answer = pushed_at_last(&mut client, pushes).await.partition;

    assert!(!values(&answer).contains(&"kept".to_owned()), "{:?}", values(&answer));
}

#[tokio::test]
async fn m3_a_refused_record_ends_its_batch_and_the_error_names_its_offset() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["a"], &["b", "!", "c"], &["d"]], 0, PLENTY).await;

    let answer = client.pushed(pushes).await;

    assert_eq!(values(&answer.partition), ["a", "b"]);
    assert_eq!(refused_offset(&answer), 2);
    assert_eq!(answer.partition.next_filter_offset, 4, "the rest of the batch is skipped");
    client.acknowledge(pushes, &answer).await;
    assert_eq!(values(&client.pushed(pushes).await.partition), ["d"]);
}

#[tokio::test]
async fn m3_reopening_behind_the_refused_record_in_its_batch_fails_again() {
    let scene = Scene::new().await;
    for start in [0, 1, 2] {
        let (mut client, pushes) = judged(&scene, &[&["a", "!", "b"]], start, PLENTY).await;

        assert_eq!(refused_offset(&client.pushed(pushes).await), 1, "opened at {start}");
    }
}

#[tokio::test]
async fn m3_a_refused_first_record_skips_everything_up_to_the_end() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["!", "b"], &["good"]], 0, PLENTY).await;

    let answer = client.pushed(pushes).await;
    assert_eq!((refused_offset(&answer), answer.partition.next_filter_offset), (0, 3));
    assert!(values(&answer.partition).is_empty());

    client.acknowledge(pushes, &answer).await;
    client.produce(&["later"]).await;
    assert_eq!(values(&client.pushed(pushes).await.partition), ["later"]);
}

#[tokio::test]
async fn m4_a_panic_takes_its_good_neighbours_along_names_no_offset_and_ends_the_stream() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["good"], &["a", "*"], &["good"]], 0, PLENTY).await;

    let answer = client.pushed(pushes).await;

    let ErrorCode::Other(told) = &answer.partition.error_code else { panic!("{answer:?}") };
    assert!(told.starts_with("SmartModule err") && told.contains("wasm backtrace"), "{told}");
    assert!(values(&answer.partition).is_empty());
    // The stream is over: not even an acknowledgement brings more.
    client.acknowledge_offset(pushes.session, 0).await;
    client.produce(&["later"]).await;
    assert!(!client.has_pushed(pushes));
}

#[tokio::test]
async fn m5_a_module_that_forgets_memory_ends_its_stream_with_a_trap() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    for _ in 0..20 {
        client.produce(&["good"]).await;
    }
    let pushes = client.open(&stream(0, PLENTY, vec![forgetful()])).await;

    let answer = client.pushed(pushes).await.partition;

    assert!(matches!(&answer.error_code, ErrorCode::Other(told) if told.starts_with("SmartModule err")), "{answer:?}");
    let again = client.open(&stream(12, PLENTY, vec![forgetful()])).await;
    assert_eq!(values(&client.pushed(again).await.partition).len(), 8, "a new chain starts with fresh memory");
}

#[tokio::test]
async fn m7_a_judged_batch_has_no_timestamp_and_counts_what_the_filter_left() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["-", "b", "-"], &["-", "e"]], 0, PLENTY).await;

    let answer = client.pushed(pushes).await.partition;

    assert_eq!(delivered(&answer, 0), [(0, "b".to_owned()), (1, "e".to_owned())], "they stand at 1 and 4");
    assert_eq!(answer.records.batches[0].header.first_timestamp, -1);
    assert_eq!(answer.next_filter_offset, 5);
}

#[tokio::test]
async fn m7_a_filtered_stream_opened_in_mid_batch_gives_a_client_nothing() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["-", "-", "-", "d"]], 3, PLENTY).await;

    let answer = client.pushed(pushes).await.partition;

    assert_eq!(values(&answer), ["d"]);
    assert!(delivered(&answer, 3).is_empty(), "it is taken for offset 0");
}

#[tokio::test]
async fn m7_a_total_stream_resumed_in_mid_batch_has_true_offsets() {
    let scene = Scene::new().await;
    let (mut client, pushes) = judged(&scene, &[&["a", "b", "c"]], 2, PLENTY).await;

    let answer = client.pushed(pushes).await.partition;

    assert_eq!(delivered(&answer, 2), [(2, "c".to_owned())]);
}

#[tokio::test]
async fn an_acknowledgement_that_was_not_expected_is_followed_and_what_was_made_ahead_thrown_away() {
    let scene = Scene::new().await;
    let (first, second) = ("a".repeat(600), "b".repeat(600));
    let (mut client, pushes) = judged(&scene, &[&[first.as_str()], &[second.as_str()]], 0, 1000).await;
    client.pushed(pushes).await;

    client.acknowledge_offset(pushes.session, 0).await;

    assert_eq!(values(&client.pushed(pushes).await.partition), [first]);
}

#[tokio::test]
async fn modules_that_cannot_run_are_told_when_the_stream_opens() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    let not_gzip = guest::invocation(SmartModuleInvocationWasm::AdHoc(b"\0asm as it is".to_vec()));
    let not_wasm = guest::adhoc(b"not a module");
    let nobody = guest::invocation(SmartModuleInvocationWasm::Predefined("nobody".to_owned()));
    let mut told = async |module: SmartModuleInvocation| {
        let pushes = client.open(&stream(0, PLENTY, vec![module])).await;
        client.pushed(pushes).await.partition.error_code
    };

    assert!(matches!(told(not_gzip).await, ErrorCode::SmartModuleInvalid { .. }));
    assert!(matches!(told(not_wasm).await, ErrorCode::SmartModuleChainInitError(_)));
    assert_eq!(told(nobody).await, ErrorCode::SmartModuleNotFound { name: "nobody".to_owned() });
}

#[tokio::test]
async fn one_client_that_does_not_read_holds_up_no_other() {
    let scene = Scene::new().await;
    let mut idle = scene.client().await;
    let value = "v".repeat(900_000);
    for _ in 0..5 {
        idle.produce_batch(batch(&[&value])).await;
    }
    for _ in 0..5 {
        idle.open(&stream(0, 64 << 20, vec![])).await;
    }

    let (mut client, pushes) = judged(&scene, &[&["a"]], 5, PLENTY).await;

    assert_eq!(values(&client.pushed(pushes).await.partition), ["a"]);
}
