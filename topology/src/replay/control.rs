//! The control topic as it stands: the fold of its records into jobs.
//!
//! Every reader folds the same records in the same order, so all of them know the same jobs, the same holders and the
//! same audit trail. A record that is refused stays in the log and in the audit, with the reason; it changes nothing.
//! Records of later versions that cannot be read are for the reader to report; here they do not arrive.

use std::collections::{BTreeMap, btree_map::Entry};

use serde::{Deserialize, Serialize};

use super::{Job, JobId, Refused, Spec, Tally, WorkerId, job::Stop};
use crate::time::Timestamp;

/// The version that this build writes.
const VERSION: u16 = 1;

/// One record of the control topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of the format.
    pub v: u16,
    /// On the writer's clock.
    pub at: Timestamp,
    /// Who says it: a person, or a worker.
    pub actor: String,
    /// About which job.
    pub job: JobId,
    /// What it says.
    pub fact: Fact,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// There is a new job.
    Created {
        /// What it is told.
        spec: Box<Spec>,
    },
    /// Somebody wants something of it.
    Commanded {
        /// What.
        command: Command,
        /// Why.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// A worker claims a partition. The record's offset is the fencing token.
    Leased {
        /// Which.
        partition: u32,
        /// For whom.
        worker: WorkerId,
        /// How many records it may send.
        grant: u64,
    },
    /// Everything of a partition up to the cursor has ended.
    Checkpoint {
        /// Which.
        partition: u32,
        /// The offset of the claim under which it was done.
        fence: i64,
        /// The next offset.
        cursor: i64,
        /// Of the whole partition, from its first offset to the cursor.
        tally: Tally,
        /// Whether the worker gives the lease back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends: bool,
    },
    /// Nothing was heard of a lease for longer than leases live.
    Expired {
        /// Which.
        partition: u32,
        /// The offset of its claim.
        fence: i64,
    },
}

/// What can be wanted of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Let it run; by somebody else than who ordered it.
    Approve,
    /// Send nothing until it is resumed.
    Pause,
    /// Go on.
    Resume,
    /// Send nothing ever again.
    Abort,
}

/// A line of the audit trail.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Of the record in the control topic.
    pub offset: i64,
    /// What was said, and by whom.
    pub record: Record,
    /// Why it changed nothing, if so.
    pub refused: Option<Refused>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Control {
    jobs: BTreeMap<JobId, Job>,
    audit: Vec<Line>,
    next: i64,
}

impl Record {
    /// A record of this build's version.
    pub const fn new(at: Timestamp, actor: String, job: JobId, fact: Fact) -> Self {
        Self { v: VERSION, at, actor, job, fact }
    }

    /// Whether it belongs into the audit trail; checkpoints that give nothing back only count.
    const fn is_audited(&self) -> bool {
        !matches!(self.fact, Fact::Checkpoint { ends: false, .. })
    }
}

impl Control {
    /// Takes the record at `offset`; those that were taken already are ignored.
    ///
    /// # Errors
    /// When it changes nothing, why.
    pub fn take(&mut self, offset: i64, record: Record) -> Result<(), Refused> {
        if offset < self.next {
            return Ok(());
        }
        self.next = offset + 1;
        let taken = self.apply(offset, &record);
        if record.is_audited() || taken.is_err() {
            self.audit.push(Line { offset, record, refused: taken.clone().err() });
        }
        taken
    }

    fn apply(&mut self, offset: i64, record: &Record) -> Result<(), Refused> {
        let Record { at, actor, job: id, fact, .. } = record;
        match fact {
            Fact::Created { spec } => self.create(Job::new(id.clone(), spec.as_ref().clone(), actor, *at)),
            Fact::Commanded { command: Command::Approve, .. } => self.known(id)?.approve(actor),
            Fact::Commanded { command: Command::Pause, reason } => {
                self.known(id)?.stop(Stop::Pause, actor, reason, *at)
            }
            Fact::Commanded { command: Command::Abort, reason } => {
                self.known(id)?.stop(Stop::Abort, actor, reason, *at)
            }
            Fact::Commanded { command: Command::Resume, reason } => self.known(id)?.resume(actor, reason, *at),
            Fact::Leased { partition, worker, grant } => {
                self.known(id)?.lease(*partition, worker.clone(), *grant, offset, *at)
            }
            Fact::Checkpoint { partition, fence, cursor, tally, ends } => {
                self.known(id)?.checkpoint(*partition, *fence, *cursor, *tally, *ends, *at)
            }
            Fact::Expired { partition, fence } => self.known(id)?.expire(*partition, *fence, *at),
        }
    }

    fn create(&mut self, job: Job) -> Result<(), Refused> {
        match self.jobs.entry(job.id.clone()) {
            Entry::Occupied(known) => Err(Refused::Known(known.key().clone())),
            Entry::Vacant(place) => {
                place.insert(job);
                Ok(())
            }
        }
    }

    fn known(&mut self, id: &JobId) -> Result<&mut Job, Refused> {
        self.jobs.get_mut(id).ok_or_else(|| Refused::Unknown(id.clone()))
    }

    /// The job of that name.
    pub fn job(&self, id: &JobId) -> Option<&Job> {
        self.jobs.get(id)
    }

    /// Every job, by name.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// Who said what about a job, in the order of the log.
    pub fn audit<'a>(&'a self, id: &'a JobId) -> impl Iterator<Item = &'a Line> {
        self.audit.iter().filter(move |line| line.record.job == *id)
    }

    /// The next offset of the control topic to be read.
    pub const fn next_offset(&self) -> i64 {
        self.next
    }
}

#[cfg(test)]
mod tests;
