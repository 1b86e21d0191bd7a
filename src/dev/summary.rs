//! What a run of `eddy dev` says of itself: the progress line, and the report at the end.

use std::collections::BTreeMap;

use eddy_topology::{audit, gate::Status};
use serde::Serialize;

use super::demo::Seen;
use crate::{
    feed::Counts as Fed,
    host::{Counts, Monitor},
    output::Printer,
};

/// The report of a run: the audit, and what was measured beside it.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub audit: audit::Report,
    /// Lines of the input that this run fed …
    pub fed: u64,
    /// … and those that an earlier run had fed already.
    pub already_fed: u64,
    /// Attempts of this run that failed and were counted.
    pub failed_attempts: u64,
    /// Deliveries of this run that the guard suppressed.
    pub suppressed: u64,
    /// From the engine's first sight of a record to the acknowledgement of its first attempt.
    pub first_attempt_ms: Latency,
    /// What the demo downstream saw in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demo: Option<DemoReport>,
}

/// Percentiles, milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    pub p50: u64,
    pub p99: u64,
}

/// What the demo downstream saw.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DemoReport {
    pub requests: u64,
    pub effects: u64,
    /// Requests for an effect that had taken place already.
    pub repeated: u64,
}

impl From<Seen> for DemoReport {
    fn from(Seen { requests, effects, repeated }: Seen) -> Self {
        Self { requests, effects, repeated }
    }
}

impl Report {
    pub(super) fn new(audit: audit::Report, fed: Fed, counts: &Counts, demo: Option<Seen>) -> Self {
        let percentile = |p| counts.first_attempt_ms.value_at_quantile(p);
        Self {
            audit,
            fed: fed.fed,
            already_fed: fed.already_fed,
            failed_attempts: counts.failed_attempts,
            suppressed: counts.suppressed,
            first_attempt_ms: Latency { p50: percentile(0.5), p99: percentile(0.99) },
            demo: demo.map(Into::into),
        }
    }

    /// Whether every trigger is accounted for, in exactly one place.
    pub const fn conserved(&self) -> bool {
        self.audit.conserved
    }

    /// Prints it for a person.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn print(&self, printer: Printer) -> std::io::Result<()> {
        let audit = &self.audit;
        printer.data(format_args!("in              {:>8}", audit.records))?;
        printer.data(format_args!("delivered       {:>8}", audit.delivered))?;
        printer.data(format_args!("dead-lettered   {:>8}", audit.dead_lettered))?;
        printer.data(format_args!("parked          {:>8}", audit.parked))?;
        table(printer, "on tiers", &audit.on_tiers)?;
        table(printer, "dead letters", &audit.codes)?;
        Ok(())
    }
}

fn table<K: std::fmt::Display>(printer: Printer, title: &str, rows: &BTreeMap<K, u64>) -> std::io::Result<()> {
    for (key, count) in rows {
        printer.data(format_args!("  {title:<12} {count:>8}  {key}"))?;
    }
    Ok(())
}

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
