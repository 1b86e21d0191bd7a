//! What the fold of the control topic promises.

use proptest::prelude::*;

use super::*;
use crate::{
    Span,
    replay::{Budget, PaceSpec, Range, Source, State, Target},
};

/// A control topic in memory; every record comes a second after the one before.
#[derive(Default)]
struct Log {
    control: Control,
    records: Vec<Record>,
}

impl Log {
    fn say(&mut self, actor: &str, fact: Fact) -> Result<(), Refused> {
        let offset = self.records.len() as i64;
        let record = Record::new(Timestamp(offset * 1_000), actor.to_owned(), id(), fact);
        self.records.push(record.clone());
        self.control.take(offset, record)
    }

    fn create(&mut self, spec: Spec) {
        self.say("ann", Fact::Created { spec: Box::new(spec) }).unwrap();
    }

    fn command(&mut self, actor: &str, command: Command) -> Result<(), Refused> {
        self.say(actor, Fact::Commanded { command, reason: "because".into() })
    }

    /// The fencing token, if the claim was granted.
    fn lease(&mut self, partition: u32, worker: &str, grant: u64) -> Result<i64, Refused> {
        let fence = self.records.len() as i64;
        self.say(worker, Fact::Leased { partition, worker: WorkerId(worker.into()), grant }).map(|()| fence)
    }

    fn checkpoint(&mut self, partition: u32, fence: i64, cursor: i64, tally: Tally) -> Result<(), Refused> {
        self.say("w", Fact::Checkpoint { partition, fence, cursor, tally, ends: false })
    }

    fn give_back(&mut self, partition: u32, fence: i64, cursor: i64, tally: Tally) -> Result<(), Refused> {
        self.say("w", Fact::Checkpoint { partition, fence, cursor, tally, ends: true })
    }

    fn expire(&mut self, partition: u32, fence: i64) -> Result<(), Refused> {
        self.say("other", Fact::Expired { partition, fence })
    }

    fn job(&self) -> &Job {
        self.control.job(&id()).unwrap()
    }

    fn state(&self) -> &'static str {
        self.job().state.name()
    }
}

fn id() -> JobId {
    JobId("job-1".into())
}

/// Two partitions with 100 offsets each.
fn spec() -> Spec {
    Spec {
        source: Source::Dlq,
        ranges: BTreeMap::from([(0, Range { from: 0, to: 100 }), (1, Range { from: 0, to: 100 })]),
        filter: crate::filter::Filter::default(),
        target: Target::Sink,
        pace: PaceSpec::constant(100.0),
        budget: Budget::default(),
        require_approval: false,
        matched: 200,
        owner: "ann".into(),
    }
}

fn with_budget(max_records: u64) -> Spec {
    Spec { budget: Budget { max_records: Some(max_records), max_duration: None }, ..spec() }
}

fn succeeded(count: u64) -> Tally {
    Tally { submitted: count, succeeded: count, ..Tally::default() }
}

#[test]
fn a_job_runs_from_its_first_lease_until_every_partition_is_through() {
    let mut log = Log::default();
    log.create(spec());
    assert_eq!(log.state(), "created");

    for partition in [0, 1] {
        let fence = log.lease(partition, "w", 1_000).unwrap();
        assert_eq!(log.state(), "running");
        log.checkpoint(partition, fence, 60, succeeded(60)).unwrap();
        log.checkpoint(partition, fence, 100, succeeded(100)).unwrap();
    }

    assert_eq!(log.state(), "completed");
    assert_eq!(log.job().tally(), succeeded(200));
    let ways: Vec<_> = log.job().history.iter().map(|step| (step.to, step.actor.as_str())).collect();
    assert_eq!(ways, [("created", "ann"), ("running", "w"), ("completed", "eddy")]);
}

#[test]
fn a_pause_is_acknowledged_when_the_last_lease_has_ended_or_expired() {
    let mut log = Log::default();
    log.create(spec());
    let (first, second) = (log.lease(0, "w", 10).unwrap(), log.lease(1, "v", 10).unwrap());

    log.command("bob", Command::Pause).unwrap();
    assert_eq!(log.lease(0, "x", 10), Err(Refused::Illegal { from: "stopping", to: "running" }));
    log.give_back(0, first, 7, succeeded(7)).unwrap();
    assert_eq!(log.state(), "stopping");
    log.expire(1, second).unwrap();

    assert_eq!(log.job().state, State::Paused { by: "bob".into(), reason: "because".into() });
    log.command("bob", Command::Resume).unwrap();
    assert_eq!(log.state(), "running");
    assert_eq!(log.job().parts[&0].cursor, 7);
}

