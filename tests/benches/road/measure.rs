//! What was measured, and how it is shown.

use std::{
    fmt,
    time::{Duration, Instant},
};

use comfy_table::{CellAlignment, presets};

/// Something that was done many times.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    what: String,
    count: usize,
    took: Duration,
    cpu: Duration,
}

/// A measurement that runs.
pub(crate) struct Stopwatch {
    since: Instant,
    cpu_before: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { since: Instant::now(), cpu_before: cpu() }
    }

    /// Ends it: `count` things were done.
    pub(crate) fn stop(&self, what: impl Into<String>, count: usize) -> Measured {
        Measured { what: what.into(), count, took: self.since.elapsed(), cpu: cpu().saturating_sub(self.cpu_before) }
    }
}

impl Measured {
    /// From a mean that was measured elsewhere, on one thread.
    pub(crate) fn from_mean(what: &str, mean: Duration) -> Self {
        Self { what: what.to_owned(), count: 1, took: mean, cpu: mean }
    }

    fn per_second(&self) -> f64 {
        self.count as f64 / self.took.as_secs_f64()
    }

    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.count as f64
    }
}

/// One table.
pub(crate) struct Table {
    title: String,
    rows: comfy_table::Table,
}

impl Table {
    pub(crate) fn new(title: String) -> Self {
        let mut rows = comfy_table::Table::new();
        rows.load_style(presets::NOTHING);
        rows.set_header(["", "per second", "µs of CPU", "beside its yardstick", "aim"]);
        for column in rows.column_iter_mut().skip(1).take(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self { title, rows }
    }

    /// What others are measured by.
    pub(crate) fn yardstick(&mut self, measured: &Measured) {
        self.row(measured, String::new(), "");
    }

    /// What is measured by a yardstick.
    pub(crate) fn beside(&mut self, measured: &Measured, yardstick: &Measured, aim: &str) {
        self.row(measured, format!("{:.2}", measured.per_second() / yardstick.per_second()), aim);
    }

    fn row(&mut self, measured: &Measured, ratio: String, aim: &str) {
        let per_second = format!("{:.0}", measured.per_second());
        let cpu_us = format!("{:.1}", measured.cpu_us());
        self.rows.add_row([measured.what.clone(), per_second, cpu_us, ratio, aim.to_owned()]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        writeln!(f, "{}", self.rows)?;
        write!(f, "at the end: {}", machine())
    }
}

/// How much there is of the machine, and how busy it is.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{cores} cores, load {}", load.split(' ').next().unwrap_or("unknown"))
}

/// What this process has used of all cores, its node included; zero where the system does not say.
fn cpu() -> Duration {
    /// Fixed for programs, whatever the kernel's own tick is.
    const TICKS_PER_SECOND: u64 = 100;
    /// User and system time, counted behind the name of the command, which may have spaces in it.
    const FIELDS: std::ops::Range<usize> = 11..13;

    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: u64 = fields.get(FIELDS).unwrap_or(&[]).iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}
