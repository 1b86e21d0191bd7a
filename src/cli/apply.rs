//! `eddy apply`: topics and modules onto a cluster.

use super::{DefinitionArgs, place::Cluster};

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
