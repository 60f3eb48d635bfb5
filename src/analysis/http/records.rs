//! `GET /records` and `GET /records/{id}` (read scope). The list shows no text; one record shows its
//! cleaned text, and the original only where the application keeps it.

use super::{auth, json};
use crate::analysis::{ApiError, Service};
use crate::model::{
    AnalysisResponse, ApplicationId, Entity, RecordId, Severity, Stage, Status, TypeCount,
};
use crate::store::{RecordFilter, RecordSummary, Scope, StoredRecord};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

type Parameters = Result<Query<Vec<(String, String)>>, QueryRejection>;

#[derive(Serialize)]
struct List<'a> {
    records: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

#[derive(Serialize)]
struct Item<'a> {
    seq: i64,
    request_id: RecordId,
    record: &'static str,
    stage: Stage,
    application_id: ApplicationId,
    exchange_id: Option<&'a str>,
    user_id: Option<&'a str>,
    session_id: Option<&'a str>,
    created_at_ms: i64,
    rules_version: Option<i64>,
    status: Status,
    flagged: Flagged,
    token_count: u64,
    usage_severity: Option<Severity>,
    types: &'a [TypeCount],
    failed: bool,
    incomplete: bool,
}

#[derive(Serialize)]
struct Flagged {
    guardrails: bool,
    custom_policy: bool,
    dataclean: bool,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    message: Option<&'a str>,
    cleaned_text: Option<&'a str>,
    entities: &'a [Entity],
    additional_parameters: &'a Map<String, Value>,
    error: Option<&'a Value>,
    answer: &'a AnalysisResponse,
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = service
        .authorise(&auth::bearer(&headers)?, Scope::Read)
        .await?;
    let page = service.page(&token, filter(parameters)?).await?;
    let records = page.records.iter().map(Item::from).collect();
    answer(&List {
        records,
        next_before: page.next_before,
    })
}

pub(super) async fn one(
    State(service): State<Arc<Service>>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = service
        .authorise(&auth::bearer(&headers)?, Scope::Read)
        .await?;
    let id = id
        .ok()
        .and_then(|Path(text)| text.parse().ok())
        .ok_or(ApiError::NotFound)?;
    let record = service.record(&token, id).await?;
    answer(&Whole::from(&record))
}

fn answer(value: &impl Serialize) -> Result<Response, ApiError> {
    let bytes = serde_json::to_vec(value).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, bytes))
}

fn filter(parameters: Parameters) -> Result<RecordFilter, ApiError> {
    let Query(parameters) =
        parameters.map_err(|_| problem("query", "cannot be read as name=value pairs"))?;
    let mut filter = RecordFilter {
        limit: DEFAULT_LIMIT,
        ..RecordFilter::default()
    };
    for (name, value) in parameters {
        narrow(&mut filter, &name, value)?;
    }
    Ok(filter)
}

/// A parameter that is not known is refused: a misspelt filter would otherwise show everything.
fn narrow(filter: &mut RecordFilter, name: &str, value: String) -> Result<(), ApiError> {
    match name {
        "application_id" => {
            let id = value
                .parse()
                .map_err(|_| problem("application_id", "must be a UUID"))?;
            filter.application_id = Some(id);
        }
        "user_id" => filter.user_id = Some(value),
        "session_id" => filter.session_id = Some(value),
        "stage" => {
            let stage = stage(&value).ok_or(problem("stage", "must be pre or post"))?;
            filter.stage = Some(stage);
        }
        "before" => {
            let seq = value
                .parse()
                .map_err(|_| problem("before", "must be an integer"))?;
            filter.before = Some(seq);
        }
        "limit" => {
            let limit = value
                .parse()
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit));
            filter.limit = limit.ok_or(problem("limit", "must be an integer from 1 to 200"))?;
        }
        _ => return Err(problem("query", KNOWN_PARAMETERS)),
    }
    Ok(())
}

fn problem(field: &'static str, problem: &'static str) -> ApiError {
    ApiError::Field { field, problem }
}

const KNOWN_PARAMETERS: &str =
    "takes application_id, user_id, session_id, stage, before and limit only";

fn stage(word: &str) -> Option<Stage> {
    match word {
        "pre" => Some(Stage::PreCall),
        "post" => Some(Stage::PostCall),
        _ => None,
    }
}

impl<'a> From<&'a RecordSummary> for Item<'a> {
    fn from(record: &'a RecordSummary) -> Self {
        Self {
            seq: record.seq,
            request_id: record.id,
            record: record.stage.record_name(),
            stage: record.stage,
            application_id: record.application_id,
            exchange_id: record.exchange_id.as_deref(),
            user_id: record.user_id.as_deref(),
            session_id: record.session_id.as_deref(),
            created_at_ms: record.created_at_ms,
            rules_version: record.rules_version,
            status: record.status,
            flagged: Flagged {
                guardrails: record.flagged_guardrails,
                custom_policy: record.flagged_custom_policy,
                dataclean: record.flagged_dataclean,
            },
            token_count: record.token_count,
            usage_severity: record.severity,
            types: &record.types,
            failed: record.failed,
            incomplete: record.incomplete,
        }
    }
}

impl<'a> From<&'a StoredRecord> for Whole<'a> {
    fn from(record: &'a StoredRecord) -> Self {
        Self {
            item: Item::from(&record.summary),
            message: record.message.as_deref(),
            cleaned_text: record.answer.dataclean.cleaned_text.as_deref(),
            entities: &record.answer.dataclean.entities,
            additional_parameters: &record.additional_parameters,
            error: record
                .additional_parameters
                .get("error")
                .filter(|error| !error.is_null()),
            answer: &record.answer,
        }
    }
}
