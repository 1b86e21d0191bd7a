//! `eddy dlq`: the operator's desk. Reading dead letters, and deciding about them.
//!
//! Nothing here takes a record out of a log. A repair is a new revision, a discarded letter has a record that closes it.

mod close;
mod groups;
mod repair;
mod stats;
pub mod view;

use std::process::ExitCode;

use super::{
    desk::{DeskArgs, Kind, now_ms},
    filter::FilterArgs,
    letters,
};
use crate::output::Printer;

pub(super) use close::close;

/// Reads dead letters and decides about them
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with dead letters.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    /// Shows one dead letter, decoded: its reason, its failures, its bytes
    #[command(after_help = "\
Examples:
  eddy dlq show geofence-triggers/0/17 --cluster localhost:9003
  eddy dlq show geofence-triggers/0/17 --data-dir ./eddy-data --json | jq -r .payload_b64 | base64 -d")]
    Show(letters::ShowArgs),
    Groups(groups::Args),
    Stats(stats::Args),
    Export(ExportArgs),
    Repair(repair::Args),
    Discard(close::DiscardArgs),
    Expire(close::ExpireArgs),
}

/// Lists open dead letters, newest state of each
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq list --cluster localhost:9003
  eddy dlq list --data-dir ./eddy-data --class exhausted --since 2h
  eddy dlq list --data-dir ./eddy-data --json | jq -r .reason | sort | uniq -c")]
pub struct ListArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    #[command(flatten)]
    pub desk: DeskArgs,
}

/// Writes open dead letters to standard output: whole envelopes, payloads and all, one a line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq export --cluster localhost:9003 > dead-letters.ndjson
  eddy dlq export --data-dir ./eddy-data --reason 'terminal:*' | jq -r .payload_b64")]
pub struct ExportArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    #[command(flatten)]
    pub desk: DeskArgs,
}

/// Reads dead letters or decides about them.
///
/// # Errors
/// When they cannot be read or written, or one that was named does not exist.
pub async fn run(args: Args, printer: Printer) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List(args) => list(&args, printer).await,
        Command::Show(args) => letters::show(&args, Kind::Dead, printer).await,
        Command::Groups(args) => groups::run(&args, printer).await,
        Command::Stats(args) => stats::run(&args, printer).await,
        Command::Export(args) => export(&args, printer).await,
        Command::Repair(args) => repair::run(&args, printer).await,
        Command::Discard(args) => close::discard(&args, printer).await,
        Command::Expire(args) => close::expire(&args, printer).await,
    }
}

async fn list(args: &ListArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let filter = args.filter.filter(now_ms())?;
    let desk = args.desk.open(printer).await?;
    let dead = desk.letters(Kind::Dead).await?;
    letters::list(&desk, Kind::Dead, &dead, &filter).await?;
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn export(args: &ExportArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let filter = args.filter.filter(now_ms())?;
    let desk = args.desk.open(printer).await?;
    let dead = desk.letters(Kind::Dead).await?;
    letters::export(&desk, Kind::Dead, dead.matching(&filter)).await?;
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}
