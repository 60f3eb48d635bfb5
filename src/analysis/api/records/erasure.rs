//! `DELETE /records?user_id=…` (scope admin): everything of one user goes; the answer is a receipt.

use crate::analysis::api::extract::callers::administrator;
use crate::analysis::api::extract::query::{Given, Query};
use crate::analysis::api::response;
use crate::analysis::{ApiError, FieldProblem, Services};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use std::sync::Arc;

pub(in crate::analysis::api) async fn records(
    State(services): State<Arc<Services>>,
    given: Given,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = administrator(&services, &headers).await?;
    let mut query = Query::read(given)?;
    let user_id = query.take("user_id")?;
    let uuid = |text: &str| text.parse().ok();
    let application = query.typed("application_id", "must be a UUID", uuid)?;
    query.finish()?;
    let user_id = user_id.ok_or_else(|| FieldProblem::new("user_id", "missing"))?;
    // To its end and its line in the audit log, also when the client leaves.
    let erased =
        tokio::spawn(async move { services.records.erase(&caller, user_id, application).await });
    let receipt = erased.await.map_err(|_| ApiError::Internal)??;
    response::unstored(StatusCode::OK, &receipt)
}
