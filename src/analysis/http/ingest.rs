//! `POST /process_request/` and `POST /process_response/` (§4.3), and both with rules of the request's
//! own (§4.4).

use super::body::{self, RulesOf};
use super::{auth, json};
use crate::analysis::{ApiError, Service};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use monitor_model::Stage;
use monitor_store::Scope;
use std::sync::Arc;

type Answer = Result<Response, ApiError>;

pub(super) async fn request(State(service): State<Arc<Service>>, request: Request) -> Answer {
    process(&service, (Stage::PreCall, RulesOf::Application), request).await
}

pub(super) async fn response(State(service): State<Arc<Service>>, request: Request) -> Answer {
    process(&service, (Stage::PostCall, RulesOf::Application), request).await
}

pub(super) async fn request_override(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Answer {
    process(&service, (Stage::PreCall, RulesOf::Request), request).await
}

pub(super) async fn response_override(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Answer {
    process(&service, (Stage::PostCall, RulesOf::Request), request).await
}

/// The token is checked before the body is read, so that a stranger costs no memory.
async fn process(service: &Service, (stage, rules): (Stage, RulesOf), request: Request) -> Answer {
    let key = auth::bearer(request.headers())?;
    let token = service.authorise(&key, Scope::Ingest).await?;
    let bytes = body::read(request, service.max_body()).await?;
    let asked = body::parse(&bytes, stage, rules)?;
    drop(bytes);
    let answer = service.process_as(&token, asked).await?;
    let bytes = serde_json::to_vec(&answer).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, bytes))
}
