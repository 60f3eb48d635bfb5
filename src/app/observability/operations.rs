//! The operations listener (CONTRACT 35): metrics, health and status, on loopback by default.

use crate::app::observability::status::Overview;
use crate::app::process::sockets::Sockets;
use crate::app::process::web::{WebApp, WebLimits};
use crate::config::Limits;
use crate::gateway::{ConnectionLimit, Listener, ListenerService};
use crate::observe::Metrics;
use crate::spool::Spool;
use anyhow::Result;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use std::net::SocketAddr;
use std::sync::Arc;

/// Connections at once: half of the descriptors that are reserved for everything but clients.
const CONNECTIONS: i64 = 64;
/// Bytes of requests and answers in memory, many times what all of them take.
const MEMORY: usize = 16 << 20;

/// The listener of a process for its operators and their tools.
#[derive(Clone)]
pub(crate) struct Operations {
    pub(crate) address: SocketAddr,
    pub(crate) limit: Arc<ConnectionLimit>,
}

/// `/metrics`, `/livez`, `/readyz`, `/status`.
fn router(overview: Overview) -> Router {
    let overview = Arc::new(overview);
    let (measured, shown) = (overview.clone(), overview.clone());
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(|| async move { ready(&overview).await }))
        .route("/metrics", get(|| async move { figures(&measured).await }))
        .route("/status", get(|| async move { Json(shown.page().await) }))
}

async fn figures(overview: &Overview) -> impl IntoResponse + use<> {
    overview.measure().await;
    text(&overview.metrics)
}

async fn ready(overview: &Overview) -> (StatusCode, String) {
    let state = overview.readiness.state();
    if state != "ready" {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{state}\n"));
    }
    overview.readiness.note_check();
    // A failing disk is no reason to send the calls of a gateway elsewhere: they are answered as before. The
    // same holds for its store. An analysis server without its store answers nothing.
    let store = overview.store_health().await;
    let is_away = store.is_some_and(|store| store.schema.is_err());
    if is_away && overview.gateway_state.is_none() {
        let text = "the store does not answer\n".to_owned();
        return (StatusCode::SERVICE_UNAVAILABLE, text);
    }
    let degraded = overview.spool.as_ref().is_some_and(Spool::is_degraded);
    let mut text = "ready".to_owned();
    for (is_so, what) in [
        (degraded, ", spool degraded"),
        (is_away, ", the store does not answer"),
    ] {
        if is_so {
            text += what;
        }
    }
    (StatusCode::OK, text + "\n")
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

impl Operations {
    /// At this address, which the process has claimed.
    pub(crate) fn new(address: SocketAddr, metrics: &Arc<Metrics>) -> Self {
        Self {
            address,
            limit: ConnectionLimit::new(
                CONNECTIONS,
                "all of the operations listener",
                metrics.clone(),
            ),
        }
    }

    /// Whether no further connection is accepted until one closes.
    pub(crate) fn is_full(&self) -> bool {
        self.limit.in_use() >= CONNECTIONS
    }

    /// The service, with its own thread.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub(crate) fn service(
        &self,
        sockets: &Sockets,
        limits: &Limits,
        overview: Overview,
    ) -> Result<ListenerService<WebApp>> {
        let listener = Listener {
            socket: sockets.copy(self.address)?,
            tls: None,
            proxy_protocol: false,
        };
        let limits = WebLimits::of_tools(limits, MEMORY, self.limit.metrics());
        let app = WebApp::new(router(overview), limits, self.limit.clone());
        Ok(ListenerService::new("operations", vec![listener], app).on_threads(1))
    }
}
