//! `POST /records/{id}/explain` (scope read) and `POST /applications/{id}/replay` (scopes read and
//! admin): stored records judged again (CONTRACT 38). Neither changes anything that is kept.

use crate::analysis::api::extract::callers::{administrator, record_reader};
use crate::analysis::api::extract::fields::Fields;
use crate::analysis::api::extract::path::{Id, application_id, record_id};
use crate::analysis::api::extract::query::Given;
use crate::analysis::api::records::filters;
use crate::analysis::api::response;
use crate::analysis::{ApiError, ApplicationRules, Replay, Services};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use monitor_model::ApplicationId;
use monitor_store::Scope;
use std::sync::Arc;

pub(in crate::analysis::api) async fn explain(
    State(services): State<Arc<Services>>,
    id: Id,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = record_reader(&services, &headers).await?;
    let id = record_id(id)?;
    Fields::read_optional(request).await?.finish()?;
    let explanation = services.admin.explain(&caller, id).await?;
    response::unstored(StatusCode::OK, &explanation)
}

/// The filters stand in the address as for `GET /records`, the draft in the body.
pub(in crate::analysis::api) async fn replay(
    State(services): State<Arc<Services>>,
    id: Id,
    given: Given,
    request: Request,
) -> Result<Response, ApiError> {
    let id = tester(&services, id, request.headers()).await?;
    let filter = filters::replay(given)?;
    let draft = draft(request).await?;
    let page = services.admin.replay(id, Replay { draft, filter }).await?;
    response::unstored(StatusCode::OK, &page)
}

/// The application of the path, if the caller may try rules on its records. What a regex of a draft
/// finds tells of texts, so that changing rules alone is not enough.
async fn tester(
    services: &Services,
    id: Id,
    headers: &HeaderMap,
) -> Result<ApplicationId, ApiError> {
    let caller = administrator(services, headers).await?;
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
