//! `GET /user_prompt_analysis/by_request/{request_id}/check_blocking` and its twin for answers (CONTRACT 48): the
//! stored verdict by the identifier of the exchange. No text, so that who may send messages may read it too.

use crate::analysis::api::extract::{Api, PathId, Query, VerdictReader};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use crate::analysis::records::RecordSummary;
use crate::analysis::records::exchanges::ExchangeName;
use crate::analysis::{ApiError, Caller, Services};
use axum::extract::State;
use monitor_model::{ApplicationId, RecordId, Severity, Stage, Status, TypeCount};
use serde::Serialize;
use utoipa::ToSchema;

/// A stored verdict, without texts.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredVerdict)]
struct StoredVerdict<'a> {
    /// The record of the message.
    request_id: RecordId,
    /// `additional_parameters.request_id` of the message.
    exchange_id: Option<&'a str>,
    application_id: ApplicationId,
    stage: Stage,
    /// The application's policy blocks on this verdict.
    blocked: bool,
    /// Any check flagged it.
    flagged: bool,
    guardrails: bool,
    custom_policy: bool,
    dataclean: bool,
    status: Status,
    types: &'a [TypeCount],
    token_count: u64,
    /// Null below the lowest threshold, or if none are set.
    usage_severity: Option<Severity>,
    /// Milliseconds since 1970.
    created_at_ms: i64,
}

impl<'a> From<&'a RecordSummary> for StoredVerdict<'a> {
    fn from(record: &'a RecordSummary) -> Self {
        Self {
            request_id: record.id,
            exchange_id: record.exchange_id.as_deref(),
            application_id: record.application_id,
            stage: record.stage,
            blocked: record.blocked,
            flagged: record.flagged_guardrails
                || record.flagged_custom_policy
                || record.flagged_dataclean,
            guardrails: record.flagged_guardrails,
            custom_policy: record.flagged_custom_policy,
            dataclean: record.flagged_dataclean,
            status: record.status,
            types: &record.types,
            token_count: record.token_count,
            usage_severity: record.severity,
            created_at_ms: record.created_at_ms,
        }
    }
}

/// Show the stored verdict on a prompt by its exchange
///
/// 404 until the prompt has been analyzed. Scope: ingest or read.
#[utoipa::path(
    get,
    path = "/user_prompt_analysis/by_request/{request_id}/check_blocking",
    operation_id = "checkBlockingOfPrompt",
    tag = "analysis",
    params(schemas::ExchangePath, schemas::ApplicationOfExchange),
    responses((status = 200, description = "The verdict, without texts.", body = StoredVerdict)),
)]
pub(crate) async fn of_prompt(
    State(services): Api,
    VerdictReader(caller): VerdictReader,
    PathId(id): PathId<String>,
    query: Query,
) -> Outcome {
    let name = named(id, Stage::PreCall, query)?;
    show(&services, &caller, name).await
}

/// Show the stored verdict on an answer by its exchange
///
/// 404 until the answer has been analyzed. Scope: ingest or read.
#[utoipa::path(
    get,
    path = "/llm_response_analysis/by_request/{request_id}/check_blocking",
    operation_id = "checkBlockingOfAnswer",
    tag = "analysis",
    params(schemas::ExchangePath, schemas::ApplicationOfExchange),
    responses((status = 200, description = "The verdict, without texts.", body = StoredVerdict)),
)]
pub(crate) async fn of_answer(
    State(services): Api,
    VerdictReader(caller): VerdictReader,
    PathId(id): PathId<String>,
    query: Query,
) -> Outcome {
    let name = named(id, Stage::PostCall, query)?;
    show(&services, &caller, name).await
}

async fn show(services: &Services, caller: &Caller, name: ExchangeName) -> Outcome {
    let record = services.records.message_of(caller, name).await?;
    ok(&StoredVerdict::from(&record))
}

/// The message that a path and its query name.
pub(super) fn named(id: String, stage: Stage, mut query: Query) -> Result<ExchangeName, ApiError> {
    let application_id = query.take("application_id")?;
    query.finish()?;
    Ok(ExchangeName {
        id,
        stage,
        application_id,
    })
}
