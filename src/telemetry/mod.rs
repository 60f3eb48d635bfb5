//! The gateway's view of the backend: what a record is, who can judge one ([`Analyzer`]), and the
//! way there ([`Spool`]). Nothing here runs on the request path but [`Spool::push`], which never waits.

mod attach;
mod batch;
mod connect;
mod files;
mod http;
mod inspect;
mod record;
mod spans;
pub mod spool;
mod tls;

pub use attach::{AttachError, Attachment};
pub use connect::connector;
pub use files::{FileList, FilesOwed};
pub use http::HttpAnalyzer;
pub use inspect::{Find, Inspector};
pub use record::{CallFailure, ClosedBy, Record, RecordContext};
pub use spans::SpanExport;
pub use spool::{Held, Spool};
pub use tls::{BackendTls, Files as BackendFiles};

use async_trait::async_trait;
use monitor_model::{AnalysisResponse, RecordId, Secret};
use std::pin::Pin;
use thiserror::Error;

/// Ends once a record whose verdict is known is kept, or with why it is not.
pub type Kept = Pin<Box<dyn Future<Output = Result<(), AnalyzerError>> + Send>>;

/// What became of one record of a batch; with the backend's id of it, where its answer has one.
pub type BatchResult = Result<Option<RecordId>, AnalyzerError>;

/// What [`Analyzer::judge`] gives.
pub struct Verdict {
    /// §2.9.
    pub analysis: AnalysisResponse,
    /// What is left to wait for, off the request path; None when the record is kept.
    pub kept: Option<Kept>,
}

/// Takes one record, checks and stores it (§4.2).
#[async_trait]
pub trait Analyzer: Send + Sync {
    /// Registers the record and gives the verdict. At least once: the backend is idempotent on the
    /// exchange's id and the stage (CONTRACT 23).
    async fn analyse(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError>;

    /// Whether the backend takes several records in one call (CONTRACT 39).
    fn takes_batches(&self) -> bool {
        false
    }

    /// Registers records of one access key, no two of one exchange: what became of each, in their
    /// order, with the record's own id where the answer has it. None where the backend takes no batch,
    /// or not this one; then nothing is registered.
    async fn analyse_batch(&self, _: &[&Record]) -> Option<Vec<BatchResult>> {
        None
    }

    /// Has the backend told how this spool is, beside what is registered.
    fn tells_of(&self, _: &Spool) {}

    /// As [`Analyzer::analyse`], without waiting for what the verdict does not need where the backend can tell the
    /// two apart.
    async fn judge(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        Ok(Verdict {
            analysis: self.analyse(record).await?,
            kept: None,
        })
    }

    /// Adds a file to the pre-call record of that id (CONTRACT 29). At least once: the backend takes
    /// the same file twice as one.
    async fn attach(
        &self,
        key: &Secret,
        record: RecordId,
        file: Attachment,
    ) -> Result<(), AttachError>;
}

/// Why a record got no verdict. The texts carry nothing of the record.
#[derive(Debug, Error)]
pub enum AnalyzerError {
    /// The access key is refused (401, 403).
    #[error("the backend refused the access key (status {0})")]
    KeyRefused(u16),
    /// The record itself is refused (another 4xx); sending it again would not help.
    #[error("the backend refused the record (status {0})")]
    Refused(u16),
    /// It asks to wait (408, 429): the record is fine, now is not the time.
    #[error("the backend asks to wait (status {0})")]
    Busy(u16),
    /// Not reachable, too slow, or broken.
    #[error("the backend did not answer: {0}")]
    Unavailable(String),
}
