//! The demo upstream: a small server in the reference chat API format, so that the product can be
//! tried without a model (§1.1, CONTRACT 32). It is no model and no test double: it understands
//! nothing, keeps nothing but its latest responses, and calls nobody.
//!
//! Any key or none is accepted, except `invalid` (401). Model names with a meaning: `missing-model`
//! (404), `rate-limited` (429 with Retry-After), `overloaded` (503 in plain text, not the envelope),
//! `demo-judge` (judges custom policies by their own words); every other name is answered. Prompts with a meaning:
//! `echo: TEXT` ([`answer`]) and `tool:NAME` ([`tool_call`]). Token numbers are an estimate, see
//! [`tokens::estimated_tokens`].

mod agent_call;
mod agents;
mod answer;
mod completion;
mod completions;
mod embeddings;
mod judge;
mod messages;
mod refusal;
mod request;
mod stored;
mod tokens;
mod tool_call;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use completion::Completion;
use refusal::{MessagesRefusal, Refusal, check_key};
use request::ChatCall;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use stored::StoredResponses;

/// Largest request body in bytes; past it the answer is 413.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The routes of the demo upstream.
pub fn router() -> Router {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/responses", post(agents::respond))
        .route("/v1/responses/input_tokens", post(agents::input_tokens))
        .route("/v1/responses/{id}", get(stored::get))
        .route("/v1/messages", post(agents::message))
        .route("/v1/messages/count_tokens", post(agents::count_tokens))
        .route("/v1/completions", post(completions::complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/models", get(models))
        .fallback(async |uri: Uri| refused(&uri, "path"))
        .method_not_allowed_fallback(async |uri: Uri| refused(&uri, "method"))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(Arc::new(StoredResponses::default()))
}

/// A refusal of `refusals.json` in the form of the API below whose path it is.
fn refused(uri: &Uri, name: &str) -> Response {
    let refusal = Refusal::named(name);
    match uri.path().starts_with("/v1/messages") {
        true => MessagesRefusal::from(refusal).into_response(),
        false => refusal.into_response(),
    }
}

async fn complete(
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
    body: Bytes,
) -> Result<Response, Refusal> {
    check_key(&headers)?;
    let call = ChatCall::read(&body, query.get("pace_ms").map(String::as_str))?;
    Ok(Completion::new(&call).response(&call))
}

/// The two names worth showing, with short and with longer answers. Other names are answered too.
async fn models(headers: HeaderMap) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    let data = ["demo-small", "demo-large"].map(
        |name| json!({"id": name, "object": "model", "created": 1_735_689_600, "owned_by": "demo"}),
    );
    Ok(Json(json!({"object": "list", "data": data})))
}
