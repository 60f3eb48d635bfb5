//! `POST /process_request/` and `POST /process_response/` (§4.3), and both with rules of the request's
//! own (§4.4).

use super::process_body::{self, RulesOf};
use crate::analysis::api::extract::bearer;
use crate::analysis::api::extract::body;
use crate::analysis::api::response::json;
use crate::analysis::{ApiError, Services};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use monitor_model::Stage;
use monitor_store::Scope;
use std::sync::Arc;

type Answer = Result<Response, ApiError>;

pub(in crate::analysis::api) async fn request(
    State(services): State<Arc<Services>>,
    request: Request,
) -> Answer {
    process(&services, Stage::PreCall, RulesOf::Application, request).await
}

pub(in crate::analysis::api) async fn response(
    State(services): State<Arc<Services>>,
    request: Request,
) -> Answer {
    process(&services, Stage::PostCall, RulesOf::Application, request).await
}

pub(in crate::analysis::api) async fn request_override(
    State(services): State<Arc<Services>>,
    request: Request,
) -> Answer {
    process(&services, Stage::PreCall, RulesOf::Request, request).await
}

pub(in crate::analysis::api) async fn response_override(
    State(services): State<Arc<Services>>,
    request: Request,
) -> Answer {
    process(&services, Stage::PostCall, RulesOf::Request, request).await
}

/// The token is checked before the body is read, so that a stranger costs no memory.
async fn process(services: &Services, stage: Stage, rules: RulesOf, request: Request) -> Answer {
    let key = bearer::bearer(request.headers())?;
    let token = services.access.authorize(&key, Scope::Ingest).await?;
    let bytes = body::read(request, services.ingest.max_body()).await?;
    let asked = process_body::parse(&bytes, stage, rules)?;
    drop(bytes);
    let answer = services.ingest.process_for(&token, asked).await?;
    let bytes = serde_json::to_vec(&answer).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, bytes))
}
