//! `GET /records` and `GET /records/{id}` (scope read or read_cleaned). The list contains no texts; a single record
//! has its cleaned text and, with the scope read, the original if the application keeps it.

use super::filters;
use super::shapes::{Item, Whole};
use crate::analysis::api::extract::{Api, PathId, Query, RecordReader};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use axum::extract::State;
use monitor_model::RecordId;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = RecordList)]
pub(super) struct List<'a> {
    pub(super) records: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    pub(super) next_before: Option<i64>,
}

/// List records, newest first
#[utoipa::path(
    get,
    path = "/records",
    operation_id = "listRecords",
    description = "Scope: read, or read_cleaned without the parameter text.",
    tag = "records",
    params(
        schemas::ApplicationFilter,
        schemas::RecordFilters,
        schemas::TextFilter,
        schemas::Page,
        schemas::Limit,
    ),
    responses((status = 200, description = "One page, without texts.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    RecordReader(caller): RecordReader,
    query: Query,
) -> Outcome {
    let filter = filters::records(query)?;
    let page = services.records.page(&caller, filter).await?;
    let records = page.records.iter().map(Item::from).collect();
    ok(&List {
        records,
        next_before: page.next_before,
    })
}

/// Show one record
#[utoipa::path(
    get,
    path = "/records/{id}",
    operation_id = "getRecord",
    description = "Scope: read, or read_cleaned. With read_cleaned, the record has nothing of an original: no \
        message, no names of files, no parameters that a caller made up. With read, reading an original is an entry of \
        the audit log.",
    tag = "records",
    params(schemas::RecordPath),
    responses((status = 200, description = "The record.", body = Whole)),
)]
pub(crate) async fn one(
    State(services): Api,
    RecordReader(caller): RecordReader,
    PathId(id): PathId<RecordId>,
) -> Outcome {
    let record = services.records.readable(&caller, id).await?;
    let files = services
        .records
        .attachments(&caller, record.summary.seq)
        .await?;
    ok(&Whole::with_files(&record, &files))
}
