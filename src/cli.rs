//! The command line: what can be asked for, and which function answers.
//!
//! A file of `cli/` holds the arguments of one command and the few lines that turn them into a call and its result
//! into output. Exit codes: 0 done, 1 failed, 2 the command line itself is wrong.

pub mod apply;
pub mod check;
pub mod describe;
pub mod dev;
pub mod dlq;
pub mod generate;
pub mod place;
pub mod produce;
pub mod run;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use eddy_topology::{
    builder,
    definition::{self, Definition},
    topology::Topology,
};

use crate::{
    config::{self, Overrides},
    output::{Hint, Printer, Verbosity},
};

/// What to do about a mistake in a definition.
const HINT: &str = "`eddy check` looks at a definition alone; topology/geofence.toml documents every key";

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
    Check(check::Args),
    Describe(describe::Args),
    Generate(generate::Args),
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
        match self.command {
            Command::Check(args) => check::run(&args, printer),
            Command::Describe(args) => describe::run(&args, printer),
            Command::Generate(args) => generate::run(&args, printer),
        }
    }
}

/// The definition and what changes it, for every command that needs one.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Definition")]
pub struct DefinitionArgs {
    /// A file that says what differs from the default definition.
    #[arg(long, value_name = "FILE", env = "EDDY_CONFIG")]
    pub config: Option<PathBuf>,
    /// Sets one key of the definition, over file and environment. May be given again.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
}

impl DefinitionArgs {
    /// The definition of this run.
    ///
    /// # Errors
    /// Every mistake in file, environment and flags.
    pub fn load(&self) -> anyhow::Result<Definition> {
        let overrides = Overrides::from_process(self.config.clone(), self.set.clone());
        config::load(definition::DEFAULT, &overrides).hint(HINT)
    }

    /// The topology that the definition amounts to.
    ///
    /// # Errors
    /// As [`DefinitionArgs::load`], then every value that makes no sense.
    pub fn topology(&self) -> anyhow::Result<Topology> {
        let topology = Topology::try_new(&self.load()?);
        topology.map_err(|builder::Errors(errors)| config::Mistakes(errors)).hint(HINT)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, CommandFactory};

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
        let mut eddy = Cli::command();
        for (name, augment) in [
            ("apply", apply::Args::augment_args as fn(clap::Command) -> clap::Command),
            ("dev", dev::Args::augment_args),
            ("dlq", dlq::Args::augment_args),
            ("produce", produce::Args::augment_args),
            ("run", run::Args::augment_args),
        ] {
            eddy = eddy.subcommand(augment(clap::Command::new(name)));
        }

        eddy.clone().debug_assert();

        assert_eq!(without_example("eddy", &eddy), [""; 0]);
    }
}
