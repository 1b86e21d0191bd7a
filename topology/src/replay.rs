//! Replay: dead letters go back, as durable jobs that an operator can trust.
//!
//! A replay of a real backlog runs for hours, so it is a job and not a request. Everything about it is a record of the
//! control topic: who ordered it, what it may do, who works on which partition, how far that is, and every change of its
//! state. [`Control`] folds them, so a job survives the death of every process, and any host can go on with it.
//!
//! The control topic has one partition, and nobody can compare and set there. Its order is the arbiter: of two workers that
//! claim one partition the earlier one in the log has it, and the offset of a claim is its fencing token. A record that
//! comes too late (a checkpoint of a lease that has ended, a second claim) is in the log and changes nothing.
//!
//! | to change | open |
//! |---|---|
//! | what a job is told | `replay/spec.rs` |
//! | which states there are, and which way they go | `replay/job.rs` |
//! | what the records of the control topic mean | `replay/control.rs` |
//! | how fast, and when to stop by itself | `replay/pace.rs` |
//! | what is counted | `replay/tally.rs` |
//!
//! Not here: reading topics, sending, and random names for jobs and workers.

mod control;
mod job;
mod pace;
mod spec;
mod tally;

pub use control::{Command, Control, Fact, Line, Record};
pub use job::{Job, JobId, Lease, Part, Refused, State, Stop, Transition, WorkerId};
pub use pace::{Pace, Verdict as PaceVerdict};
pub use spec::{Budget, PaceSpec, Range, Source, Spec, Target};
pub use tally::{End, Tally};
