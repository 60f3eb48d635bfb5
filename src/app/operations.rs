//! The operations listener (CONTRACT 35): metrics and health, on loopback by default.

use super::lifecycle::Readiness;
use super::policies;
use crate::observe::Metrics;
use crate::policy::Policies;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;

/// `/metrics`, `/livez`, `/readyz`.
pub(super) fn router(
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    in_force: Option<Policies>,
) -> Router {
    let look = move || {
        if let Some(in_force) = &in_force {
            policies::measure(in_force, &metrics);
        }
        text(&metrics)
    };
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { ready(&readiness) }))
        .route("/metrics", get(move || async move { look() }))
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
