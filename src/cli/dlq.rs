//! `eddy dlq`: reading dead letters.

pub mod view;

use std::process::ExitCode;

use anyhow::Context;
use eddy_contract::{Envelope, RecordId};

use super::{DefinitionArgs, place::Place};
use crate::{
    letters,
    output::{Hint, Printer},
};

/// Reads dead letters
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with dead letters.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    Show(ShowArgs),
}

/// Lists open dead letters, newest state of each
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq list --cluster localhost:9003
  eddy dlq list --data-dir ./eddy-data --json | jq -r .reason | sort | uniq -c")]
pub struct ListArgs {
    #[command(flatten)]
    pub place: Place,
    /// One envelope a line instead of a table.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

/// Shows one dead letter, decoded: its reason, its failures, its bytes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq show geofence-triggers/0/17 --cluster localhost:9003
  eddy dlq show geofence-triggers/0/17 --data-dir ./eddy-data --json | jq -r .payload_b64 | base64 -d")]
pub struct ShowArgs {
    /// Where the record came from: topic/partition/offset, as `eddy dlq list` prints it.
    #[arg(value_name = "ID")]
    pub id: RecordId,
    #[command(flatten)]
    pub place: Place,
    /// The envelope as one line of JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

/// Prints dead letters.
///
/// # Errors
/// When they cannot be read, or the one that was asked for does not exist.
pub async fn run(args: Args, printer: Printer) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List(args) => list(&args, printer).await,
        Command::Show(args) => show(&args, printer).await,
    }
}

async fn list(args: &ListArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = args.definition.topology()?;
    let place = args.place.open().await?;
    let letters = letters::dead_letters(place.cluster(), &topology.names().dlq).await?;
    if args.json {
        let mut lines = Vec::new();
        let json = |_, envelope| lines.push(view::json_line(&envelope));
        letters::whole(place.cluster(), &topology.names().dlq, letters.open(), json).await?;
        printer.bulk(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    } else if letters.open().next().is_none() {
        printer.say("no open dead letters");
    } else {
        printer.data(view::table(letters.open().map(|letter| &letter.envelope), now_ms()))?;
    }
    place.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn show(args: &ShowArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = args.definition.topology()?;
    let place = args.place.open().await?;
    let dlq = &topology.names().dlq;
    let letters = letters::dead_letters(place.cluster(), dlq).await?;
    let letter = letters.get(&args.id).ok_or_else(|| anyhow::anyhow!("there is no dead letter `{}`", args.id));
    let letter = letter.hint("`eddy dlq list` names the open ones")?;
    let mut text = None;
    let render = if args.json { view::json_line } else { view::show };
    letters::whole(place.cluster(), dlq, [letter], |letter, envelope| {
        text = Some(render(&Envelope { resolution: letter.resolution, ..envelope }));
    })
    .await?;
    printer.data(text.context("retention has just removed it")?)?;
    place.close().await;
    Ok(ExitCode::SUCCESS)
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
