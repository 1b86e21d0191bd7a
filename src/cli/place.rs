//! Where the topics are: on a cluster, or in the data folder of an embedded node.

use std::{
    fs::File,
    io::{BufRead, BufReader, stdin},
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};

use crate::broker;
#[cfg(feature = "embedded")]
use crate::output::Hint;

/// Where the cluster is, unless the command line says it.
const CLUSTER_ENV: &str = "EDDY_CLUSTER";

/// A Fluvio cluster.
#[derive(Debug, Clone, clap::Args)]
pub struct Cluster {
    /// Where the cluster's controller (SC) listens.
    #[arg(long, value_name = "HOST:PORT", env = CLUSTER_ENV)]
    pub cluster: String,
}

impl Cluster {
    /// Connects to it.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn connect(&self) -> Result<broker::Cluster, broker::Error> {
        connect(&self.cluster).await
    }
}

/// A cluster or a data folder, exactly one of them.
///
/// clap takes a value of the environment for one of the command line, and would refuse a data folder beside it. So the
/// environment is looked at here: it says where the cluster is when the command line names neither.
#[derive(Debug, Clone, clap::Args)]
#[group(required = cluster_of_environment().is_none(), multiple = false)]
pub struct Place {
    /// Where the cluster's controller (SC) listens [env: EDDY_CLUSTER].
    #[arg(long, value_name = "HOST:PORT")]
    pub cluster: Option<String>,
    /// The data folder of `eddy dev`, which must not be running.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

impl Place {
    /// Connects to the cluster, or starts the embedded node on the data folder.
    ///
    /// # Errors
    /// When the cluster does not answer, or the node cannot be started.
    pub async fn open(&self) -> anyhow::Result<Open> {
        match (&self.cluster, &self.data_dir) {
            (Some(address), _) => Ok(Open::Cluster(connect(address).await?)),
            (None, Some(data_dir)) => open_folder(data_dir).await,
            (None, None) => {
                let address = cluster_of_environment().context("neither a cluster nor a data folder is named")?;
                Ok(Open::Cluster(connect(&address).await?))
            }
        }
    }
}

fn cluster_of_environment() -> Option<String> {
    std::env::var(CLUSTER_ENV).ok()
}

/// A place that was opened.
pub enum Open {
    Cluster(broker::Cluster),
    #[cfg(feature = "embedded")]
    Node {
        cluster: broker::Cluster,
        node: eddy_embedded::Node,
    },
}

impl Open {
    /// The cluster there.
    pub fn cluster(&self) -> &broker::Cluster {
        match self {
            Self::Cluster(cluster) => cluster,
            #[cfg(feature = "embedded")]
            Self::Node { cluster, .. } => cluster,
        }
    }

    /// Stops what was started.
    #[cfg_attr(not(feature = "embedded"), expect(clippy::unused_async, reason = "only a node takes time to stop"))]
    pub async fn close(self) {
        match self {
            Self::Cluster(_) => {}
            #[cfg(feature = "embedded")]
            Self::Node { node, .. } => node.stop().await,
        }
    }
}

/// Where `eddy dev` keeps its node in a data folder.
#[cfg(feature = "embedded")]
async fn open_folder(data_dir: &Path) -> anyhow::Result<Open> {
    let node_dir = data_dir.join("node");
    ensure!(node_dir.is_dir(), "{} is no data folder of eddy dev", data_dir.display());
    let node = eddy_embedded::Node::start(eddy_embedded::Config::new(node_dir)).await;
    let node = node.hint("while `eddy dev` runs on it, name its node with --cluster")?;
    let cluster = connect(&node.address().to_string()).await?;
    Ok(Open::Node { cluster, node })
}

#[cfg(not(feature = "embedded"))]
#[expect(clippy::unused_async, reason = "only a node takes time to start")]
async fn open_folder(data_dir: &Path) -> anyhow::Result<Open> {
    anyhow::bail!("this eddy was built without the embedded node that {} belongs to", data_dir.display())
}

async fn connect(address: &str) -> Result<broker::Cluster, broker::Error> {
    broker::Cluster::connect(&broker::Target::Address(address.to_owned())).await
}

/// A file to read, or standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Stdin,
    File(PathBuf),
}

impl std::str::FromStr for Input {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdin } else { Self::File(text.into()) })
    }
}

impl std::fmt::Display for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Input {
    /// Opens it, buffered.
    ///
    /// # Errors
    /// When the file cannot be read; the error names it.
    pub fn open(&self) -> anyhow::Result<Box<dyn BufRead + Send>> {
        let path = match self {
            Self::Stdin => return Ok(Box::new(BufReader::new(stdin()))),
            Self::File(path) => path,
        };
        let cannot = || format!("cannot read {self}");
        let file = File::open(path).with_context(cannot)?;
        ensure!(!file.metadata().with_context(cannot)?.is_dir(), "cannot read {self}: it is a folder");
        Ok(Box::new(BufReader::new(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why_not(path: &str) -> String {
        format!("{:#}", path.parse::<Input>().unwrap().open().err().unwrap())
    }

    #[test]
    fn an_input_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().to_str().unwrap();

        assert!(why_not("/no/such/file").starts_with("cannot read /no/such/file: No such file"));
        assert_eq!(why_not(folder), format!("cannot read {folder}: it is a folder"));
    }

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!("-".parse(), Ok(Input::Stdin));
        assert_eq!("./-".parse(), Ok(Input::File("./-".into())));
    }
}
