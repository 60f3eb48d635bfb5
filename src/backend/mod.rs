//! The gateway's view of the analysis backend: what a record is, and who analyzes and stores one
//! ([`Analyzer`]). Records reach it through `crate::spool`, except the awaited calls of sync mode.

mod attach;
mod batch;
mod http;
mod inspect;
mod record;
mod spans;

pub use attach::{AttachError, Attachment};
pub use http::HttpAnalyzer;
pub use inspect::{Find, Inspector};
pub use record::{CallFailure, ClosedBy, FileList, Record, RecordContext};
pub use spans::SpanExport;

use async_trait::async_trait;
use monitor_model::{AnalysisResponse, GatewayReport, RecordId, Secret};
use std::pin::Pin;
use std::sync::Arc;
use thiserror::Error;

/// Ends once a record whose verdict is known is kept, or with why it is not.
pub type Durable = Pin<Box<dyn Future<Output = Result<(), AnalyzerError>> + Send>>;

/// What became of one record of a batch; with the backend's id of it, where its answer has one.
pub type BatchResult = Result<Option<RecordId>, AnalyzerError>;

/// Makes a report on this gateway's spool, for the backend's overview of its gateways.
pub type ReportSource = Arc<dyn Fn() -> GatewayReport + Send + Sync>;

/// What [`Analyzer::check`] gives.
pub struct Verdict {
    /// The answer of the analysis (§2.9).
    pub analysis: AnalysisResponse,
    /// What is left to wait for, off the request path; None when the record is kept.
    pub durable: Option<Durable>,
}

/// Takes one record, checks and stores it (§4.2).
#[async_trait]
pub trait Analyzer: Send + Sync {
    /// Registers the record and gives the verdict. At least once: the backend is idempotent on the
    /// exchange's id and the stage (CONTRACT 23).
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError>;

    /// Whether the backend takes several records in one call (CONTRACT 39).
    fn takes_batches(&self) -> bool {
        false
    }

    /// Registers records of one access key, no two of one exchange: what became of each, in their
    /// order, with the record's own id where the answer has it. None where the backend takes no batch,
    /// or not this one; then nothing is registered.
    async fn analyze_batch(&self, _: &[&Record]) -> Option<Vec<BatchResult>> {
        None
    }

    /// Sets where the reports on this gateway's spool come from that go to the backend along with the
    /// records. An analyzer in the same process needs none.
    fn set_report_source(&self, _: ReportSource) {}

    /// As [`Analyzer::analyze`], without waiting for what the verdict does not need where the backend can
    /// tell the two apart.
    async fn check(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        Ok(Verdict {
            analysis: self.analyze(record).await?,
            durable: None,
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
