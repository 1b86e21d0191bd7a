//! One job: its states, which way they go, and who works on which of its partitions.
//!
//! ```text
//!  created ──(approved, first lease)──► running ──► stopping ──► paused
//!     │                                   │  ▲         │            │
//!     │                                   │  └─resume──┼────────────┤
//!     └───────────── abort ──────────────►│            ▼            ▼
//!                                         ├──────► aborted ◄────────┘
//!                                         └──────► completed
//! ```
//!
//! A job that is told to pause or to abort while somebody works is *stopping*: it is paused, or aborted, once the last lease
//! has ended or expired, and from then on nothing is sent. The cursor of a partition moves only by a checkpoint of the lease
//! that holds it, and never back.
//!
//! It knows the log only as far as offsets are fencing tokens. Reading and writing the control topic is the host's business.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{Range, Spec, Tally};
use crate::time::Timestamp;

/// Attempts since the job last began to run before the share of parked ones means something.
const PARKED_SAMPLE_MIN: u64 = 100;

/// The share of parked ones, percent, above which what was wrong is not repaired yet.
const PARKED_PERCENT_MAX: u64 = 5;

/// Who decides in eddy's own name.
pub(super) const EDDY: &str = "eddy";

/// Names a job; chosen by who creates it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub String);

/// Names one process that works on jobs, for as long as it lives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub String);

/// Where a job is. Each state owns what is known only in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nobody has begun; without approval nobody may.
    Created {
        /// By whom, if it needs to be.
        approved: bool,
    },
    /// Workers may take leases.
    Running,
    /// No lease is given any more, and some have not ended.
    Stopping {
        /// What it becomes then.
        then: Stop,
        /// Who wanted it.
        by: String,
        /// Why.
        reason: String,
    },
    /// Nothing is sent until somebody resumes it.
    Paused {
        /// Who wanted it.
        by: String,
        /// Why.
        reason: String,
    },
    /// Every partition is through.
    Completed,
    /// Nothing is sent ever again.
    Aborted {
        /// Who wanted it.
        by: String,
        /// Why.
        reason: String,
    },
}

/// What a job that is stopping becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It can go on later.
    Pause,
    /// It cannot.
    Abort,
}

/// The right of one worker to send from one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lease {
    /// Whose.
    pub worker: WorkerId,
    /// The offset of its claim in the control topic.
    pub fence: i64,
    /// How many may be sent under it; charged to the budget when it was given.
    pub grant: u64,
    /// What had been sent from this partition before.
    submitted_before: u64,
}

/// How far one partition is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What is to be read.
    pub range: Range,
    /// Everything below it has ended.
    pub cursor: i64,
    /// What became of it.
    pub tally: Tally,
    /// Who works on it.
    pub lease: Option<Lease>,
}

/// One change of a job's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// When.
    pub at: Timestamp,
    /// The state that was left; `None` for the first.
    pub from: Option<&'static str>,
    /// The state that was entered.
    pub to: &'static str,
    /// Who caused it.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// Why a record of the control topic changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing of it is in the log.
    #[error("there is no job {0}")]
    Unknown(JobId),
    /// A second one of the same name.
    #[error("there is a job {0} already")]
    Known(JobId),
    /// That way does not lead out of that state.
    #[error("a job that is {from} cannot become {to}")]
    Illegal {
        /// The state that it is in.
        from: &'static str,
        /// The state that was asked for.
        to: &'static str,
    },
    /// Whoever ordered a job does not approve it.
    #[error("{0} ordered this job, so somebody else has to approve it")]
    OwnApproval(String),
    /// The job may not run as long as nobody has approved it.
    #[error("the job waits for approval")]
    NotApproved,
    /// The job has no such partition, or it is through.
    #[error("partition {0} has nothing to be done")]
    NothingToDo(u32),
    /// An earlier claim holds the partition.
    #[error("partition {partition} is held by {holder}", holder = .holder.0)]
    Held {
        /// Which.
        partition: u32,
        /// By whom.
        holder: WorkerId,
    },
    /// It belongs to a lease that has ended, or to none.
    #[error("the lease {0} has ended")]
    Stale(i64),
    /// A cursor never goes back, and never beyond the snapshot.
    #[error("the cursor is at {at} and does not go to {asked}")]
    Cursor {
        /// Where it is.
        at: i64,
        /// Where it was asked to go.
        asked: i64,
    },
    /// Everything that may be sent is sent, or granted.
    #[error("the budget of {0} records is used up")]
    Budget(u64),
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// What it was told.
    pub spec: Spec,
    /// When it was ordered.
    pub created: Timestamp,
    /// Where it is.
    pub state: State,
    /// How far each partition is.
    pub parts: BTreeMap<u32, Part>,
    /// Every change of its state.
    pub history: Vec<Transition>,
    /// Granted or sent, of the budget.
    charged: u64,
    /// The tally when it last began to run.
    baseline: Tally,
}

