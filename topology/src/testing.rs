//! A topology in a test: virtual time, no broker.
//!
//! The driver runs the production [`Engine`] of every road and partition, judges with the functions that the modules are
//! built from, and keeps topics, guard and downstream in memory. Records that an engine writes are read by the next one,
//! as in the host. Time moves only by [`TestDriver::advance`].
//!
//! ```
//! use eddy_topology::testing::{Answer, TestDriver};
//!
//! let mut driver = TestDriver::default();
//! driver.downstream().fails("device-1", Answer::Status(503));
//!
//! let id = driver.trigger("device-1");
//! driver.advance("10m");
//!
//! let dead = driver.dead_letter(&id);
//! assert_eq!(dead.reason.as_deref(), Some("exhausted:unavailable"));
//! assert_eq!(dead.attempts.delivery, 4);
//! ```

mod downstream;
mod guard;
mod judge;
mod log;
mod trigger;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use eddy_contract::{Envelope, RecordId};

use crate::{
    Definition, Engine, Gate, Road, Span, Timestamp, TopicName, Topology,
    audit::{Audit, Place, Report},
    effect::{Answer as EffectAnswer, Effect, Note, Ticket},
    letters::Letters,
};

pub use downstream::{Answer, Downstream, Received};
pub use guard::Guard;
pub use log::{Log, Stored};
pub use trigger::trigger_json;

/// When every driver begins: 2026-11-30 00:00 UTC.
pub const START: Timestamp = Timestamp(1_795_996_800_000);

/// More rounds than this without time moving mean that an engine spins.
const ROUNDS_MAX: usize = 100_000;

type EngineId = (Road, u32);

/// See the module's documentation.
#[derive(Debug)]
pub struct TestDriver {
    topology: Arc<Topology>,
    now: Timestamp,
    log: Log,
    guard: Guard,
    downstream: Downstream,
    gate: Gate,
    engines: BTreeMap<EngineId, Engine>,
    /// By topic, as a cluster has them: roads are another definition's tomorrow.
    committed: BTreeMap<(TopicName, u32), i64>,
    commits_by_itself: bool,
    /// Answers of the downstream that are still on their way, in the order in which they arrive.
    on_their_way: BTreeMap<(Timestamp, u64), (EngineId, Ticket, EffectAnswer)>,
    answers: u64,
    notes: Vec<Note>,
    unwritable: BTreeSet<String>,
    /// Half effects until the host dies; an effect is begun and answered.
    fuse: Option<usize>,
    crashes: usize,
}

impl Default for TestDriver {
    fn default() -> Self {
        Self::new(&Definition::default())
    }
}

impl TestDriver {
    /// A driver at [`START`] with empty topics.
    ///
    /// # Panics
    /// When the definition has mistakes.
    pub fn new(definition: &Definition) -> Self {
        let topology = Arc::new(Topology::try_new(definition).expect("a test's definition has no mistakes"));
        let mut driver = Self {
            now: START,
            log: Log::default(),
            guard: Guard::default(),
            downstream: Downstream::default(),
            gate: topology.gate(),
            engines: BTreeMap::new(),
            committed: BTreeMap::new(),
            commits_by_itself: true,
            on_their_way: BTreeMap::new(),
            answers: 0,
            notes: Vec::new(),
            unwritable: BTreeSet::new(),
            fuse: None,
            crashes: 0,
            topology,
        };
        driver.start();
        driver
    }

    /// The topology that runs.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The present.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// What the downstream answers.
    pub const fn downstream(&mut self) -> &mut Downstream {
        &mut self.downstream
    }

    /// What the guard knows.
    pub const fn guard(&mut self) -> &mut Guard {
        &mut self.guard
    }

    /// The sink's gate.
    pub const fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// The engine of a road through a partition.
    pub fn engine(&mut self, road: Road, partition: u32) -> &mut Engine {
        self.engines.get_mut(&(road, partition)).expect("the driver has an engine for every road and partition")
    }

    /// Produces to partition 0 of the source.
    pub fn send(&mut self, key: Option<&[u8]>, value: &[u8]) -> RecordId {
        self.send_to(0, key, value)
    }

