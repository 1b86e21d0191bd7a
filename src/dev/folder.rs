//! The data folder of `eddy dev`: where node, guard and the feeding progress live.
//!
//! A folder that was given is kept, so that a killed run can go on; otherwise it is a temporary one and goes with the
//! process.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Removes the folder when it is dropped.
    _temporary: Option<TempDir>,
}

impl Folder {
    /// Takes or makes the folder.
    ///
    /// # Errors
    /// When it cannot be made; the error names it.
    pub(super) fn open(given: Option<&Path>) -> anyhow::Result<Self> {
        match given {
            Some(path) => {
                let made = std::fs::create_dir_all(path);
                made.with_context(|| format!("cannot make the data folder {}", path.display()))?;
                Ok(Self { path: path.to_owned(), _temporary: None })
            }
            None => {
                let temporary =
                    tempfile::Builder::new().prefix("eddy-").tempdir().context("cannot make a data folder")?;
                Ok(Self { path: temporary.path().to_owned(), _temporary: Some(temporary) })
            }
        }
    }

    /// The embedded node's.
    pub(super) fn node(&self) -> PathBuf {
        self.path.join("node")
    }

    /// The guard's.
    pub(super) fn guard(&self) -> PathBuf {
        self.path.join("guard")
    }

    /// Where feeding began; see [`feeder`](crate::feeder).
    pub(super) fn feeding(&self) -> PathBuf {
        self.path.join("feeding.json")
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
