//! `POST /process_request/` and `POST /process_response/` (§4.3).

use super::{auth, body, json};
use crate::analysis::process::Asked;
use crate::analysis::{ApiError, Service};
use crate::model::Stage;
use crate::store::Scope;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;

pub(super) async fn request(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, ApiError> {
    process(&service, Stage::PreCall, request).await
}

pub(super) async fn response(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, ApiError> {
    process(&service, Stage::PostCall, request).await
}

/// The token is checked before the body is read, so that a stranger costs no memory.
async fn process(service: &Service, stage: Stage, request: Request) -> Result<Response, ApiError> {
    let key = auth::bearer(request.headers())?;
    let token = service.authorise(&key, Scope::Ingest).await?;
    let bytes = body::read(request, service.max_body()).await?;
    let input = body::parse(&bytes)?;
    drop(bytes);
    let answer = service
        .process_as(
            &token,
            Asked {
                stage,
                input,
                validation: None,
            },
        )
        .await?;
    let bytes = serde_json::to_vec(&answer).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, bytes))
}
