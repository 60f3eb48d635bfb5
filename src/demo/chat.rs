//! POST `/v1/chat/completions`: the plain answer, and the choice between it and the stream. The
//! stream's frames are in `stream`, the words in `answer`.

use super::answer::answers;
use super::completion::Completion;
use super::refusal::{Refusal, check_key};
use super::request::ChatCall;
use super::stream;
use axum::Json;
use axum::body::Bytes;
use axum::extract::Query;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// Query of a chat call.
#[derive(Debug, Deserialize)]
pub(super) struct Pace {
    /// Milliseconds between two words of a stream.
    pace_ms: Option<String>,
}

/// Answers a call, plain or as an event stream.
pub(super) async fn complete(
    headers: HeaderMap,
    Query(query): Query<Pace>,
    body: Bytes,
) -> Result<Response, Refusal> {
    check_key(&headers)?;
    let call = ChatCall::read(&body, query.pace_ms.as_deref())?;
    let completion = Completion::new(&call, answers(&call));
    if call.stream {
        return Ok(stream::response(&completion, call.include_usage, call.pace));
    }
    Ok(Json(completion.to_json()).into_response())
}
