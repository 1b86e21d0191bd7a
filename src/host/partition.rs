//! The task of one (topic, partition): it owns a reader and an engine, and does what the engine says.
//!
//! One owner, no lock around the engine: select an event, hand it to the engine, carry the effects out, arm the timer.
//! It decides nothing. It may not repeat an effect by itself, move the position past what the engine settled, or wait
//! while the engine has effects to offer.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use eddy_topology::{
    effect::{Answer, Delivery, Effect, GuardedEffect, Ticket, Write},
    engine::{Engine, Input},
    names::TopicName,
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Error, Shared, counters::Counts};
use crate::{
    broker::{self, Read, Reader},
    guard::{self, Claimant},
};

/// The most answers taken in one turn before the engine's effects are looked at again.
const ANSWERS_PER_TURN_MAX: usize = 1024;

/// What one future brings back: an answer for each ticket.
type Answers = Vec<(Ticket, Answer)>;

/// How far a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The next offset to read after a restart.
    pub position: i64,
    /// Effects without an answer.
    pub in_flight: usize,
    /// The log's end as the reader last saw it.
    pub log_end: i64,
}

/// See the module's documentation.
pub(super) struct PartitionTask {
    shared: Arc<Shared>,
    topic: TopicName,
    partition: u32,
    claimant: Claimant,
    engine: Engine,
    reader: Reader,
    counts: Arc<Mutex<Counts>>,
    progress: watch::Sender<Progress>,
    /// Read, but more than the engine wanted so far.
    read_ahead: VecDeque<Input>,
    log_end: i64,
    answers: FuturesUnordered<BoxFuture<'static, Answers>>,
    /// Marks that count already and are not stored yet, in the order of their sequence.
    unstored: VecDeque<(u64, Ticket)>,
    stored: watch::Receiver<guard::Progress>,
    gate_changes: watch::Receiver<u64>,
}

impl PartitionTask {
    pub(super) fn new(
        shared: Arc<Shared>,
        (topic, partition): (TopicName, u32),
        claimant: Claimant,
        engine: Engine,
        reader: Reader,
        progress: watch::Sender<Progress>,
    ) -> Self {
        Self {
            topic,
            partition,
            claimant,
            counts: shared.counters.shard(),
            log_end: engine.position(),
            progress,
            read_ahead: VecDeque::new(),
            answers: FuturesUnordered::new(),
            unstored: VecDeque::new(),
            stored: shared.guard.progress(),
            gate_changes: shared.sink.changes(),
            shared,
            engine,
            reader,
        }
    }

