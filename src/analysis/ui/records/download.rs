//! Downloads: the records of a filter, one record as JSON, a file of a record. The API writes them, with
//! the rights of the person signed in.

use super::record_id;
use crate::analysis::access::Scope;
use crate::analysis::api::records::export::{self, Format};
use crate::analysis::api::records::files;
use crate::analysis::api::records::shapes::Whole;
use crate::analysis::records::attachments::WantedFile;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

pub(super) async fn export(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(mut pairs): Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let format = pairs.extract_if(.., |(name, _)| name == "format").last();
    let format = format.and_then(|(_, word)| Format::named(&word));
    let format = format.ok_or(Failure::NotFound)?;
    let query = ListQuery::read(Query(pairs));
    let query = query
        .resolved(&services, &visit.caller, visit.view.r())
        .await?;
    let filter = query.records()?;
    Ok(export::all(services, &visit.caller, filter, format).await?)
}

pub(super) async fn json(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let record = services
        .records
        .readable(&visit.caller, record_id(&id)?)
        .await?;
    let files = services
        .records
        .attachments(&visit.caller, record.summary.seq)
        .await?;
    let whole = serde_json::to_vec_pretty(&Whole::with_files(&record, &files));
    let whole = whole.map_err(|_| ApiError::Internal)?;
    let file = format!("attachment; filename=\"record-{}.json\"", record.summary.id);
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CONTENT_DISPOSITION, file),
    ];
    Ok((headers, whole).into_response())
}

pub(super) async fn file(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path((id, hash)): Path<(String, String)>,
    Query(pairs): Pairs,
) -> Result<Response, Failure> {
    visit.must(Scope::Read)?;
    let hash = hash.parse().map_err(|()| Failure::NotFound)?;
    let record = record_id(&id)?;
    let name = pairs.into_iter().find(|(key, _)| key == "name");
    let name = name.map(|(_, name)| name);
    let wanted = WantedFile { hash, name };
    Ok(files::saved(&services, &visit.caller, record, &wanted).await?)
}
