//! `eddy dlq`: reading dead letters.

pub mod view;

use eddy_contract::RecordId;

use super::{DefinitionArgs, place::Place};

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
