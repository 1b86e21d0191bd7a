//! `eddy generate`: a load of triggers on stdout.

use std::{
    io::{self, Write},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use jiff::Timestamp;

use crate::{
    generate::{Generator, Plan},
    output::Printer,
};

/// Triggers per second of event time when no rate is given.
const EVENT_RATE: u32 = 1000;

/// Writes a believable load of triggers to stdout, one a line
///
/// Devices enter, dwell in and leave fences of a city. The same seed and start give the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy generate --count 3
  eddy generate --rate 500 --poison-rate 0.01 | eddy dev --input -
  eddy generate --seed 7 --start 2026-11-01T08:00:00Z --count 2000 > triggers.ndjson")]
pub struct Args {
    /// Lines per second; as fast as they are read when absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Lines in all; without end when absent.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Of all lines, the share that is no valid trigger; every kind in turn.
    #[arg(long, value_name = "0..1", default_value_t = 0.0, value_parser = share)]
    poison_rate: f64,
    /// Of all lines, the share that repeats an earlier line byte for byte.
    #[arg(long, value_name = "0..1", default_value_t = 0.0, value_parser = share)]
    duplicate_rate: f64,
    /// Decides everything but the time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Event time of the first trigger, as in 2026-11-30T12:00:00Z; now when absent.
    #[arg(long, value_name = "TIME")]
    start: Option<Timestamp>,
}

/// Writes the load.
///
/// # Errors
/// When stdout cannot be written, or the start is beyond the nanoseconds that a trigger can say.
pub fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let mut generator = Generator::new(&args.plan()?);
    let begin = Instant::now();
    printer.bulk(|out| {
        for n in 0..args.count.unwrap_or(u64::MAX) {
            if let Some(rate) = args.rate {
                wait_until(begin + nth_of(n, rate), out)?;
            }
            out.write_all(&generator.next_line().bytes)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn plan(&self) -> anyhow::Result<Plan> {
        let start = self.start.unwrap_or_else(Timestamp::now);
        Ok(Plan {
            seed: self.seed,
            start_ns: start.as_nanosecond().try_into().with_context(|| format!("{start} is too far away"))?,
            rate: self.rate.unwrap_or(EVENT_RATE),
            poison_rate: self.poison_rate,
            duplicate_rate: self.duplicate_rate,
        })
    }
}

/// When the `n`th line is due.
fn nth_of(n: u64, rate: u32) -> Duration {
    let (seconds, rest) = (n / u64::from(rate), n % u64::from(rate));
    Duration::from_secs(seconds) + Duration::from_secs(rest) / rate
}

/// Waits if there is something to wait for, and lets the reader have what is written before that.
fn wait_until(due: Instant, out: &mut dyn Write) -> io::Result<()> {
    let wait = due.saturating_duration_since(Instant::now());
    if wait > Duration::ZERO {
        out.flush()?;
        thread::sleep(wait);
    }
    Ok(())
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Ok(_) | Err(_) => Err("not a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_due_evenly() {
        assert_eq!(nth_of(0, 500), Duration::ZERO);
        assert_eq!(nth_of(250, 500), Duration::from_millis(500));
        assert_eq!(nth_of(1_000_000, 500), Duration::from_secs(2000));
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!(share("0.25"), Ok(0.25));
        assert!(share("1.01").is_err());
        assert!(share("NaN").is_err());
        assert!(share("few").is_err());
    }
}