impl State {
    /// The word for it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Running => "running",
            Self::Stopping { .. } => "stopping",
            Self::Paused { .. } => "paused",
            Self::Completed => "completed",
            Self::Aborted { .. } => "aborted",
        }
    }

    /// Nothing changes any more.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Aborted { .. })
    }
}

impl Lease {
    const fn used(&self, tally: &Tally) -> u64 {
        tally.submitted.saturating_sub(self.submitted_before)
    }
}

impl Stop {
    const fn state(self, by: String, reason: String) -> State {
        match self {
            Self::Pause => State::Paused { by, reason },
            Self::Abort => State::Aborted { by, reason },
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Abort => "aborted",
        }
    }
}

impl Part {
    /// How many more may be sent from here under the lease that holds it.
    pub fn allowance(&self) -> u64 {
        self.lease.as_ref().map_or(0, |lease| lease.grant.saturating_sub(lease.used(&self.tally)))
    }

    /// Whether everything of it has ended.
    pub const fn is_through(&self) -> bool {
        self.cursor >= self.range.to
    }
}

impl Job {
    pub(super) fn new(id: JobId, spec: Spec, actor: &str, at: Timestamp) -> Self {
        let part = |range: &Range| Part { range: *range, cursor: range.from, tally: Tally::default(), lease: None };
        let parts = spec.ranges.iter().map(|(partition, range)| (*partition, part(range))).collect();
        let state = State::Created { approved: !spec.require_approval };
        let first =
            Transition { at, from: None, to: state.name(), actor: actor.to_owned(), reason: "ordered".to_owned() };
        let (charged, baseline) = (0, Tally::default());
        let mut job = Self { id, spec, created: at, state, parts, history: vec![first], charged, baseline };
        job.look(at);
        job
    }

    /// What became of all letters so far.
    pub fn tally(&self) -> Tally {
        self.parts.values().fold(Tally::default(), |mut sum, part| {
            sum += part.tally;
            sum
        })
    }

    /// How many more may be granted; `None` without a budget.
    pub fn budget_left(&self) -> Option<u64> {
        self.spec.budget.max_records.map(|max| max.saturating_sub(self.charged))
    }

    pub(super) fn approve(&mut self, actor: &str) -> Result<(), Refused> {
        match &mut self.state {
            State::Created { approved } if actor != self.spec.owner => {
                *approved = true;
                Ok(())
            }
            State::Created { .. } => Err(Refused::OwnApproval(actor.to_owned())),
            State::Running
            | State::Stopping { .. }
            | State::Paused { .. }
            | State::Completed
            | State::Aborted { .. } => Err(Refused::Illegal { from: self.state.name(), to: "approved" }),
        }
    }

    pub(super) fn stop(&mut self, then: Stop, actor: &str, reason: &str, at: Timestamp) -> Result<(), Refused> {
        match (&self.state, then) {
            (State::Running, _) | (State::Created { .. } | State::Paused { .. }, Stop::Abort) => {}
            // Who wants it to end for good is heard, too, while it still stops for a while.
            (State::Stopping { then: Stop::Pause, .. }, Stop::Abort) => {}
            (state, _) => return Err(Refused::Illegal { from: state.name(), to: then.name() }),
        }
        self.begin_stop(then, actor, reason, at);
        self.look(at);
        Ok(())
    }

    pub(super) fn resume(&mut self, actor: &str, reason: &str, at: Timestamp) -> Result<(), Refused> {
        let State::Paused { .. } = self.state else {
            return Err(Refused::Illegal { from: self.state.name(), to: "running" });
        };
        self.run(actor, reason, at);
        Ok(())
    }

