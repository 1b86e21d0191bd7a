//! `eddy dlq stats`: how many records became dead letters, against the objective.

use std::{fmt::Write, process::ExitCode};

use eddy_topology::{
    letters::stats::{Level, Stats, Top},
    time::Span,
};

use super::view::escape;
use crate::{
    cli::desk::{DeskArgs, Kind, now_ms},
    letters::processed::processed,
    output::Printer,
};

/// Says how many of the processed records became dead letters, and what most of these share
///
/// Counted are the source's records that intake has passed and the log still has, and the dead letters that came from
/// exactly these, whatever was decided about them since. The objective: a warning from 0.01 % on, a page from 0.1 % on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq stats --cluster localhost:9003 --window 24h
  eddy dlq stats --data-dir ./eddy-data --json | jq .rate")]
pub struct Args {
    /// Only records produced within so long before now.
    #[arg(long, value_name = "SPAN")]
    window: Option<Span>,
    #[command(flatten)]
    desk: DeskArgs,
}

pub(super) async fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let desk = args.desk.open(printer).await?;
    let names = desk.topology.names();
    let since_ms = args.window.map(|window| now_ms().saturating_sub(window.as_ms()));
    // First the positions: a dead letter of a later record would not be counted, one of an earlier is there.
    let processed = processed(desk.cluster(), names, since_ms).await?;
    let letters = desk.letters(Kind::Dead).await?;
    let stats = Stats::of(&letters, &processed, names);
    if desk.json {
        printer.data(json(&stats))?;
    } else {
        printer.data(text(&stats).trim_end())?;
    }
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

fn json(stats: &Stats) -> String {
    serde_json::to_string(stats).expect("statistics have string keys and no fallible parts")
}

fn text(stats: &Stats) -> String {
    let level = match stats.level {
        Level::Ok => "ok: below 0.01 %",
        Level::Warning => "warning: 0.01 % or more",
        Level::Page => "page: 0.1 % or more",
    };
    let rate =
        stats.rate.map_or_else(|| "nothing was processed".to_owned(), |rate| format!("{:.4} %  {level}", rate * 100.0));
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        writeln!(text, "{name:<13} {value}").expect("writing to a String cannot fail");
    };
    row("processed", &stats.processed.to_string());
    row("dead letters", &format!("{}, {} of them open", stats.dead_letters, stats.open));
    row("rate", &rate);
    let tops = [("top reason", &stats.top_reason), ("top origin", &stats.top_origin), ("top build", &stats.top_build)];
    for (name, top) in tops {
        if let Some(Top { name: value, count }) = top {
            row(name, &format!("{}  {count}", escape(value)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_said_with_its_objective_and_what_most_share() {
        let top = |name: &str, count| Some(Top { name: name.into(), count });
        let stats = Stats {
            processed: 20_000,
            dead_letters: 7,
            open: 5,
            rate: Some(0.00035),
            level: Level::Warning,
            top_reason: top("terminal:rejected", 6),
            top_origin: top("triggers/3", 7),
            top_build: None,
        };

        let expected = [
            "processed     20000",
            "dead letters  7, 5 of them open",
            "rate          0.0350 %  warning: 0.01 % or more",
            "top reason    terminal:rejected  6",
            "top origin    triggers/3  7",
        ];
        assert_eq!(text(&stats).lines().collect::<Vec<_>>(), expected);
    }
}