#[test]
fn of_two_claims_the_earlier_one_in_the_log_holds_the_partition() {
    let mut log = Log::default();
    log.create(spec());
    log.lease(0, "w", 10).unwrap();

    let late = log.lease(0, "v", 10);

    assert_eq!(late, Err(Refused::Held { partition: 0, holder: WorkerId("w".into()) }));
}

#[test]
fn a_worker_that_comes_back_after_its_lease_expired_moves_nothing() {
    let mut log = Log::default();
    log.create(spec());
    let stale = log.lease(0, "w", 10).unwrap();
    log.expire(0, stale).unwrap();
    let fence = log.lease(0, "v", 10).unwrap();
    log.checkpoint(0, fence, 5, succeeded(5)).unwrap();

    assert_eq!(log.checkpoint(0, stale, 9, succeeded(9)), Err(Refused::Stale(stale)));
    assert_eq!(log.expire(0, stale), Err(Refused::Stale(stale)));
    assert_eq!((log.job().parts[&0].cursor, log.job().tally()), (5, succeeded(5)));
}

#[test]
fn a_cursor_goes_neither_back_nor_beyond_the_snapshot() {
    let mut log = Log::default();
    log.create(spec());
    let fence = log.lease(0, "w", 10).unwrap();
    log.checkpoint(0, fence, 50, succeeded(50)).unwrap();

    assert_eq!(log.checkpoint(0, fence, 49, succeeded(49)), Err(Refused::Cursor { at: 50, asked: 49 }));
    assert_eq!(log.checkpoint(0, fence, 101, succeeded(99)), Err(Refused::Cursor { at: 50, asked: 101 }));
}

#[test]
fn a_budget_is_charged_when_a_lease_is_given_and_what_was_not_used_comes_back() {
    let mut log = Log::default();
    log.create(with_budget(50));

    let first = log.lease(0, "w", 40).unwrap();
    let second = log.lease(1, "w", 40).unwrap();
    assert_eq!(log.job().parts[&1].lease.as_ref().unwrap().grant, 10);
    log.give_back(0, first, 20, succeeded(15)).unwrap();
    assert_eq!(log.job().budget_left(), Some(25));
    // Nobody knows what the dead worker sent, so all of it counts.
    log.expire(1, second).unwrap();

    assert_eq!(log.job().budget_left(), Some(25));
}

#[test]
fn a_job_whose_budget_is_used_up_ends() {
    let mut log = Log::default();
    log.create(with_budget(10));
    let fence = log.lease(0, "w", 10).unwrap();
    assert_eq!(log.lease(1, "w", 10), Err(Refused::Budget(10)));

    log.give_back(0, fence, 10, succeeded(10)).unwrap();

    assert_eq!(log.state(), "aborted");
    assert_eq!(log.job().history.last().unwrap().reason, "the budget is used up");
}

#[test]
fn a_job_that_takes_longer_than_it_may_stops_at_its_next_checkpoint() {
    let mut log = Log::default();
    let budget = Budget { max_records: None, max_duration: Some(Span::from_secs(2)) };
    log.create(Spec { budget, ..spec() });
    let fence = log.lease(0, "w", 10).unwrap();
    log.checkpoint(0, fence, 1, succeeded(1)).unwrap();
    assert_eq!(log.state(), "running");

    log.checkpoint(0, fence, 2, succeeded(2)).unwrap();
    assert_eq!(log.state(), "stopping");
    log.give_back(0, fence, 3, succeeded(3)).unwrap();

    assert_eq!(log.state(), "aborted");
}

#[test]
fn a_job_that_needs_approval_waits_for_somebody_else_than_its_owner() {
    let mut log = Log::default();
    log.create(Spec { require_approval: true, ..spec() });

    assert_eq!(log.lease(0, "w", 10), Err(Refused::NotApproved));
    assert_eq!(log.command("ann", Command::Approve), Err(Refused::OwnApproval("ann".into())));
    log.command("bob", Command::Approve).unwrap();

    assert!(log.lease(0, "w", 10).is_ok());
}

#[test]
fn more_than_one_parked_in_twenty_pauses_the_job_until_somebody_has_looked() {
    let parked = |parked, succeeded| Tally { submitted: parked + succeeded, parked, succeeded, ..Tally::default() };
    let mut log = Log::default();
    log.create(spec());
    let fence = log.lease(0, "w", 1_000).unwrap();
    log.checkpoint(0, fence, 40, parked(40, 0)).unwrap();
    assert_eq!(log.state(), "running", "40 are too few to say anything");

    log.give_back(0, fence, 90, parked(40, 60)).unwrap();
    assert_eq!(log.state(), "paused");
    assert!(log.job().history.last().unwrap().reason.contains("5 %"));
    log.command("ann", Command::Resume).unwrap();
    let fence = log.lease(0, "w", 1_000).unwrap();
    log.checkpoint(0, fence, 95, parked(41, 64)).unwrap();

    assert_eq!(log.state(), "running", "what was parked before is known");
}

