//! Pull, and where logs begin and end.

use fluvio_protocol::{Encoder, link::ErrorCode};
use fluvio_spu_schema::server::fetch_offset::FetchOffsetsRequest;

use crate::scene::{Scene, TOPIC, batch, delivered, no_error, values};

#[tokio::test]
async fn an_answer_is_cut_anywhere_and_the_client_can_tell() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a", "b"]).await;
    client.produce(&["c", "d"]).await;
    let whole = batch(&["a", "b"]).write_size(0) as i32;

    let answer = client.pull(0, whole + 65).await;

    let complete: Vec<_> = answer.records.batches.iter().map(|batch| batch.validate_decoding()).collect();
    assert_eq!(complete, [true, false]);
}

#[tokio::test]
async fn pulling_loses_nothing_when_the_cut_batch_is_asked_for_again() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    let value = "v".repeat(100);
    for _ in 0..30 {
        client.produce(&[value.as_str(); 7]).await;
    }

    let mut read = Vec::new();
    while read.len() < 210 {
        let mut answer = client.pull(read.len() as i64, 2500).await;
        answer.records.batches.retain(|batch| batch.validate_decoding());
        let next = delivered(&answer, read.len() as i64);
        assert!(!next.is_empty(), "no whole batch at {}", read.len());
        read.extend(next.into_iter().map(|(offset, _)| offset));
    }

    assert_eq!(read, (0..210).collect::<Vec<_>>());
}

#[tokio::test]
async fn asked_in_mid_batch_the_whole_batch_comes() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a", "b", "c"]).await;

    let answer = client.pull(2, 1 << 20).await;

    assert_eq!(values(&answer), ["a", "b", "c"]);
    assert_eq!((answer.high_watermark, answer.log_start_offset), (3, 0));
}

#[tokio::test]
async fn at_the_end_an_empty_answer_comes_at_once() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a"]).await;

    let answer = client.pull(1, 1 << 20).await;

    assert!(no_error(&answer) && answer.records.batches.is_empty(), "{answer:?}");
}

#[tokio::test]
async fn offsets_outside_the_log_and_unknown_topics_are_errors_of_their_partition() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a"]).await;

    let beyond = client.pull(2, 1 << 20).await.error_code;
    let before = client.pull(-1, 1 << 20).await.error_code;
    let unknown = client.pull_from("nowhere", 0, 1 << 20).await.error_code;

    assert_eq!(beyond, ErrorCode::Other("start offset: 2 is greater than leo: 1".to_owned()));
    assert_eq!(before, ErrorCode::OffsetEvicted { offset: -1, next_available: 0 });
    assert_eq!(unknown, ErrorCode::NotLeaderForPartition);
}

#[tokio::test]
async fn the_ends_of_a_log_are_told_and_those_of_an_unknown_one_are_an_error() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a", "b"]).await;

    let known = client.call(&FetchOffsetsRequest::new(TOPIC.to_owned(), 0)).await;
    let unknown = client.call(&FetchOffsetsRequest::new(TOPIC.to_owned(), 1)).await;

    let known = &known.topics[0].partitions[0];
    assert_eq!((known.start_offset, known.last_stable_offset), (0, 2));
    assert_eq!(unknown.topics[0].partitions[0].error_code, ErrorCode::PartitionNotLeader);
}
