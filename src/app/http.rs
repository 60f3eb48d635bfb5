//! An axum router on a pingora listener: so every listener has pingora's TLS, hand-over and drain.

use async_trait::async_trait;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use pingora_core::apps::ServerApp;
use pingora_core::protocols::Stream;
use pingora_core::server::ShutdownWatch;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Serves one router.
pub(super) struct WebApp {
    router: Router,
    header_timeout: Duration,
}

impl WebApp {
    pub(super) fn new(router: Router, header_timeout: Duration) -> Self {
        Self {
            router,
            header_timeout,
        }
    }
}

#[async_trait]
impl ServerApp for WebApp {
    async fn process_new(
        self: &Arc<Self>,
        stream: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout);
        builder.http2().timer(TokioTimer::new());
        let service = TowerToHyperService::new(self.router.clone());
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut shutdown = shutdown.clone();
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            _ = shutdown.wait_for(|stopping| *stopping) => None,
        };
        if ended.is_none() {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
        None
    }
}
