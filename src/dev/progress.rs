//! The progress line: where things are while `eddy dev` runs.

use eddy_topology::gate::Status;

use crate::host::Monitor;

/// Where things are, in one line.
pub(super) fn line(host: &Monitor) -> String {
    let counts = host.counts();
    let in_flight: usize = host.progress().iter().map(|road| road.progress.in_flight).sum();
    let lag: i64 = host.progress().iter().map(|road| road.progress.log_end - road.progress.position).sum();
    let gate = match host.sink_status() {
        Status::Flowing => "",
        Status::Suspect => " · sink suspect",
        Status::Tripped => " · sink down, waiting",
        Status::Suspended => " · sink suspended",
    };
    format!(
        "delivered {} · failed attempts {} · on tiers so far {} · dead letters {} · in flight {in_flight} · lag {lag}{gate}",
        counts.delivered,
        counts.failed_attempts,
        counts.scheduled,
        counts.dead_lettered_total(),
    )
}