    /// Produces to a partition of the source.
    pub fn send_to(&mut self, partition: u32, key: Option<&[u8]>, value: &[u8]) -> RecordId {
        let source = self.topology.names().source.as_str().to_owned();
        self.put(&source, partition, key, value)
    }

    /// Produces a valid trigger of `device`, keyed by it, that differs from all before.
    pub fn trigger(&mut self, device: &str) -> RecordId {
        let json = self.next_trigger(device);
        self.send(Some(device.as_bytes()), json.as_bytes())
    }

    /// The text of a valid trigger of `device` that differs from all before.
    pub fn next_trigger(&mut self, device: &str) -> String {
        let number = self.log.records();
        trigger_json(device, self.now, number)
    }

    /// Writes to any topic, as a foreign hand would, and lets the engines run.
    pub fn put(&mut self, topic: &str, partition: u32, key: Option<&[u8]>, value: &[u8]) -> RecordId {
        let id = self.put_silently(topic, partition, key, value);
        self.run();
        id
    }

    /// Writes to any topic and lets nothing run.
    pub fn put_silently(&mut self, topic: &str, partition: u32, key: Option<&[u8]>, value: &[u8]) -> RecordId {
        let key = key.map(Bytes::copy_from_slice);
        let offset = self.log.append(topic, partition, self.now, key, Bytes::copy_from_slice(value));
        RecordId { topic: topic.to_owned(), partition, offset, part: 0 }
    }

