//! What eddy promises on the main road, with everything real: a broker, the modules in it, the host, the guard, and a
//! downstream that speaks HTTP.
//!
//! What needs hours is told in virtual time, in `topology/tests/promises`. Here is what only real parts can show. `C…`
//! names the public complaint, about other retry and dead-letter systems, that a test makes sure not to deserve.
#![expect(clippy::unwrap_used, reason = "all of this is tests, also what is in helpers")]
#![expect(clippy::print_stdout, reason = "the output says which broker was under test, and what was skipped")]

#[path = "../common/cluster.rs"]
mod cluster;
#[path = "../common/downstream.rs"]
mod downstream;
mod harness;

mod bad_input;
mod conservation;
mod effects;
mod kill;
mod outages;
mod restarts;
mod retries;
mod topic_sink;
