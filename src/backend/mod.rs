//! The gateway's view of the analysis backend: what a record is, and who analyzes and stores one
//! ([`Analyzer`]). Records reach it through `crate::spool`, except the awaited calls of sync mode.

mod answers;
mod attach;
mod batch;
mod http;
mod known_keys;
mod offers;
mod questions;
mod record;
mod tool_question;

pub use attach::{AttachError, Attachment};
pub use http::HttpAnalyzer;
pub use record::{CallFailure, ClosedBy, FileList, Record, RecordContext, SentParts};

use async_trait::async_trait;
use monitor_model::{AnalysisResponse, ApplicationId, GatewayReport, RecordId, Secret};
use std::pin::Pin;
use std::sync::Arc;
use thiserror::Error;

/// Resolves once the backend has stored a record whose verdict it has given, or has failed to.
pub type Durable = Pin<Box<dyn Future<Output = Result<(), AnalyzerError>> + Send>>;

/// The result of one record of a batch, with the backend's id of the record if its answer has one.
pub type BatchResult = Result<Option<RecordId>, AnalyzerError>;

/// What a backend knows of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition {
    /// It accepts records of the access key; of the application too, where it looks at that.
    Known,
    /// It accepts records of the access key, which belongs to this application, whatever the call names.
    KnownFor(ApplicationId),
    /// It accepts no records of the access key.
    UnknownKey,
    /// The application does not exist, or is not the access key's.
    UnknownApplication,
    /// It does not answer at present.
    NoAnswer,
    /// It cannot be asked.
    Unsupported,
}

/// Makes a report on this gateway's spool, for the backend's overview of its gateways.
pub type ReportSource = Arc<dyn Fn() -> GatewayReport + Send + Sync>;

/// The result of [`Analyzer::check`].
pub struct Verdict {
    /// The analysis response of §2.9.
    pub analysis: AnalysisResponse,
    /// Resolves when the record is stored; None if it already is.
    pub durable: Option<Durable>,
}

/// Analyzes records and stores them (§4.2).
#[async_trait]
pub trait Analyzer: Send + Sync {
    /// Analyzes the record and returns once it is stored. A record may be sent more than once: the backend
    /// is idempotent on the exchange's id and the stage (CONTRACT 23).
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError>;

    /// Whether the backend takes several records in one call (CONTRACT 39).
    fn takes_batches(&self) -> bool {
        false
    }

    /// Analyzes and stores records of one access key, no two of one exchange. Gives their results in the
    /// same order; None if the backend takes no batch, or not this one, and has stored nothing.
    async fn analyze_batch(&self, _: &[&Record]) -> Option<Vec<BatchResult>> {
        None
    }

    /// Whether access keys and applications are in this process, so that looking them up costs nothing.
    fn has_access_keys(&self) -> bool {
        false
    }

    /// What the backend knows of a caller and of the application that the call names. Called before the body is
    /// read. A backend in this process checks the application; another one tells which one the key belongs to.
    async fn recognize(&self, _: &Secret, _application_id: Option<&str>) -> Recognition {
        Recognition::Unsupported
    }

    /// Sets where the reports on this gateway's spool come from that go to the backend along with the
    /// records. An analyzer in the same process needs none.
    fn set_report_source(&self, _: ReportSource) {}

    /// Whether applications that are created from now on are unknown to [`Analyzer::recognize`]. Another process that
    /// is about to take over creates those of its configuration, whose policies are not in force in this one.
    fn hold_new_applications(&self, _holds: bool) {}

    /// Analyzes the record and returns once the verdict is known, which may be before the record is stored.
    async fn check(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        Ok(Verdict {
            analysis: self.analyze(record).await?,
            durable: None,
        })
    }

    /// Analyzes a record that no client waits for; those that one waits for go before it. Files are attached to
    /// the id that the backend keeps, which of a record sent twice is the first one: a record with files is
    /// stored when this returns.
    async fn deliver(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        if record.files.is_none() {
            return self.check(record).await;
        }
        Ok(Verdict {
            analysis: self.analyze(record).await?,
            durable: None,
        })
    }

    /// Attaches a file to the pre-call record with that id (CONTRACT 29). A file may be sent more than
    /// once: the backend stores the same file once.
    async fn attach(
        &self,
        key: &Secret,
        record: RecordId,
        file: Attachment,
    ) -> Result<(), AttachError>;
}

/// Why a record got no verdict. The messages contain nothing of the record.
#[derive(Debug, Error)]
pub enum AnalyzerError {
    /// The backend refuses the access key (401, 403).
    #[error("the backend refused the access key (status {0})")]
    KeyRefused(u16),
    /// The backend refuses the record itself (another 4xx); sending it again would not help.
    #[error("the backend refused the record (status {0})")]
    Refused(u16),
    /// The backend asks to wait (408, 429) and has nothing against the record.
    #[error("the backend asks to wait (status {0})")]
    Busy(u16),
    /// The backend has stored the record, and its verdict is too long to be read. Sending it again would give the same.
    #[error("the backend's verdict is longer than one on its message can be")]
    TooLong,
    /// The backend cannot be reached, is too slow, or is broken.
    #[error("the backend did not answer: {0}")]
    Unavailable(String),
}

impl AnalyzerError {
    /// The error for a status that is not a success.
    pub fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::KeyRefused(status),
            408 | 429 => Self::Busy(status),
            400..=499 => Self::Refused(status),
            _ => Self::Unavailable(format!("status {status}")),
        }
    }
}
