//! `eddy produce`: NDJSON into the source topic.

use std::process::ExitCode;

use super::{
    DefinitionArgs,
    place::{Cluster, Input},
};
use crate::{feeder, output::Printer};

/// Writes triggers to the source topic, keyed by device
///
/// One record a line, byte for byte; blank lines are skipped. A line without a `device_id` is written without a key.
/// Lines are not looked at otherwise: judging them is the topology's work.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy produce --cluster localhost:9003 tests/data/triggers.ndjson
  eddy generate --count 10000 | eddy produce --cluster localhost:9003 -")]
pub struct Args {
    /// The file to read; `-` is standard input.
    #[arg(value_name = "FILE|-")]
    pub input: Input,
    #[command(flatten)]
    pub cluster: Cluster,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

/// Writes the input to the source and says how much it was.
///
/// # Errors
/// When the input cannot be read, or a record was not acknowledged.
pub async fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = args.definition.topology()?;
    let input = args.input.open()?;
    let cluster = args.cluster.connect().await?;
    let source = &topology.names().source;
    let counts = feeder::feed(&cluster, source.as_str(), input, None).await?;
    printer.say(format_args!("{} records in `{source}`, {} blank lines skipped", counts.fed, counts.blank));
    Ok(ExitCode::SUCCESS)
}