#[test]
fn what_is_refused_stays_in_the_audit_trail_with_the_reason() {
    let mut log = Log::default();
    log.create(spec());
    log.command("bob", Command::Resume).unwrap_err();

    let job = id();
    let lines: Vec<_> = log.control.audit(&job).map(|line| (line.offset, line.refused.is_some())).collect();

    assert_eq!(lines, [(0, false), (1, true)]);
}

#[test]
fn a_record_that_is_read_again_changes_nothing() {
    let mut log = Log::default();
    log.create(spec());
    log.lease(0, "w", 10).unwrap();
    let before = log.job().clone();

    for (offset, record) in (0..).zip(log.records.clone()) {
        log.control.take(offset, record).unwrap();
    }

    assert_eq!(*log.job(), before);
}

fn anything() -> impl Strategy<Value = (u8, u32, i64, u64)> {
    (0_u8..8, 0_u32..3, 0_i64..40, 0_u64..60)
}

/// Says one thing or another; whether it is refused is the fold's business.
fn say(log: &mut Log, (what, partition, number, count): (u8, u32, i64, u64)) {
    let holder = log.job().parts.get(&partition).and_then(|part| part.lease.as_ref().map(|lease| lease.fence));
    let fence = if count % 4 == 0 { number } else { holder.unwrap_or(number) };
    let part = log.job().parts.get(&partition).cloned();
    let sent = part.map_or(Tally::default(), |part| {
        let allowance = part.allowance();
        let mut tally = part.tally;
        (0..count.min(allowance)).for_each(|_| tally.count(crate::replay::End::Succeeded));
        tally
    });
    // Refusals are the point as much as acceptances.
    drop(match what {
        0 => log.command("bob", Command::Pause),
        1 => log.command("bob", Command::Resume),
        2 if number == 0 => log.command("bob", Command::Abort),
        3 | 2 => log.lease(partition, "w", count).map(drop),
        4 => log.expire(partition, fence),
        5 => log.give_back(partition, fence, number * 3, sent),
        _ => log.checkpoint(partition, fence, number * 3, sent),
    });
}

/// The only ways out of a state.
const EDGES: [(&str, &str); 12] = [
    ("created", "running"),
    ("created", "stopping"),
    ("running", "stopping"),
    ("running", "completed"),
    ("running", "aborted"),
    ("stopping", "stopping"),
    ("stopping", "paused"),
    ("stopping", "aborted"),
    ("stopping", "completed"),
    ("paused", "running"),
    ("paused", "stopping"),
    ("created", "completed"),
];

proptest! {
    /// Whatever is said in whatever order: transitions are edges of the graph with an actor and a reason, cursors do not go back,
    /// nothing happens after the end, and never more is granted and sent than the budget allows.
    #[test]
    fn no_order_of_records_breaks_a_job(said in proptest::collection::vec(anything(), 1..120)) {
        const BUDGET: u64 = 150;
        let mut log = Log::default();
        log.create(with_budget(BUDGET));
        for what in said {
            let before = log.job().clone();
            say(&mut log, what);
            let job = log.job();
            prop_assert!(!before.state.is_final() || *job == before);
            for (partition, part) in &job.parts {
                prop_assert!(part.cursor >= before.parts[partition].cursor);
            }
            let sent_at_most: u64 = job.parts.values().map(|part| part.tally.submitted + part.allowance()).sum();
            prop_assert!(sent_at_most <= BUDGET);
        }
        for step in &log.job().history[1..] {
            prop_assert!(EDGES.contains(&(step.from.unwrap(), step.to)), "{step:?}");
            prop_assert!(!step.actor.is_empty() && !step.reason.is_empty());
        }
    }
}

#[test]
fn records_come_back_from_their_json_as_they_went() {
    let mut log = Log::default();
    log.create(Spec { budget: Budget { max_records: Some(7), max_duration: Some(Span::from_secs(90)) }, ..spec() });
    let fence = log.lease(1, "w", 5).unwrap();
    log.checkpoint(1, fence, 3, succeeded(3)).unwrap();
    log.command("bob", Command::Pause).unwrap();
    log.expire(1, fence).unwrap();

    for record in log.records {
        let json = serde_json::to_string(&record).unwrap();

        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record, "{json}");
    }
}
