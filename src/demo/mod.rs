//! The demo upstream: a small server in the reference chat API format, so that the product can be
//! tried without a model (§1.1, CONTRACT 32). It is no model and no test double: it understands
//! nothing, keeps nothing and calls nobody.
//!
//! Any bearer key or none is accepted, except `invalid` (401). Model names with a meaning: `missing-model`
//! (404), `rate-limited` (429 with Retry-After), `overloaded` (503 in plain text, not the envelope),
//! `demo-judge` (judges custom policies by their own words); every other name is answered. Token numbers
//! are an estimate, see [`tokens::estimated_tokens`].

mod answer;
mod completion;
mod embeddings;
mod judge;
mod messages;
mod refusal;
mod request;
mod tokens;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use completion::Completion;
use refusal::{Refusal, check_key};
use request::ChatCall;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Largest request body in bytes; past it the answer is 413.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The routes of the demo upstream, without state.
pub fn router() -> Router {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/models", get(models))
        .fallback(async || Refusal::named("path"))
        .method_not_allowed_fallback(async || Refusal::named("method"))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
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