    pub(super) fn lease(
        &mut self,
        partition: u32,
        worker: WorkerId,
        grant: u64,
        fence: i64,
        at: Timestamp,
    ) -> Result<(), Refused> {
        match self.state {
            State::Running | State::Created { approved: true } => {}
            State::Created { approved: false } => return Err(Refused::NotApproved),
            State::Stopping { .. } | State::Paused { .. } | State::Completed | State::Aborted { .. } => {
                return Err(Refused::Illegal { from: self.state.name(), to: "running" });
            }
        }
        let left = self.budget_left();
        let grant = left.map_or(grant, |left| grant.min(left));
        let part = self.parts.get_mut(&partition).filter(|part| !part.is_through());
        let part = part.ok_or(Refused::NothingToDo(partition))?;
        if let Some(lease) = &part.lease {
            return Err(Refused::Held { partition, holder: lease.worker.clone() });
        }
        if let (0, Some(max)) = (grant, self.spec.budget.max_records) {
            return Err(Refused::Budget(max));
        }
        let submitted_before = part.tally.submitted;
        let by = worker.0.clone();
        part.lease = Some(Lease { worker, fence, grant, submitted_before });
        self.charged += grant;
        if matches!(self.state, State::Created { .. }) {
            self.run(&by, "a worker has begun", at);
        }
        Ok(())
    }

    /// `ends`: the worker gives its lease back, and with it what it did not use of its grant.
    pub(super) fn checkpoint(
        &mut self,
        partition: u32,
        fence: i64,
        cursor: i64,
        tally: Tally,
        ends: bool,
        at: Timestamp,
    ) -> Result<(), Refused> {
        let part = self.parts.get_mut(&partition).ok_or(Refused::NothingToDo(partition))?;
        let lease = part.lease.as_ref().filter(|lease| lease.fence == fence).ok_or(Refused::Stale(fence))?;
        if cursor < part.cursor || cursor > part.range.to {
            return Err(Refused::Cursor { at: part.cursor, asked: cursor });
        }
        let unused = lease.grant.saturating_sub(lease.used(&tally));
        (part.cursor, part.tally) = (cursor, tally);
        if ends || part.is_through() {
            part.lease = None;
            self.charged -= unused;
        }
        self.look(at);
        Ok(())
    }

    /// What the worker was granted counts as sent: nobody knows how much of it was.
    pub(super) fn expire(&mut self, partition: u32, fence: i64, at: Timestamp) -> Result<(), Refused> {
        let part = self.parts.get_mut(&partition).ok_or(Refused::NothingToDo(partition))?;
        part.lease.take_if(|lease| lease.fence == fence).ok_or(Refused::Stale(fence))?;
        self.look(at);
        Ok(())
    }

    /// What follows by itself from where the job is now.
    fn look(&mut self, at: Timestamp) {
        if self.state.is_final() {
            return;
        }
        let is_idle = self.parts.values().all(|part| part.lease.is_none());
        if self.parts.values().all(Part::is_through) {
            self.enter(State::Completed, EDDY, "every partition is through", at);
        } else if let (State::Stopping { then, by, reason }, true) = (self.state.clone(), is_idle) {
            self.enter(then.state(by.clone(), reason.clone()), &by, &reason, at);
        } else if self.state == State::Running && is_idle && self.budget_left() == Some(0) {
            let reason = "the budget is used up";
            self.enter(State::Aborted { by: EDDY.to_owned(), reason: reason.to_owned() }, EDDY, reason, at);
        } else if self.state == State::Running && self.is_overdue(at) {
            self.begin_stop(Stop::Abort, EDDY, "the time that it may take is over", at);
            self.look(at);
        } else if self.state == State::Running && self.parks_too_many() {
            let reason = format!("more than {PARKED_PERCENT_MAX} % of what was attempted had to be parked");
            self.begin_stop(Stop::Pause, EDDY, &reason, at);
            self.look(at);
        }
    }

    fn is_overdue(&self, at: Timestamp) -> bool {
        self.spec.budget.max_duration.is_some_and(|max| at.since_ms(self.created) > max.as_ms())
    }

    /// Counted since the job last began to run, so that somebody who has looked can let it go on.
    fn parks_too_many(&self) -> bool {
        let (now, then) = (self.tally(), self.baseline);
        let attempted = now.attempted() - then.attempted();
        let parked = now.parked - then.parked;
        attempted >= PARKED_SAMPLE_MIN && parked * 100 > attempted * PARKED_PERCENT_MAX
    }

    fn run(&mut self, actor: &str, reason: &str, at: Timestamp) {
        self.baseline = self.tally();
        self.enter(State::Running, actor, reason, at);
    }

    fn begin_stop(&mut self, then: Stop, by: &str, reason: &str, at: Timestamp) {
        let stopping = State::Stopping { then, by: by.to_owned(), reason: reason.to_owned() };
        self.enter(stopping, by, reason, at);
    }

    fn enter(&mut self, to: State, actor: &str, reason: &str, at: Timestamp) {
        let transition = Transition {
            at,
            from: Some(self.state.name()),
            to: to.name(),
            actor: actor.to_owned(),
            reason: reason.to_owned(),
        };
        self.history.push(transition);
        self.state = to;
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