    /// Moves the time on, stopping wherever something is due.
    pub fn advance(&mut self, span: &str) {
        let span: Span = span.parse().expect("a span such as `30s`");
        let until = self.now.plus(span);
        self.run();
        while let Some(next) = self.next_event().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.run();
        }
        self.now = until;
        self.run();
    }

    /// Writes to a topic fail from now on.
    pub fn make_unwritable(&mut self, topic: &str) {
        self.unwritable.insert(topic.to_owned());
    }

    /// Writes to a topic succeed again.
    pub fn make_writable(&mut self, topic: &str) {
        self.unwritable.remove(topic);
    }

    /// From now on positions are stored by [`TestDriver::commit`] only.
    pub const fn commit_on_demand(&mut self) {
        self.commits_by_itself = false;
    }

    /// Stores the positions of all engines.
    pub fn commit(&mut self) {
        let topology = &self.topology;
        let position = |(&(road, partition), engine): (&EngineId, &Engine)| {
            ((road.topic(topology).clone(), partition), engine.position())
        };
        self.committed.extend(self.engines.iter().map(position));
    }

    /// The stored position of a road through a partition.
    pub fn committed(&self, road: Road, partition: u32) -> i64 {
        self.committed.get(&(road.topic(&self.topology).clone(), partition)).copied().unwrap_or(0)
    }

    /// Kills the host and starts another one: what was in memory is gone, the log and what was on disk are not.
    pub fn crash(&mut self) {
        self.crashes += 1;
        self.fuse = None;
        self.on_their_way.clear();
        self.guard.crash();
        self.gate = self.topology.gate();
        self.start();
    }

    /// Stops the host and starts it with another definition on the same log, guard and downstream.
    ///
    /// # Panics
    /// When the definition has mistakes.
    pub fn redefine(&mut self, definition: &Definition) {
        let topology = Topology::try_new(definition).expect("a test's definition has no mistakes");
        self.topology = Arc::new(topology.with_leftovers(self.log.names()));
        self.crash();
        self.run();
    }

    /// Kills the host after so many half effects: an even number just before an effect is carried out, an odd one just
    /// before its answer comes back.
    pub const fn crash_after(&mut self, half_effects: usize) {
        self.fuse = Some(half_effects);
    }

    /// How often the host was killed.
    pub const fn crashes(&self) -> usize {
        self.crashes
    }

    /// Everything that was noted.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Everything the downstream was sent.
    pub fn received(&self) -> &[Received] {
        self.downstream.received()
    }

    /// When and with what the record with this id was sent: milliseconds since [`START`].
    pub fn tries_of(&self, id: &RecordId) -> Vec<i64> {
        self.received().iter().filter(|sent| sent.id == *id).map(|sent| sent.at.since_ms(START)).collect()
    }

    /// Everything in a topic, partition by partition.
    pub fn topic(&self, topic: &str) -> Vec<&Stored> {
        self.log.topic(topic)
    }

    /// The envelopes in a topic; what is none is left out.
    pub fn letters(&self, topic: &str) -> Vec<Envelope> {
        self.topic(topic).iter().filter_map(|stored| Envelope::decode(&stored.value).ok()).collect()
    }

    /// All dead letters.
    pub fn dead_letters(&self) -> Vec<Envelope> {
        self.letters(self.topology.names().dlq.as_str())
    }

    /// The one dead letter with this id.
    ///
    /// # Panics
    /// When there is none, or more than one.
    pub fn dead_letter(&self, id: &RecordId) -> Envelope {
        let mut letters: Vec<_> = self.dead_letters().into_iter().filter(|letter| letter.id == *id).collect();
        assert_eq!(letters.len(), 1, "dead letters with id {id}");
        letters.remove(0)
    }

    /// Ids of the records that wait on a tier.
    pub fn on_tier(&self, tier: usize) -> Vec<RecordId> {
        let topic = self.topology.tiers()[tier].topic.as_str();
        let waits = |stored: &&&Stored| stored.offset >= self.engines[&(Road::Tier(tier), stored.partition)].position();
        let waiting = self.topic(topic);
        let waiting = waiting.iter().filter(waits);
        waiting.filter_map(|stored| Envelope::decode(&stored.value).ok()).map(|envelope| envelope.id).collect()
    }

    /// Where every record of the source is.
    pub fn audit(&self) -> Report {
        let mut audit = Audit::default();
        let names = self.topology.names();
        for stored in self.log.topic(names.source.as_str()) {
            self.audit_source(&mut audit, stored);
        }
        let mut waiting = vec![(Road::Route, Place::Failures)];
        waiting.extend((0..self.topology.tiers().len()).map(|tier| (Road::Tier(tier), Place::Tier(tier))));
        for (road, place) in waiting {
            for stored in self.log.topic(road.topic(&self.topology).as_str()) {
                if let Ok(envelope) = Envelope::decode(&stored.value)
                    && stored.offset >= self.committed(road, stored.partition)
                {
                    audit.found(&envelope.id, place.clone());
                }
            }
        }
        let mut letters = Letters::default();
        for stored in self.log.topic(names.dlq.as_str()) {
            letters.add(stored.partition, stored.offset, Envelope::decode(&stored.value).expect("eddy wrote it"));
        }
        audit.dead_letters(&letters);
        let tiers: Vec<String> = self.topology.tiers().iter().map(|tier| tier.delay.to_string()).collect();
        audit.finish(&tiers)
    }

    fn audit_source(&self, audit: &mut Audit, stored: &Stored) {
        let topic = self.topology.names().source.as_str().to_owned();
        let id = RecordId { topic, partition: stored.partition, offset: stored.offset, part: 0 };
        audit.source(id.clone());
        if stored.offset >= self.committed(Road::Intake, stored.partition) {
            audit.found(&id, Place::Unread);
        } else if judge::effect_of(&self.topology, stored).is_some_and(|effect| self.guard.is_done(&effect)) {
            audit.found(&id, Place::Delivered);
        }
    }

    /// Whether no engine has anything unsettled or unread.
    pub fn is_settled(&self) -> bool {
        self.engines.iter().all(|((road, partition), engine)| {
            engine.is_idle() && engine.position() == self.log.end(road.topic(&self.topology).as_str(), *partition)
        })
    }

    fn start(&mut self) {
        self.log.create_topics(&self.topology);
        self.engines.clear();
        for road in Road::all(&self.topology) {
            for partition in 0..self.topology.partitions() {
                let engine = Engine::new(self.topology.clone(), road, partition, self.committed(road, partition));
                self.engines.insert((road, partition), engine);
            }
        }
    }

    /// Lets every engine run until nothing more happens at this time.
    fn run(&mut self) {
        for round in 0.. {
            assert!(round < ROUNDS_MAX, "an engine spins at {:?}", self.now);
            let mut did_something = self.deliver_answers();
            let ids: Vec<EngineId> = self.engines.keys().copied().collect();
            for id in ids {
                did_something |= self.run_engine(id);
            }
            if self.commits_by_itself {
                self.commit();
            }
            if !did_something {
                return;
            }
        }
    }

    fn run_engine(&mut self, id: EngineId) -> bool {
        let (now, crashes) = (self.now, self.crashes);
        let mut did_something = self.feed(id);
        self.engine(id.0, id.1).handle_timeout(now);
        while let Some(effect) = self.poll(id) {
            did_something = true;
            self.carry_out(id, effect);
            if self.crashes > crashes {
                return true;
            }
        }
        did_something
    }

    fn poll(&mut self, id: EngineId) -> Option<Effect> {
        self.engines.get_mut(&id)?.poll_effect(&mut self.gate, self.now)
    }

    fn feed(&mut self, (road, partition): EngineId) -> bool {
        let topic = road.topic(&self.topology).as_str().to_owned();
        let engine = self.engines.get_mut(&(road, partition)).expect("asked for by id");
        let mut fed = false;
        while engine.wants(&self.gate) > 0
            && let Some(stored) = self.log.get(&topic, partition, engine.next_offset())
        {
            let input = match road {
                Road::Intake => judge::by_validate(&self.topology, stored),
                Road::Route => judge::by_classify(&self.topology, stored),
                Road::Tier(_) => judge::not_at_all(stored),
            };
            engine.handle_input(input, self.now);
            fed = true;
        }
        fed
    }

    fn carry_out(&mut self, id: EngineId, effect: Effect) {
        if self.burn_fuse() {
            return;
        }
        let (ticket, answer, after) = match effect {
            Effect::Note(note) => {
                self.notes.push(note);
                return;
            }
            Effect::Release { effect } => {
                self.guard.release(&effect);
                return;
            }
            Effect::Claim { ticket, effect } => {
                (ticket, EffectAnswer::Claim(self.guard.claim(&effect)), Span::default())
            }
            Effect::Mark { ticket, effect, horizon } => {
                (ticket, EffectAnswer::Marked(self.guard.mark(effect, horizon)), Span::default())
            }
            Effect::Write { ticket, write } => {
                let topic = write.topic.as_str();
                let can_write = !self.unwritable.contains(topic);
                if can_write {
                    self.log.append(topic, write.partition, self.now, write.key, write.value);
                }
                (ticket, EffectAnswer::Written(can_write), Span::default())
            }
            Effect::Deliver { ticket, delivery } => {
                let (outcome, after) = self.downstream.receive(delivery, self.now);
                (ticket, EffectAnswer::Outcome(outcome), after)
            }
        };
        if self.burn_fuse() {
            return;
        }
        if after.is_zero() {
            self.answer(id, ticket, answer);
        } else {
            self.answers += 1;
            self.on_their_way.insert((self.now.plus(after), self.answers), (id, ticket, answer));
        }
    }

    fn answer(&mut self, id: EngineId, ticket: Ticket, answer: EffectAnswer) {
        let engine = self.engines.get_mut(&id).expect("answers are forgotten when engines are");
        engine.handle_answer(ticket, answer, &mut self.gate, self.now);
    }

    fn deliver_answers(&mut self) -> bool {
        let mut delivered = false;
        while let Some(entry) = self.on_their_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (id, ticket, answer) = entry.remove();
            self.answer(id, ticket, answer);
            delivered = true;
        }
        delivered
    }

    /// Whether the host died just now.
    fn burn_fuse(&mut self) -> bool {
        let Some(left) = self.fuse else { return false };
        self.fuse = left.checked_sub(1);
        if left == 0 {
            self.crash();
        }
        left == 0
    }

    fn next_event(&self) -> Option<Timestamp> {
        let engines = self.engines.values().filter_map(|engine| engine.poll_timeout(&self.gate));
        let next = engines.chain(self.on_their_way.keys().map(|(at, _)| *at)).min();
        assert!(
            next.is_none_or(|at| at > self.now),
            "an engine asks to be woken at a time that has come: it would spin"
        );
        next
    }
}
