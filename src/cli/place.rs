//! Where the topics are: on a cluster, or in the data folder of an embedded node.

use std::path::PathBuf;

/// A Fluvio cluster.
#[derive(Debug, Clone, clap::Args)]
pub struct Cluster {
    /// Where the cluster's controller (SC) listens.
    #[arg(long, value_name = "HOST:PORT", env = "EDDY_CLUSTER")]
    pub cluster: String,
}

/// A cluster or a data folder, exactly one of them.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Place {
    /// Where the cluster's controller (SC) listens.
    #[arg(long, value_name = "HOST:PORT")]
    pub cluster: Option<String>,
    /// The data folder of `eddy dev`, which must not be running.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
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
    /// When the file cannot be opened; the error names it.
    pub fn open(&self) -> anyhow::Result<Box<dyn std::io::BufRead + Send>> {
        use anyhow::Context as _;
        Ok(match self {
            Self::Stdin => Box::new(std::io::BufReader::new(std::io::stdin())),
            Self::File(path) => {
                let file = std::fs::File::open(path).with_context(|| format!("cannot read {self}"))?;
                anyhow::ensure!(!file.metadata()?.is_dir(), "cannot read {self}: it is a folder");
                Box::new(std::io::BufReader::new(file))
            }
        })
    }
}
