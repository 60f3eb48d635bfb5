//! The in-process analyzer of `monitor all`: the same service as behind the API, without the wire.

use crate::analysis::{ApiError, ProcessInput, Service};
use crate::model::AnalysisResponse;
use crate::telemetry::{Analyzer, AnalyzerError, Record};
use async_trait::async_trait;
use std::sync::Arc;

/// An [`Analyzer`] over the analysis service of this process.
pub(super) struct LocalAnalyzer(pub(super) Arc<Service>);

#[async_trait]
impl Analyzer for LocalAnalyzer {
    async fn analyse(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        let input = ProcessInput {
            application_id: record.context.application_id.clone(),
            message: record.message.clone(),
            additional_parameters: record.additional_parameters(),
        };
        self.0
            .process(record.stage, &record.context.access_key, input)
            .await
            .map_err(as_analyzer_error)
    }
}

fn as_analyzer_error(error: ApiError) -> AnalyzerError {
    match error.status() {
        status @ (401 | 403) => AnalyzerError::KeyRefused(status),
        status @ 400..=499 => AnalyzerError::Refused(status),
        status => AnalyzerError::Unavailable(format!("status {status}")),
    }
}
