//! The operations listener (CONTRACT 35): metrics and health, on loopback by default.

use super::lifecycle::Readiness;
use crate::observe::Metrics;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;

/// `/metrics`, `/livez`, `/readyz`.
pub(super) fn router(metrics: Arc<Metrics>, readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { ready(&readiness) }))
        .route("/metrics", get(move || async move { text(&metrics) }))
}

fn ready(readiness: &Readiness) -> impl IntoResponse + use<> {
    match readiness.state() {
        "ready" => (StatusCode::OK, "ready\n".to_owned()),
        other => (StatusCode::SERVICE_UNAVAILABLE, format!("{other}\n")),
    }
}

fn text(metrics: &Metrics) -> impl IntoResponse + use<> {
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        metrics.render(),
    )
}
