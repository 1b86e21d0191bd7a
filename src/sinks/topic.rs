//! The `topic` sink: the original bytes, or an envelope, appended to another topic under the same key.
//!
//! The record goes to the partition of its origin, modulo the target's count when that is smaller. It counts as
//! delivered when the append was acknowledged.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use eddy_contract::{
    Code, Envelope, SideEffect,
    envelope::{Attempts, Origin},
};
use eddy_topology::{effect::Delivery, names::TopicName, outcome::Outcome};
use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use super::{Sink, failed};
use crate::broker::Entry;

/// Deliveries that are appended together: enough to be cheap, and few enough that a disk is busy with some while others
/// are made ready.
const BATCH_MAX: usize = 1024;

/// What the sink needs of a broker's writer.
pub trait Append: Send + Sync {
    /// Appends records in their order; ends when each is acknowledged (with its offset) or will not be. Bounds its own
    /// time. A record that was not acknowledged says nothing about the others.
    fn append(
        &self,
        topic: &TopicName,
        partition: u32,
        records: Vec<Entry>,
    ) -> BoxFuture<'static, Vec<Result<i64, AppendError>>>;
}

/// Why an append was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Nothing was sent.
    #[error("the topic's leader cannot be reached: {0}")]
    Unreachable(String),
    /// Sent, and no acknowledgement came; the record may be in the log.
    #[error("the topic's leader did not acknowledge: {0}")]
    Unacknowledged(String),
    /// The broker said no for now.
    #[error("the topic's leader refused: {0}")]
    Refused(String),
    /// No broker would take a record of this size.
    #[error("the record of {size_bytes} bytes is too large for the topic")]
    TooLarge { size_bytes: usize },
}

/// What is appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The original bytes.
    Original,
    /// An envelope around them: origin, idempotency key, attempts, trace.
    Envelope,
}

/// See the module's documentation.
pub struct TopicSink {
    name: String,
    topic: TopicName,
    partitions: u32,
    form: Form,
    writer: Arc<dyn Append>,
}

impl TopicSink {
    /// A sink that appends to `topic`, which has this many partitions (at least one).
    pub fn new(name: &str, topic: TopicName, partitions: u32, form: Form, writer: Arc<dyn Append>) -> Self {
        Self { name: name.to_owned(), topic, partitions: partitions.max(1), form, writer }
    }

    fn value(&self, delivery: &Delivery) -> Bytes {
        match self.form {
            Form::Original => delivery.payload.clone(),
            Form::Envelope => envelope(&self.name, delivery).encode().into(),
        }
    }
}

impl Sink for TopicSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        let outcomes = self.deliver_all(vec![delivery]);
        outcomes.map(|mut outcomes| outcomes.pop().expect("one outcome for one delivery")).boxed()
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }

    fn deliver_all(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Outcome>> {
        let mut partitions: BTreeMap<u32, (Vec<usize>, Vec<Entry>)> = BTreeMap::new();
        for (place, delivery) in deliveries.into_iter().enumerate() {
            let value = self.value(&delivery);
            let (places, records) = partitions.entry(delivery.id.partition % self.partitions).or_default();
            places.push(place);
            records.push((delivery.key, value));
        }
        let appended = partitions.into_iter().map(|(partition, (places, records))| {
            self.writer.append(&self.topic, partition, records).map(|results| places.into_iter().zip(results))
        });
        let appended = join_all(appended).map(|partitions| {
            let mut results: Vec<_> = partitions.into_iter().flatten().collect();
            results.sort_unstable_by_key(|(place, _)| *place);
            results.into_iter().map(|(_, result)| outcome(&result)).collect()
        });
        appended.boxed()
    }
}

fn envelope(sink: &str, delivery: &Delivery) -> Envelope {
    let id = &delivery.id;
    let origin = Origin {
        topic: id.topic.clone(),
        partition: id.partition,
        offset: id.offset,
        timestamp_ms: None,
        part: id.part,
    };
    let mut envelope = Envelope::new(origin, delivery.payload.to_vec());
    envelope.idempotency_key = Some(delivery.idempotency_key.to_string());
    envelope.traceparent = delivery.traceparent.as_deref().map(str::to_owned);
    envelope.attempts = Attempts { delivery: delivery.attempt, ..Attempts::default() };
    envelope.sink = Some(sink.to_owned());
    envelope
}

fn outcome(result: &Result<i64, AppendError>) -> Outcome {
    let Err(error) = result else { return Outcome::Delivered };
    let (code, effect) = match error {
        AppendError::Unreachable(_) => (Code::Refused, SideEffect::None),
        AppendError::Unacknowledged(_) => (Code::Timeout, SideEffect::Unknown),
        AppendError::Refused(_) => (Code::Unavailable, SideEffect::Refused),
        AppendError::TooLarge { .. } => (Code::TooLarge, SideEffect::None),
    };
    failed(code, effect, error.to_string())
}

impl std::fmt::Debug for TopicSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, topic, partitions, form, writer: _ } = self;
        f.debug_struct("TopicSink")
            .field("name", name)
            .field("topic", topic)
            .field("partitions", partitions)
            .field("form", form)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
