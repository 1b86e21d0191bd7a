//! One process at a time: a lock on a file beside the data, which the system drops when the process ends.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

/// Why a folder cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another process uses {}", .dir.display())]
    InUse { dir: PathBuf },
    #[error("cannot lock {}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

/// Held as long as this lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the folder, or fails at once.
    pub(super) fn take(dir: &Path) -> Result<Self, LockError> {
        let path = dir.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| LockError::Io { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::InUse { dir: dir.to_owned() }),
            Err(TryLockError::Error(source)) => Err(LockError::Io { path, source }),
        }
    }
}
