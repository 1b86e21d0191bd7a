//! `eddy describe`: what a definition amounts to.

use std::process::ExitCode;

use super::DefinitionArgs;
use crate::output::Printer;

/// Prints what the definition amounts to: topics, modules, tiers, sink
///
/// Connects to nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy describe
  eddy describe --config eddy.toml --set retry.tiers=1s,10s,1m")]
pub struct Args {
    #[command(flatten)]
    definition: DefinitionArgs,
}

/// Prints the topology.
///
/// # Errors
/// When the definition has mistakes, or stdout cannot be written.
pub fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = args.definition.topology()?;
    printer.data(topology.describe().trim_end())?;
    Ok(ExitCode::SUCCESS)
}
