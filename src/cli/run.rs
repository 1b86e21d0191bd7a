//! `eddy run`: the host against a cluster.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use super::{DefinitionArgs, place::Cluster};
use crate::{
    guard::EmbeddedGuard,
    host::Host,
    output::{Hint, Printer},
    signals, sinks,
};

/// Runs the host against a cluster until it is told to stop
///
/// Topics and modules must be there: `eddy apply` creates them. SIGTERM and SIGINT stop reading, let what is in
/// flight end, commit positions and leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy run --cluster localhost:9003 --data-dir /var/lib/eddy --set sink.url=http://downstream.example/triggers
  EDDY_SINK__URL=http://downstream.example/triggers eddy run --cluster localhost:9003 --data-dir /var/lib/eddy")]
pub struct Args {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Where the guard remembers which effects have happened. Losing it means that effects may happen again.
    #[arg(long, value_name = "DIR", env = "EDDY_DATA_DIR")]
    pub data_dir: PathBuf,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

/// Runs until told to stop.
///
/// # Errors
/// When something that the topology needs is missing, or the host fails.
pub async fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let topology = Arc::new(args.definition.topology()?);
    let cluster = args.cluster.connect().await?;
    let sink = sinks::open(&topology, &cluster).await?;
    let guard = EmbeddedGuard::open(&args.data_dir, &topology.guard().into()).hint("is another eddy running on it?")?;
    let mut host = Host::start(Arc::clone(&topology), cluster.clone(), Arc::new(guard), sink).await?;
    printer.say(format_args!("running `{}` on {}", topology.names().source, cluster.address()));
    tokio::select! {
        error = host.failed() => return Err(error.into()),
        told = signals::told_to_stop() => told?,
    }
    printer.say("stopping: what is in flight may finish");
    host.drain().await?;
    Ok(ExitCode::SUCCESS)
}
