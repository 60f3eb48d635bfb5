//! The in-process analyzer of `monitor all`: the same service as behind the API, without the wire.

use crate::analysis::{ApiError, AttachTo, NewFile, ProcessInput, Services};
use crate::backend::{
    Analyzer, AnalyzerError, AttachError, Attachment, Recognition, Record, Verdict,
};
use crate::fair_queue::{Urgency, heavy};
use async_trait::async_trait;
use futures_util::{FutureExt, TryFutureExt};
use monitor_model::{AnalysisResponse, RecordId, Secret, Stage};
use std::sync::Arc;

/// An [`Analyzer`] over the analysis service of this process.
pub(crate) struct LocalAnalyzer(pub(crate) Arc<Services>);

impl LocalAnalyzer {
    /// Returns once the record is stored.
    async fn process(
        &self,
        record: &Record,
        urgency: Urgency,
    ) -> Result<AnalysisResponse, AnalyzerError> {
        let key = &record.context.access_key;
        let ingest = &self.0.ingest;
        let done = ingest.process(record.stage, key, input(record), urgency);
        done.await.map_err(as_analyzer_error)
    }

    /// The verdict does not wait for the disk.
    async fn process_unsynced(
        &self,
        record: &Record,
        urgency: Urgency,
    ) -> Result<Verdict, AnalyzerError> {
        let key = &record.context.access_key;
        let ingest = &self.0.ingest;
        let judged = ingest.process_unsynced(record.stage, key, input(record), urgency);
        let (analysis, durable) = judged.await.map_err(as_analyzer_error)?;
        let durable = durable.map_err(|error| as_analyzer_error(error.into()));
        Ok(Verdict {
            analysis,
            durable: Some(durable.boxed()),
        })
    }
}

#[async_trait]
impl Analyzer for LocalAnalyzer {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        self.process(record, Urgency::Awaited).await
    }

    async fn check(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        self.process_unsynced(record, Urgency::Awaited).await
    }

    async fn deliver(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        if record.files.is_none() {
            return self.process_unsynced(record, Urgency::Deferred).await;
        }
        Ok(Verdict {
            analysis: self.process(record, Urgency::Deferred).await?,
            durable: None,
        })
    }

    fn has_access_keys(&self) -> bool {
        true
    }

    async fn recognize(&self, key: &Secret, application_id: Option<&str>) -> Recognition {
        match self.0.ingest.recognize(key, application_id).await {
            Ok(Some(own)) => Recognition::KnownFor(own),
            Ok(None) => Recognition::Known,
            Err(ApiError::TokenInvalid | ApiError::TokenMissing | ApiError::ScopeMissing(_)) => {
                Recognition::UnknownKey
            }
            Err(ApiError::OtherApplication | ApiError::Field { .. }) => {
                Recognition::UnknownApplication
            }
            Err(_) => Recognition::NoAnswer,
        }
    }

    fn hold_new_applications(&self, holds: bool) {
        self.0.ingest.hold_new_applications(holds);
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
    heavy(record.message.len(), || ProcessInput {
        application_id: record.context.application_id.clone(),
        message: record.message.as_str().into(),
        additional_parameters: record.additional_parameters(),
    })
}

fn as_analyzer_error(error: ApiError) -> AnalyzerError {
    match error.status() {
        status @ (401 | 403) => AnalyzerError::KeyRefused(status),
        status @ (408 | 429) => AnalyzerError::Busy(status),
        status @ 400..=499 => AnalyzerError::Refused(status),
        status => AnalyzerError::Unavailable(format!("status {status}")),
    }
}
