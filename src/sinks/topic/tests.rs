//! The topic sink: partition, key and bytes, and what failed appends amount to.

use parking_lot::Mutex;

use super::*;

type Appended = (String, u32, Option<Bytes>, Bytes);

/// Acknowledges everything, or nothing; always refuses what has no bytes.
#[derive(Default)]
struct Broker {
    appended: Mutex<Vec<Appended>>,
    fails: Option<AppendError>,
}

impl Append for Broker {
    fn append(
        &self,
        topic: &TopicName,
        partition: u32,
        records: Vec<Entry>,
    ) -> BoxFuture<'static, Vec<Result<i64, AppendError>>> {
        let append = |(key, value): Entry| {
            let refused = value.is_empty().then_some(AppendError::TooLarge { size_bytes: 0 });
            self.appended.lock().push((topic.to_string(), partition, key, value));
            self.fails.clone().or(refused).map_or(Ok(0), Err)
        };
        let results = records.into_iter().map(append).collect();
        async { results }.boxed()
    }
}

fn delivery() -> Delivery {
    Delivery {
        id: "geofence-triggers/5/17".parse().unwrap(),
        key: Some(Bytes::from_static(b"d\xFF")),
        payload: Bytes::from_static(b"{\"a\": 1}\n"),
        idempotency_key: "k-1".into(),
        traceparent: Some("00-trace".into()),
        attempt: 3,
        replayed: false,
    }
}

fn sink(broker: &Arc<Broker>, partitions: u32, form: Form) -> TopicSink {
    let topic = TopicName::try_new("delivered").unwrap();
    TopicSink::new("downstream", topic, partitions, form, Arc::clone(broker) as Arc<dyn Append>)
}

async fn code_and_effect(error: AppendError) -> (Code, SideEffect) {
    let broker = Arc::new(Broker { fails: Some(error), ..Broker::default() });
    match sink(&broker, 1, Form::Original).deliver(delivery()).await {
        Outcome::Failed(refusal) => (refusal.code, refusal.effect),
        Outcome::Delivered => panic!("it was delivered"),
    }
}

#[tokio::test]
async fn the_original_bytes_go_to_the_same_partition_under_the_same_key() {
    let broker = Arc::new(Broker::default());

    let outcome = sink(&broker, 8, Form::Original).deliver(delivery()).await;

    assert_eq!(outcome, Outcome::Delivered);
    let expected = ("delivered".to_owned(), 5, delivery().key, delivery().payload);
    assert_eq!(*broker.appended.lock(), [expected]);
}

#[tokio::test]
async fn no_key_stays_no_key() {
    let broker = Arc::new(Broker::default());

    sink(&broker, 8, Form::Original).deliver(Delivery { key: None, ..delivery() }).await;

    assert_eq!(broker.appended.lock()[0].2, None);
}

#[tokio::test]
async fn a_target_with_fewer_partitions_takes_them_in_turn() {
    let broker = Arc::new(Broker::default());

    sink(&broker, 3, Form::Original).deliver(delivery()).await;

    assert_eq!(broker.appended.lock()[0].1, 2);
}

#[tokio::test]
async fn an_envelope_carries_the_original_bytes_and_where_they_came_from() {
    let broker = Arc::new(Broker::default());

    sink(&broker, 8, Form::Envelope).deliver(delivery()).await;

    let envelope = Envelope::decode(&broker.appended.lock()[0].3).unwrap();
    assert_eq!(envelope.payload(), Some(&delivery().payload[..]));
    assert_eq!(envelope.id, delivery().id);
    assert_eq!(envelope.idempotency_key.as_deref(), Some("k-1"));
    assert_eq!(envelope.traceparent.as_deref(), Some("00-trace"));
    assert_eq!(envelope.attempts.delivery, 3);
    assert_eq!(envelope.sink.as_deref(), Some("downstream"));
}

#[tokio::test]
async fn an_append_without_acknowledgement_leaves_the_effect_unknown() {
    let unacknowledged = AppendError::Unacknowledged("no answer".to_owned());

    assert_eq!(code_and_effect(unacknowledged).await, (Code::Timeout, SideEffect::Unknown));
}

#[tokio::test]
async fn other_failed_appends_had_no_effect() {
    let reason = || "reason".to_owned();

    assert_eq!(code_and_effect(AppendError::Unreachable(reason())).await, (Code::Refused, SideEffect::None));
    assert_eq!(code_and_effect(AppendError::Refused(reason())).await, (Code::Unavailable, SideEffect::Refused));
    assert_eq!(code_and_effect(AppendError::TooLarge { size_bytes: 9 }).await, (Code::TooLarge, SideEffect::None));
}

#[tokio::test]
async fn of_many_deliveries_each_has_its_own_outcome() {
    let broker = Arc::new(Broker::default());
    let deliveries = ["p/0/0", "p/1/1", "p/0/2", "p/1/3"].map(|id| Delivery {
        id: id.parse().unwrap(),
        payload: if id == "p/0/2" { Bytes::new() } else { delivery().payload },
        ..delivery()
    });

    let outcomes = sink(&broker, 2, Form::Original).deliver_all(deliveries.into()).await;

    let delivered: Vec<bool> = outcomes.iter().map(|outcome| *outcome == Outcome::Delivered).collect();
    assert_eq!(delivered, [true, true, false, true]);
}
