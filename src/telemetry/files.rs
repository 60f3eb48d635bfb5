//! Files that a call lists (§2.2). The list travels with the call's pre-call record, so that it is kept
//! as long as that one; once the backend has the record, its files are owed. How a file is come by is
//! the gateway's own business.

use super::RecordContext;
use monitor_model::RecordId;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// What a call said of its files.
#[derive(Clone, PartialEq, Eq)]
pub struct FileList {
    /// Its headers, each a JSON array if it is well-formed.
    pub headers: Vec<String>,
    /// `X-Request-Id`, for the log.
    pub request_id: String,
    /// The backend's id of the record, where it is known already.
    pub record: Option<RecordId>,
}

impl FileList {
    /// Bytes it holds in memory.
    pub fn weight(&self) -> usize {
        self.headers.iter().map(String::len).sum::<usize>() + self.request_id.len()
    }

    /// The same list of a record that is registered.
    pub(super) fn of(&self, record: RecordId) -> Self {
        Self {
            record: Some(record),
            ..self.clone()
        }
    }
}

/// Lists name places and hold content that nobody should log.
impl fmt::Debug for FileList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileList({} headers)", self.headers.len())
    }
}

/// The files of one record that the backend has. Dropped before [`FilesOwed::done`] they stay owed:
/// the next start hands them over again.
pub struct FilesOwed {
    /// What the call listed.
    pub list: Arc<FileList>,
    /// Whose key the files are sent with.
    pub context: Arc<RecordContext>,
    /// The record they belong to.
    pub record: RecordId,
    pub(super) done: oneshot::Sender<()>,
    pub(super) room: OwnedSemaphorePermit,
}

impl FilesOwed {
    /// Each file has come to its end, good or bad.
    pub fn done(self) {
        drop(self.room);
        // The spool may have ended before.
        let _ = self.done.send(());
    }
}
