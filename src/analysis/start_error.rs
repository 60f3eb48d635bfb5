//! Why the analysis server cannot start.

use monitor_store::StoreError;
use std::path::PathBuf;
use thiserror::Error;

/// Why the analysis server cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A folder cannot be created or used.
    #[error("cannot open {path}: {reason}")]
    Folder {
        /// The path that was tried.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// A restore into the embedded database was begun and not completed.
    #[error(
        "{0} is what an interrupted restore left: run `monitor restore` again, or remove it to begin with an empty \
         store"
    )]
    Restoring(PathBuf),
    /// A model cannot be used.
    #[error("cannot use the model in {folder}: {reason}")]
    Model {
        /// Where the model's files are.
        folder: PathBuf,
        /// What is wrong with one of its files.
        reason: String,
    },
    /// The store cannot be opened or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The client for the identity provider cannot be set up.
    #[error("cannot sign people in by the identity provider: {0}")]
    SignIn(std::io::Error),
    /// The operating system's random number generator failed.
    #[error("the system's random number generator failed")]
    Random,
}
