//! `eddy produce`: NDJSON into the source topic.

use super::{
    DefinitionArgs,
    place::{Cluster, Input},
};

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