    /// Runs until told to stop or until the reader ends, then until nothing is in flight any more.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) -> Result<(), Error> {
        let mut end = None;
        loop {
            self.feed();
            self.carry_out();
            self.report();
            if let Some(end) = end.take_if(|_| self.engine.in_flight() == 0) {
                return end;
            }
            let timer = self.timer();
            tokio::select! {
                biased;
                () = async { drop(stop.wait_for(|stop| *stop).await) }, if end.is_none() => {
                    end = Some(Ok(()));
                    self.drain();
                }
                Some(first) = self.answers.next() => {
                    // A turn costs more than an answer, so the others that are about to come may come first.
                    tokio::task::yield_now().await;
                    self.take_answers(first);
                }
                Ok(()) = self.stored.changed(), if !self.unstored.is_empty() => self.take_stored(),
                read = self.reader.next(), if end.is_none() && self.read_ahead.is_empty() => {
                    if let Err(error) = self.take_read(read) {
                        end = Some(Err(error));
                        self.drain();
                    }
                }
                Ok(()) = self.gate_changes.changed() => {}
                () = timer => self.engine.handle_timeout(self.shared.clock.now()),
            }
        }
    }

    fn drain(&mut self) {
        self.engine.drain();
        self.shared.guard.hurry();
    }

    fn take_read(&mut self, read: Option<Result<Read, broker::Error>>) -> Result<(), Error> {
        match read.ok_or(Error::ReaderEnded)?? {
            Read::Batch { inputs, log_end } => {
                self.log_end = self.log_end.max(log_end);
                self.read_ahead.extend(inputs);
            }
            Read::Evicted { from, to } => {
                tracing::error!(topic = %self.topic, partition = self.partition, from, to, "Retention removed records before they were read.");
                self.read_ahead.push_back(Input::Hole { offset: to - 1 });
            }
        }
        Ok(())
    }

    /// Gives the engine as much as it wants of what was read.
    fn feed(&mut self) {
        if self.read_ahead.is_empty() {
            return;
        }
        let wants = self.shared.sink.with_gate(|gate| self.engine.wants(gate)).min(self.read_ahead.len());
        let now = self.shared.clock.now();
        for input in self.read_ahead.drain(..wants) {
            self.engine.handle_input(input, now);
        }
    }

    /// Starts everything that the engine asks for.
    fn carry_out(&mut self) {
        let now = self.shared.clock.now();
        let engine = &mut self.engine;
        let effects: Vec<Effect> =
            self.shared.sink.with_gate(|gate| std::iter::from_fn(|| engine.poll_effect(gate, now)).collect());
        let mut claims = Vec::new();
        let mut deliveries = Vec::new();
        let mut writes: BTreeMap<(TopicName, u32), Vec<(Ticket, Write)>> = BTreeMap::new();
        for effect in effects {
            match effect {
                Effect::Claim { ticket, effect } => claims.push((ticket, effect)),
                Effect::Deliver { ticket, delivery } => deliveries.push((ticket, delivery)),
                Effect::Mark { ticket, effect, horizon } => {
                    self.unstored.push_back((self.shared.guard.mark(&effect, horizon), ticket));
                }
                Effect::Release { effect } => self.shared.guard.release(self.claimant, &effect),
                Effect::Write { ticket, write } => {
                    writes.entry((write.topic.clone(), write.partition)).or_default().push((ticket, write));
                }
                Effect::Note(note) => self.counts.lock().book(&note),
            }
        }
        self.claim(claims);
        self.deliver(deliveries);
        for ((topic, partition), writes) in writes {
            self.append(topic, partition, writes);
        }
    }

    fn deliver(&self, deliveries: Vec<(Ticket, Delivery)>) {
        let mut deliveries = deliveries.into_iter();
        while deliveries.len() > 0 {
            let batch = deliveries.by_ref().take(self.shared.sink.batch_max());
            let (tickets, batch): (Vec<Ticket>, Vec<Delivery>) = batch.unzip();
            let shared = Arc::clone(&self.shared);
            let deliver = async move {
                let outcomes = shared.sink.deliver_all(batch).await;
                tickets.into_iter().zip(outcomes.into_iter().map(Answer::Outcome)).collect()
            };
            self.answers.push(deliver.boxed());
        }
    }

    fn claim(&self, claims: Vec<(Ticket, GuardedEffect)>) {
        if claims.is_empty() {
            return;
        }
        let (guard, claimant) = (Arc::clone(&self.shared.guard), self.claimant);
        let (tickets, effects): (Vec<Ticket>, Vec<GuardedEffect>) = claims.into_iter().unzip();
        let ask = async move {
            let claims = guard.claim(claimant, &effects).await;
            tickets.into_iter().zip(claims.into_iter().map(Answer::Claim)).collect()
        };
        self.answers.push(ask.boxed());
    }

    fn append(&self, topic: TopicName, partition: u32, writes: Vec<(Ticket, Write)>) {
        let writer = self.shared.writer.clone();
        let (tickets, records): (Vec<Ticket>, Vec<_>) =
            writes.into_iter().map(|(ticket, write)| (ticket, (write.key, write.value))).unzip();
        let append = async move {
            let acknowledged = writer.write_all(topic.as_str(), partition, records).await;
            if let Err(error) = &acknowledged {
                tracing::warn!(%topic, partition, %error, "A write was not acknowledged; it is done again.");
            }
            tickets.into_iter().map(|ticket| (ticket, Answer::Written(acknowledged.is_ok()))).collect()
        };
        self.answers.push(append.boxed());
    }

    /// Hands over the first answers and what else is there by now.
    fn take_answers(&mut self, first: Answers) {
        let mut answers = first;
        while answers.len() < ANSWERS_PER_TURN_MAX
            && let Some(Some(more)) = self.answers.next().now_or_never()
        {
            answers.extend(more);
        }
        self.answer(answers);
    }

    /// Hands over the answers to all marks whose fate is known.
    fn take_stored(&mut self) {
        let progress = *self.stored.borrow_and_update();
        let mut answers = Vec::new();
        while let Some((sequence, ticket)) = self.unstored.front().copied()
            && let Some(stored) = progress.answer(sequence)
        {
            self.unstored.pop_front();
            answers.push((ticket, Answer::Marked(stored)));
        }
        self.answer(answers);
    }

    fn answer(&mut self, answers: Answers) {
        let now = self.shared.clock.now();
        let engine = &mut self.engine;
        self.shared.sink.with_gate(|gate| {
            for (ticket, answer) in answers {
                engine.handle_answer(ticket, answer, gate, now);
            }
        });
    }

    /// Ends when the engine wants to be called although nothing happened.
    fn timer(&self) -> impl Future<Output = ()> + use<> {
        let until = self.shared.sink.with_gate(|gate| self.engine.poll_timeout(gate));
        let wait = until.map(|until| self.shared.clock.until(until));
        async move {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        }
    }

    fn report(&self) {
        let position = self.engine.position();
        let progress = Progress { position, in_flight: self.engine.in_flight(), log_end: self.log_end.max(position) };
        self.progress.send_if_modified(|known| std::mem::replace(known, progress) != progress);
    }
}
