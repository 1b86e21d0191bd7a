//! The broker client against a broker: an embedded node, or the cluster that `EDDY_TEST_CLUSTER` names. What is
//! promised here holds under the habits of a real Fluvio; the numbers (M1, M2 …) are those of its behaviours,
//! `C…` those of public complaints, as in the tests of the road.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what is in helpers")]
#![expect(clippy::print_stdout, reason = "the output says which broker was under test, and what was skipped")]

#[path = "../common/cluster.rs"]
mod cluster;
mod produce;
mod through;

mod administration;
mod judging;
mod pulling;
mod settling;
mod writing;
