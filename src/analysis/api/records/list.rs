//! `GET /records` and `GET /records/{id}` (read scope). The list shows no text; one record shows its
//! cleaned text, and the original only where the application keeps it.

use super::filters;
use super::shapes::{Item, Whole};
use crate::analysis::api::extract::callers::record_reader;
use crate::analysis::api::extract::path::{Id, record_id};
use crate::analysis::api::extract::query::Given;
use crate::analysis::api::response::ok;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct List<'a> {
    records: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

pub(in crate::analysis::api) async fn list(
    State(services): State<Arc<Services>>,
    given: Given,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = record_reader(&services, &headers).await?;
    let filter = filters::records(given)?;
    let page = services.records.page(&caller, filter).await?;
    let records = page.records.iter().map(Item::from).collect();
    ok(&List {
        records,
        next_before: page.next_before,
    })
}

pub(in crate::analysis::api) async fn one(
    State(services): State<Arc<Services>>,
    id: Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = record_reader(&services, &headers).await?;
    let record = services.records.record(&caller, record_id(id)?).await?;
    let files = services.records.attachments(record.summary.seq).await?;
    ok(&Whole::with_files(&record, &files))
}
