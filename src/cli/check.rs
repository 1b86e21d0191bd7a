//! `eddy check`: is this definition good?

use std::process::ExitCode;

use super::DefinitionArgs;
use crate::output::Printer;

/// Looks for mistakes in the definition, without connecting to anything
///
/// Reports all of them at once, with the file, variable or flag that made each. Exit code 0 when there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy check --config eddy.toml
  eddy check --set retry.tiers=5s,30s,5m --set dlq.retention=14d")]
pub struct Args {
    #[command(flatten)]
    definition: DefinitionArgs,
}

/// Says that the definition is good.
///
/// # Errors
/// When it is not.
pub fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = args.definition.topology()?;
    printer.say(format_args!("the definition of `{}` is good", topology.names().source));
    Ok(ExitCode::SUCCESS)
}
