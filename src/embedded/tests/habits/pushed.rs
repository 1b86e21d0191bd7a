//! Push without modules.

use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::server::{
    fetch_offset::FetchOffsetsRequest,
    update_offset::{OffsetUpdate, UpdateOffsetsRequest},
};

use crate::scene::{Scene, TOPIC, delivered, no_error, stream, values};

const KILOBYTE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Reads pushed answers as the stock client does until it stands at `end`; gives the offsets that it delivered.
async fn read_all(scene: &Scene, end: i64, max_bytes: i32) -> Vec<i64> {
    let mut client = scene.client().await;
    let pushes = client.open(&stream(0, max_bytes, vec![])).await;
    let (mut read, mut position) = (Vec::new(), 0);
    while position < end {
        let answer = client.pushed(pushes).await;
        assert!(no_error(&answer.partition), "{answer:?}");
        read.extend(delivered(&answer.partition, position).into_iter().map(|(offset, _)| offset));
        position = answer.partition.next_offset_for_fetch().unwrap();
        client.acknowledge(pushes, &answer).await;
    }
    read
}

async fn backlog(scene: &Scene, batches: usize, records: usize) -> i64 {
    let mut producer = scene.client().await;
    for _ in 0..batches {
        producer.produce(&vec![KILOBYTE; records]).await;
    }
    (batches * records) as i64
}

#[tokio::test]
async fn m1_a_backlog_loses_the_records_that_the_cut_at_max_bytes_takes_off() {
    let scene = Scene::new().await;
    let end = backlog(&scene, 20, 50).await;

    let read = read_all(&scene, end, 10_000).await;

    let holes = read.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    assert!(holes > 1, "{holes} holes");
    assert!(read.len() < 1000 && read.len() > 500, "{} of 1000 records came", read.len());
}

#[tokio::test]
async fn m1_nothing_is_lost_when_an_answer_takes_all() {
    let scene = Scene::new().await;
    let end = backlog(&scene, 20, 50).await;

    assert_eq!(read_all(&scene, end, 1 << 20).await, (0..end).collect::<Vec<_>>());
}

#[tokio::test]
async fn m1_a_batch_larger_than_max_bytes_comes_in_part_and_is_acknowledged_whole() {
    let scene = Scene::new().await;
    let end = backlog(&scene, 1, 100).await;

    let read = read_all(&scene, end, 1000).await;

    assert!(!read.is_empty() && read.len() < 20, "{} of 100 records came", read.len());
}

#[tokio::test]
async fn the_next_answer_waits_for_the_acknowledgement_of_the_last() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a"]).await;
    let pushes = client.open(&stream(0, 1 << 20, vec![])).await;
    let first = client.pushed(pushes).await;

    client.produce(&["b"]).await;
    client.call(&FetchOffsetsRequest::new(TOPIC.to_owned(), 0)).await;
    assert!(!client.has_pushed(pushes));

    client.acknowledge(pushes, &first).await;
    assert_eq!(values(&client.pushed(pushes).await.partition), ["b"]);
}

#[tokio::test]
async fn any_acknowledged_offset_moves_the_stream_there_also_backwards() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    for value in ["a", "b", "c"] {
        client.produce(&[value]).await;
    }
    let pushes = client.open(&stream(2, 1 << 20, vec![])).await;
    assert_eq!(values(&client.pushed(pushes).await.partition), ["c"]);

    client.acknowledge_offset(pushes.session, 1).await;

    assert_eq!(values(&client.pushed(pushes).await.partition), ["b", "c"]);
}

#[tokio::test]
async fn streams_of_a_connection_are_numbered_from_one_and_others_are_unknown() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a"]).await;

    for session in 1..=3 {
        let pushes = client.open(&stream(0, 1 << 20, vec![])).await;
        assert_eq!(client.pushed(pushes).await.stream_id, session);
    }

    let unknown = UpdateOffsetsRequest::new(vec![OffsetUpdate { offset: 0, session_id: 4 }]);
    assert_eq!(client.call(&unknown).await.status[0].error, ErrorCode::FetchSessionNotFoud);
}

#[tokio::test]
async fn m9_an_evicted_offset_is_told_with_the_next_available_one() {
    let scene = Scene::with_small_segments(2048).await;
    let mut client = scene.client().await;
    for _ in 0..4 {
        client.produce(&[&"v".repeat(1500)]).await;
    }

    let (answer, start) = loop {
        let pushes = client.open(&stream(0, 1 << 20, vec![])).await;
        let answer = client.pushed(pushes).await.partition;
        if answer.log_start_offset > 0 {
            break (answer.error_code, answer.log_start_offset);
        }
    };

    assert_eq!(answer, ErrorCode::OffsetEvicted { offset: 0, next_available: start });
}

#[tokio::test]
async fn a_start_beyond_the_end_is_told_in_a_real_spus_words() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    client.produce(&["a"]).await;

    let pushes = client.open(&stream(5, 1 << 20, vec![])).await;

    let told = ErrorCode::Other("start offset: 5 is greater than leo: 1".to_owned());
    assert_eq!(client.pushed(pushes).await.partition.error_code, told);
}

#[tokio::test]
async fn an_unknown_partition_has_no_leader_and_its_stream_no_number() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    let mut unknown = stream(0, 1 << 20, vec![]);
    unknown.partition = 7;

    let pushes = client.open(&unknown).await;

    let answer = client.pushed(pushes).await;
    assert_eq!((answer.stream_id, answer.partition.error_code), (0, ErrorCode::NotLeaderForPartition));
}
