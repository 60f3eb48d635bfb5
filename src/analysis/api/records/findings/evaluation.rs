//! `GET /findings/precision` and `GET /findings/evaluation`: what decisions about findings say of the detection.

use crate::analysis::api::extract::{Api, FindingReader, Query, RecordReader};
use crate::analysis::api::records::export::Pages;
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::records::findings::FindingState;
use crate::analysis::records::findings::evaluation::{EvaluationBegun, EvaluationText};
use crate::analysis::{ApiError, Caller, Services};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream::{StreamExt as _, try_unfold};
use monitor_model::{ApplicationId, RecordId, Stage};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = FindingPrecision)]
struct Precisions<'a> {
    /// One entry for each type with a decided finding, by name.
    types: Vec<LabelPrecision<'a>>,
    /// Findings that are counted: those that are confirmed or false alarms.
    decided: u64,
    /// There are more than 10,000; the newest are counted.
    truncated: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TypePrecision)]
struct LabelPrecision<'a> {
    /// A type; `guardrail:` or `policy:` with the name of a category or of a custom policy.
    r#type: &'a str,
    confirmed: u64,
    false_alarms: u64,
    /// The share of what is confirmed.
    #[schema(minimum = 0, maximum = 1)]
    precision: f64,
}

/// A text with what was found in it, and what should be.
#[derive(Serialize)]
struct Line<'a> {
    id: RecordId,
    stage: Stage,
    text: &'a str,
    is_original: bool,
    verdict: &'static str,
    found: &'a [String],
    expected: &'a [String],
}

/// Show the precision of each type and category
///
/// By the newest decisions about findings; a decision counts for everything that was found in its record. Scope: read,
/// read_cleaned or triage.
#[utoipa::path(
    get,
    path = "/findings/precision",
    operation_id = "getFindingPrecision",
    tag = "findings",
    params(schemas::ApplicationFilter),
    responses((status = 200, description = "The precision of each type.", body = Precisions)),
)]
pub(crate) async fn precision(
    State(services): Api,
    FindingReader(caller): FindingReader,
    query: Query,
) -> Outcome {
    let application = application(query)?;
    let precision = services.records.precision(&caller, application).await?;
    let types = precision.labels.iter();
    let list = Precisions {
        types: types
            .map(|(label, decisions)| LabelPrecision {
                r#type: label,
                confirmed: decisions.confirmed,
                false_alarms: decisions.false_alarms,
                precision: decisions.precision(),
            })
            .collect(),
        decided: precision.decided,
        truncated: precision.truncated,
    };
    response::unstored(StatusCode::OK, &list)
}

/// Export decided findings as an evaluation set
///
/// JSONL with `id`, `stage`, `text`, `is_original`, `verdict`, `found` and `expected` in each line, which
/// `monitor scan --evaluate` reads. Texts are originals where they are kept, with the scope read; else they are
/// cleaned. The audit log has an entry. Scope: read, or read_cleaned without originals.
#[utoipa::path(
    get,
    path = "/findings/evaluation",
    operation_id = "exportFindings",
    tag = "findings",
    params(schemas::ApplicationFilter),
    responses(
        (
            status = 200,
            description = "A stream. If the store fails midway, the connection is cut.",
            content((schemas::Lines = "application/x-ndjson")),
        ),
    ),
)]
pub(crate) async fn evaluation(
    State(services): Api,
    RecordReader(caller): RecordReader,
    query: Query,
) -> Outcome {
    let application = application(query)?;
    export(services, &caller, application).await
}

/// The evaluation set of an application, or of all that the caller sees.
pub(crate) async fn export(
    services: Arc<Services>,
    caller: &Caller,
    application: Option<ApplicationId>,
) -> Outcome {
    let begun = services
        .records
        .begin_evaluation(caller, application)
        .await?;
    let export = Export {
        services,
        begun,
        before: None,
        is_over: false,
    };
    // The first part is read before the head is sent, so that an error gets its own status.
    let Some((first, export)) = export.next().await? else {
        return Err(ApiError::Internal);
    };
    let rest = try_unfold(export, |export| async move { export.next().await });
    let mut response = Response::new(Body::new(Pages::new(first, rest.boxed())));
    let file = "attachment; filename=\"evaluation.jsonl\"";
    for (name, value) in [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, file),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn application(mut query: Query) -> Result<Option<ApplicationId>, ApiError> {
    let uuid = |text: &str| text.parse().ok();
    let application = query.typed("application_id", "must be a UUID", uuid)?;
    query.finish()?;
    Ok(application)
}

/// The state of an export.
struct Export {
    services: Arc<Services>,
    begun: EvaluationBegun,
    before: Option<i64>,
    is_over: bool,
}

impl Export {
    /// The bytes of the next part.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, ApiError> {
        if self.is_over {
            return Ok(None);
        }
        let page = self
            .services
            .records
            .evaluation_page(&self.begun, self.before)
            .await?;
        let mut out = String::new();
        for text in &page.texts {
            let line = serde_json::to_string(&Line::from(text));
            out.push_str(&line.map_err(|_| ApiError::Internal)?);
            out.push('\n');
        }
        self.before = page.next_before;
        self.is_over = page.next_before.is_none();
        Ok(Some((out.into_boxed_str().into_boxed_bytes().into(), self)))
    }
}

impl<'a> From<&'a EvaluationText> for Line<'a> {
    fn from(text: &'a EvaluationText) -> Self {
        let is_right = text.verdict == FindingState::Confirmed;
        Self {
            id: text.id,
            stage: text.stage,
            text: &text.text,
            is_original: text.is_original,
            verdict: text.verdict.as_str(),
            found: &text.labels,
            expected: if is_right {
                text.labels.as_slice()
            } else {
                &[]
            },
        }
    }
}
