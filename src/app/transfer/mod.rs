//! `monitor backup`, `monitor restore` and `monitor copy`: everything that a store has, with its files and the
//! records that wait in the spool, from one place to another (CONTRACT 32). None of them needs a stopped server, holds
//! more than a few rows in memory, or leaves something that looks complete when it was interrupted.

mod archive;
mod backup;
mod copy;
mod erasures;
mod filling;
mod moment;
mod place;
pub(crate) mod progress;
mod restore;
mod source;
mod target_files;

pub use backup::{BackupRequest, backup};
pub use copy::{CopyRequest, copy};
pub use restore::{RestoreRequest, check_archive, restore};
