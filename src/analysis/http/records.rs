//! `GET /records` and `GET /records/{id}` (read scope). The list shows no text; one record shows its
//! cleaned text, and the original only where the application keeps it.

use super::admin::Id;
use super::filters;
use super::query::Given;
use super::shapes::{Item, Whole};
use super::{auth, json};
use crate::analysis::{ApiError, Caller, Service};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use monitor_model::RecordId;
use monitor_store::Scope;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct List<'a> {
    records: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    given: Given,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = reader(&service, &headers).await?;
    let filter = filters::records(given)?;
    let page = service.page(&caller, filter).await?;
    let records = page.records.iter().map(Item::from).collect();
    answer(&List {
        records,
        next_before: page.next_before,
    })
}

pub(super) async fn one(
    State(service): State<Arc<Service>>,
    id: Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = reader(&service, &headers).await?;
    let record = service.record(&caller, record_id(id)?).await?;
    let files = service.attachments(record.summary.seq).await?;
    answer(&Whole::with_files(&record, &files))
}

/// The record of a path. What is no UUID is no record's.
pub(super) fn record_id(id: Id) -> Result<RecordId, ApiError> {
    id.ok()
        .and_then(|Path(text)| text.parse().ok())
        .ok_or(ApiError::NotFound)
}

/// The caller, if it may read.
pub(super) async fn reader(service: &Service, headers: &HeaderMap) -> Result<Caller, ApiError> {
    service
        .authorise(&auth::bearer(headers)?, Scope::Read)
        .await
}

/// 200 with this value.
pub(super) fn answer(value: &impl Serialize) -> Result<Response, ApiError> {
    let bytes = serde_json::to_vec(value).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, bytes))
}
