//! `eddy run`: the host against a cluster.

use std::path::PathBuf;

use super::{DefinitionArgs, place::Cluster};

/// Runs the host against a cluster until it is told to stop
///
/// Topics and modules must be there: `eddy apply` creates them. SIGTERM and SIGINT stop reading, let what is in
/// flight end, commit positions and leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy run --cluster localhost:9003 --data-dir /var/lib/eddy --set sink.url=https://downstream.example/triggers
  EDDY_SINK__URL=https://downstream.example/triggers eddy run --cluster localhost:9003 --data-dir /var/lib/eddy")]
pub struct Args {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Where the guard remembers which effects have happened. Losing it means that effects may happen again.
    #[arg(long, value_name = "DIR", env = "EDDY_DATA_DIR")]
    pub data_dir: PathBuf,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}
