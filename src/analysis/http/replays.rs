//! `POST /records/{id}/explain` (scope read) and `POST /applications/{id}/replay` (scopes read and
//! admin): stored records judged again (CONTRACT 38). Neither changes anything that is kept.

use super::admin::{self, Id, application_id};
use super::fields::Fields;
use super::filters;
use super::query::Given;
use super::records::{reader, record_id};
use crate::analysis::{ApiError, ApplicationRules, Replay, Service};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use monitor_model::ApplicationId;
use monitor_store::Scope;
use std::sync::Arc;

pub(super) async fn explain(
    State(service): State<Arc<Service>>,
    id: Id,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = reader(&service, &headers).await?;
    let id = record_id(id)?;
    Fields::read_optional(request).await?.finish()?;
    let explanation = service.explain(&caller, id).await?;
    admin::answer(StatusCode::OK, &explanation)
}

/// The filters stand in the address as for `GET /records`, the draft in the body.
pub(super) async fn replay(
    State(service): State<Arc<Service>>,
    id: Id,
    given: Given,
    request: Request,
) -> Result<Response, ApiError> {
    let id = tester(&service, id, request.headers()).await?;
    let filter = filters::replay(given)?;
    let draft = draft(request).await?;
    let page = service.replay(id, Replay { draft, filter }).await?;
    admin::answer(StatusCode::OK, &page)
}

/// The application of the path, if the caller may try rules on its records. What a regex of a draft
/// finds tells of texts, so that changing rules alone is not enough.
async fn tester(service: &Service, id: Id, headers: &HeaderMap) -> Result<ApplicationId, ApiError> {
    let caller = admin::administrator(service, headers).await?;
    caller.must_have(&[Scope::Read])?;
    let id = application_id(id)?;
    caller.must_reach(id)?;
    Ok(id)
}

async fn draft(request: Request) -> Result<ApplicationRules, ApiError> {
    let mut fields = Fields::read(request).await?;
    let document = fields.take("rules");
    if document.is_none() {
        fields.refuse("rules", "missing");
    }
    fields.finish()?;
    let document = document.ok_or(ApiError::Internal)?;
    // Every regex is compiled, away from the threads that serve connections.
    let parsed = tokio::task::spawn_blocking(move || ApplicationRules::parse(&document));
    let parsed = parsed.await.map_err(|_| ApiError::Internal)?;
    parsed.map_err(ApiError::Fields)
}
