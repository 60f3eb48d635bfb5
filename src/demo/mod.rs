//! The demo upstream: a small server in the reference chat API format, so that the product can be
//! tried without a model (§1.1, CONTRACT 32). It is no model and no test double: it understands
//! nothing, keeps nothing and calls nobody.
//!
//! Routes: POST `/v1/chat/completions`, POST `/v1/embeddings`, GET `/v1/models`. Any bearer key or
//! none is accepted, except `invalid` (401). Model names with a meaning: `missing-model` (404),
//! `rate-limited` (429 with Retry-After), `overloaded` (503 in plain text, not the envelope),
//! `demo-judge` (judges custom policies by their own words); every other name is answered. Token numbers are an estimate, see [`words::estimated_tokens`].

mod answer;
mod chat;
mod completion;
mod embeddings;
mod judge;
mod models;
mod refusal;
mod request;
mod stream;
mod words;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use refusal::Refusal;

/// Largest request body in bytes; past it the answer is 413.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The routes of the demo upstream, without state.
pub fn router() -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/models", get(models::list))
        .fallback(async || Refusal::UnknownPath)
        .method_not_allowed_fallback(async || Refusal::WrongMethod)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
}
