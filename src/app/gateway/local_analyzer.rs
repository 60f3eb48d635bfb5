//! The in-process analyzer of `monitor all`: the same service as behind the API, without the wire.

use crate::analysis::{ApiError, AttachTo, NewFile, ProcessInput, Services};
use crate::backend::{Analyzer, AnalyzerError, AttachError, Attachment, Record, Verdict};
use async_trait::async_trait;
use futures_util::{FutureExt, TryFutureExt};
use monitor_model::{AnalysisResponse, RecordId, Secret, Stage};
use std::sync::Arc;

/// An [`Analyzer`] over the analysis service of this process.
pub(crate) struct LocalAnalyzer(pub(crate) Arc<Services>);

#[async_trait]
impl Analyzer for LocalAnalyzer {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        let key = &record.context.access_key;
        let done = self
            .0
            .ingest
            .process(record.stage, key, input(record))
            .await;
        done.map_err(as_analyzer_error)
    }

    /// The verdict does not wait for the disk.
    async fn check(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        let key = &record.context.access_key;
        let judged = self
            .0
            .ingest
            .process_unsynced(record.stage, key, input(record))
            .await;
        let (analysis, durable) = judged.map_err(as_analyzer_error)?;
        let durable = durable.map_err(|error| as_analyzer_error(error.into()));
        Ok(Verdict {
            analysis,
            durable: Some(durable.boxed()),
        })
    }

    async fn attach(
        &self,
        key: &Secret,
        record: RecordId,
        file: Attachment,
    ) -> Result<(), AttachError> {
        let to = AttachTo {
            record,
            stage: Stage::PreCall,
        };
        let file = NewFile {
            name: file.name,
            kind: Some(file.content_type),
            bytes: file.content,
        };
        let attached = self.0.records.attach(key, to, file).await;
        attached
            .map(drop)
            .map_err(|error| AttachError::of_status(error.status()))
    }
}

fn input(record: &Record) -> ProcessInput {
    ProcessInput {
        application_id: record.context.application_id.clone(),
        message: record.message.clone(),
        additional_parameters: record.additional_parameters(),
    }
}

fn as_analyzer_error(error: ApiError) -> AnalyzerError {
    match error.status() {
        status @ (401 | 403) => AnalyzerError::KeyRefused(status),
        status @ (408 | 429) => AnalyzerError::Busy(status),
        status @ 400..=499 => AnalyzerError::Refused(status),
        status => AnalyzerError::Unavailable(format!("status {status}")),
    }
}
