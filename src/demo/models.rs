//! GET `/v1/models`: the two names worth showing. Other names are answered too, but not listed.

use super::refusal::{Refusal, check_key};
use axum::Json;
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// Names with short and with longer answers.
const NAMES: [&str; 2] = ["demo-small", "demo-large"];

/// When the names were made, Unix seconds: fixed, so that the list never changes.
const CREATED: u64 = 1_735_689_600;

/// The list in the reference format.
pub(super) async fn list(headers: HeaderMap) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    let data: Vec<Value> = NAMES
        .iter()
        .map(|name| json!({"id": name, "object": "model", "created": CREATED, "owned_by": "demo"}))
        .collect();
    Ok(Json(json!({"object": "list", "data": data})))
}
