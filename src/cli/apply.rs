//! `eddy apply`: topics and modules onto a cluster.

use std::process::ExitCode;

use super::{DefinitionArgs, place::Cluster};
use crate::{broker::admin, deploy, output::Printer};

/// Creates the topology's topics and modules on a cluster
///
/// Does nothing that is done already, so it can run again at any time. The source topic is created if it is absent and
/// never changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy apply --cluster localhost:9003
  eddy apply --cluster fluvio.internal:9003 --config eddy.toml")]
pub struct Args {
    #[command(flatten)]
    pub cluster: Cluster,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

/// Creates what is missing and says what that was.
///
/// # Errors
/// When the definition has mistakes, or the cluster refuses or does not answer.
pub async fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = args.definition.topology()?;
    let cluster = args.cluster.connect().await?;
    let changes = admin::apply(&cluster, &deploy::plan(&topology)).await?;
    for change in &changes {
        printer.data(change)?;
    }
    if changes.is_empty() {
        printer.say("nothing to do: topics and modules are there");
    }
    Ok(ExitCode::SUCCESS)
}
