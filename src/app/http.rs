//! An axum router on a pingora listener: so every listener has pingora's TLS, hand-over and drain.

use crate::analysis::{Peer, Stopping};
use async_trait::async_trait;
use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pingora_core::apps::ServerApp;
use pingora_core::protocols::Stream;
use pingora_core::server::ShutdownWatch;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use tower_service::Service as _;

/// How long a connection may wait for one more request after a hand-over.
const PEACE: Duration = Duration::from_secs(5);

/// Requests under way on the routers of one process; a stop waits for them.
#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay {
    requests: Arc<AtomicI64>,
    /// Another process serves: who is connected here may finish in peace.
    handed_over: Arc<AtomicBool>,
}

/// Counted until it is dropped, however the request ends.
struct Counted(UnderWay);

impl UnderWay {
    pub(super) fn count(&self) -> i64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn hand_over(&self) {
        self.handed_over.store(true, Ordering::Relaxed);
    }

    fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Relaxed)
    }

    fn enter(&self) -> Counted {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves one router over HTTP/1.1.
pub(super) struct WebApp {
    router: Router,
    header_timeout: Duration,
    under_way: UnderWay,
}

impl WebApp {
    /// `header_timeout` bounds the wait for each request head, the first one included.
    pub(super) fn new(router: Router, header_timeout: Duration) -> Self {
        Self {
            router,
            header_timeout,
            under_way: UnderWay::default(),
        }
    }

    /// The same, with its requests counted.
    pub(super) fn counted(router: Router, header_timeout: Duration, under_way: UnderWay) -> Self {
        let handed = under_way.clone();
        let count = move |request: Request, next: Next| {
            let counted = under_way.enter();
            async move {
                let mut response: Response = next.run(request).await;
                if counted.0.is_handed_over() {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(CONNECTION, close);
                }
                drop(counted);
                response
            }
        };
        Self {
            under_way: handed,
            ..Self::new(router.layer(from_fn(count)), header_timeout)
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
        let (router, peer) = (self.router.clone(), peer(&stream));
        let stopping = Stopping(shutdown.clone());
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(stopping.clone());
            router.clone().call(request)
        });
        let mut connection = pin!(
            Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.header_timeout)
                .serve_connection(TokioIo::new(stream), service)
        );
        let mut shutdown = shutdown.clone();
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            _ = shutdown.wait_for(|stopping| *stopping) => None,
        };
        if ended.is_none() && self.under_way.is_handed_over() {
            // A request may be on its way; its answer closes the connection.
            if tokio::time::timeout(PEACE, connection.as_mut())
                .await
                .is_ok()
            {
                return None;
            }
        }
        if ended.is_none() {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
        None
    }
}

/// Who is at the other end of a connection, and whether it is a secret one.
fn peer(stream: &Stream) -> Peer {
    let digest = stream.get_socket_digest();
    let address =
        digest.and_then(|digest| digest.peer_addr().and_then(|peer| peer.as_inet().copied()));
    Peer {
        address: address.map(|address| address.ip()),
        is_tls: stream.get_ssl_digest().is_some(),
    }
}
