//! The operations listener (CONTRACT 35): metrics, health and status, on loopback by default.

use crate::app::observability::status::Overview;
use crate::app::process::web::WebApp;
use crate::config::Settings;
use crate::observe::Metrics;
use crate::spool::Spool;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use pingora_core::services::listening::Service as Listening;
use std::net::SocketAddr;
use std::sync::Arc;

/// `/metrics`, `/livez`, `/readyz`, `/status`.
pub(crate) fn router(overview: Overview) -> Router {
    let overview = Arc::new(overview);
    let (measured, shown) = (overview.clone(), overview.clone());
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(|| async move { ready(&overview) }))
        .route("/metrics", get(|| async move { figures(&measured) }))
        .route("/status", get(|| async move { Json(shown.page()) }))
}

fn figures(overview: &Overview) -> impl IntoResponse + use<> {
    overview.measure();
    text(&overview.metrics)
}

fn ready(overview: &Overview) -> impl IntoResponse + use<> {
    // A failing disk is no reason to send the calls elsewhere: they are answered as before.
    let degraded = overview.spool.as_ref().is_some_and(Spool::is_degraded);
    match overview.readiness.state() {
        "ready" if degraded => (StatusCode::OK, "ready, spool degraded\n".to_owned()),
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

/// The operations listener.
pub(crate) fn operations_service(
    address: SocketAddr,
    settings: &Settings,
    router: axum::Router,
) -> Listening<WebApp> {
    let app = WebApp::new(router, settings.gateway.limits.header_timeout);
    let mut service = Listening::new("operations".into(), app);
    service.threads = Some(1);
    service.add_tcp(&address.to_string());
    service
}
