//! Produce, and what the node does not take.

use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::server::fetch_offset::FetchOffsetsRequest;

use crate::{
    guest,
    scene::{Scene, TOPIC, batch, produce_request, values},
};

#[tokio::test]
async fn batches_get_the_offsets_after_the_last_one() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;

    assert_eq!(client.produce(&["a", "b"]).await, 0);
    assert_eq!(client.produce(&["c"]).await, 2);
    assert_eq!(values(&client.pull(0, 1 << 20).await), ["a", "b", "c"]);
}

#[tokio::test]
async fn requests_that_follow_each_other_unanswered_keep_their_order() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;

    for number in 0..100 {
        client.send(&produce_request(TOPIC, batch(&[&number.to_string()]))).await;
    }
    client.produce(&["last"]).await;

    let expected: Vec<_> = (0..100).map(|number| number.to_string()).chain(["last".to_owned()]).collect();
    assert_eq!(values(&client.pull(0, 1 << 20).await), expected);
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_for_its_partition_only() {
    let scene = Scene::with_small_segments(1 << 20).await;
    let mut client = scene.client().await;

    let unknown = client.try_produce("nowhere", batch(&["a"])).await.error_code;
    let larger_than_a_segment = client.try_produce(TOPIC, batch(&[&"v".repeat(3000)])).await.error_code;

    assert_eq!(unknown, ErrorCode::NotLeaderForPartition);
    assert_eq!(larger_than_a_segment, ErrorCode::MessageTooLarge);
    assert_eq!(client.produce(&["a"]).await, 0);
}

#[tokio::test]
async fn modules_on_the_producing_side_are_refused_and_nothing_is_stored() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    let mut request = produce_request(TOPIC, batch(&["a"]));
    request.smartmodules = vec![guest::picky()];

    let answer = client.call(&request).await;

    assert!(answer.responses[0].partitions[0].error_code.is_error());
    assert!(values(&client.pull(0, 1 << 20).await).is_empty());
}

#[tokio::test]
async fn a_frame_beyond_the_limit_closes_the_connection_and_no_other() {
    let scene = Scene::new().await;
    let mut other = scene.client().await;
    let mut client = scene.client().await;

    client.send_bytes(&(65_i32 << 20).to_be_bytes()).await;
    client.hung_up().await;

    assert_eq!(other.produce(&["a"]).await, 0);
}

#[tokio::test]
async fn a_request_that_no_service_knows_closes_the_connection() {
    let scene = Scene::new().await;
    let mut client = scene.client().await;
    let header = [0, 99, 0, 0, 0, 0, 0, 1, 0, 0];

    client.send_bytes(&10_i32.to_be_bytes()).await;
    client.send_bytes(&header).await;

    client.hung_up().await;
}

#[tokio::test]
async fn bytes_that_are_no_request_close_the_connection_and_no_other() {
    let scene = Scene::new().await;
    let mut other = scene.client().await;

    for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 1, 0], &[0xff; 64]] {
        let mut client = scene.client().await;
        client.send_bytes(noise).await;
        client.hung_up().await;
    }

    let answer = other.call(&FetchOffsetsRequest::new(TOPIC.to_owned(), 0)).await;
    assert_eq!(answer.topics[0].partitions[0].last_stable_offset, 0);
}
