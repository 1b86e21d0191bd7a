//! The command line: what can be asked for, and which function answers.
//!
//! A file of `cli/` holds the arguments of one command and the few lines that turn them into a call and its result
//! into output. Exit codes: 0 done, 1 failed, 2 the command line itself is wrong.

pub mod apply;
pub mod check;
pub mod definition;
pub mod describe;
pub mod desk;
#[cfg(feature = "embedded")]
pub mod dev;
pub mod dlq;
pub mod filter;
pub mod generate;
pub mod letters;
pub mod parked;
pub mod place;
pub mod produce;
pub mod run;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

pub use self::definition::DefinitionArgs;
use crate::{
    broker, feeder, host,
    output::{Hint, Printer, Verbosity},
    sinks,
};

/// A Kafka-Streams-style topology on Fluvio: geofence triggers judged in the broker, delivered, retried on tiers,
/// dead-lettered.
#[derive(Debug, Parser)]
#[command(name = "eddy", version, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// Says nothing but data and the error that ends the program.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Says more.
    #[arg(long, short, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "embedded")]
    Dev(dev::Args),
    Apply(apply::Args),
    Run(run::Args),
    Describe(describe::Args),
    Check(check::Args),
    Produce(produce::Args),
    Generate(generate::Args),
    Dlq(dlq::Args),
    Parked(parked::Args),
}

impl Cli {
    /// How much to talk.
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }

    /// Does what was asked for.
    ///
    /// # Errors
    /// When it could not be done.
    pub fn run(self, printer: Printer) -> anyhow::Result<ExitCode> {
        self.command.run(printer).map_err(with_hint)
    }
}

impl Command {
    fn run(self, printer: Printer) -> anyhow::Result<ExitCode> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Dev(args) => block_on(dev::run(args, printer)),
            Self::Apply(args) => block_on(apply::run(&args, printer)),
            Self::Run(args) => block_on(run::run(&args, printer)),
            Self::Describe(args) => describe::run(&args, printer),
            Self::Check(args) => check::run(&args, printer),
            Self::Produce(args) => block_on(produce::run(&args, printer)),
            Self::Generate(args) => generate::run(&args, printer),
            Self::Dlq(args) => block_on(dlq::run(args, printer)),
            Self::Parked(args) => block_on(parked::run(args, printer)),
        }
    }
}

/// Runs a command that needs the network, on as many threads as there are cores.
fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(command)
}

/// Adds what the error itself knows about a cure.
fn with_hint(error: anyhow::Error) -> anyhow::Error {
    let known = error.chain().find_map(|cause| {
        let broker = cause.downcast_ref::<broker::Error>().map(broker::Error::hint);
        let host = || cause.downcast_ref::<host::Error>().map(host::Error::hint);
        let sink = || cause.downcast_ref::<sinks::OpenError>().map(sinks::OpenError::hint);
        let feeder = || cause.downcast_ref::<feeder::Error>().map(feeder::Error::hint);
        broker.or_else(host).or_else(sink).or_else(feeder).flatten()
    });
    match known {
        Some(hint) => Err::<(), _>(error).hint(hint).expect_err("it was an error"),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// The paths of commands without an example in their help.
    fn without_example(path: &str, command: &clap::Command) -> Vec<String> {
        if command.has_subcommands() {
            let below = command.get_subcommands();
            return below.flat_map(|sub| without_example(&format!("{path} {}", sub.get_name()), sub)).collect();
        }
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if help.contains(&format!("\n  {path} ")) || help.ends_with(&format!("\n  {path}")) {
            Vec::new()
        } else {
            vec![path.to_owned()]
        }
    }

    #[test]
    fn every_command_is_well_formed_and_has_an_example() {
        let eddy = Cli::command();

        eddy.clone().debug_assert();

        assert_eq!(without_example("eddy", &eddy), [""; 0]);
    }
}
