//! An axum router behind a listener of the process: so every listener has the same TLS, hand-over, drain and
//! limits on what its clients may take.

mod answer_body;
mod client_shares;
mod connection;
mod guarded_io;
mod request_body;
mod silence;
mod waiting_piece;

pub(crate) use connection::WebLimits;

use crate::analysis::{ApiError, BodyMemory, Peer, RouteNames, Stopping};
use crate::gateway::{
    ClientHeads, ConnectionHandler, ConnectionLimit, MemoryBudget, MemoryFigures, Serving,
};
use crate::observe::Metrics;
use answer_body::AnswerBody;
use async_trait::async_trait;
use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, EXPECT, TRANSFER_ENCODING};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use connection::WebConnection;
use guarded_io::GuardedIo;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use log::debug;
use pingora_core::apps::ServerApp;
use pingora_core::protocols::Stream;
use pingora_core::server::ShutdownWatch;
use request_body::RequestBody;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;
use tower_service::Service as _;

/// How long a connection may wait for one more request after a successor took the listeners.
const LAST_REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest request head, as long as common proxies let one pass; a longer one gets 431.
const LONGEST_HEAD: usize = 32 << 10;

/// Name of the API's connection limit in the log.
const BOUND: &str = "as many as the file descriptors allow the analysis API";

tokio::task_local! {
    /// Set from the TLS handshake on, and read where the connection's requests are: pingora's types lie between.
    static ADMITTED: Arc<WebConnection>;
}

/// Requests and connections of the API of one process: a stop waits for its requests, a hand-over also waits
/// for its connections.
#[derive(Clone)]
pub(crate) struct ApiActivity {
    requests: Arc<AtomicI64>,
    /// Another process serves: open connections may still finish.
    handed_over: Arc<AtomicBool>,
    limit: Arc<ConnectionLimit>,
    /// The memory of its requests and answers, once it is served.
    memory: Arc<OnceLock<Arc<MemoryBudget>>>,
}

/// The name of the route that answered, in the extensions of its answer.
#[derive(Clone, Copy)]
struct AnsweredBy(&'static str);

/// Counted until it is dropped, however the request ends.
struct Counted(ApiActivity);

impl ApiActivity {
    /// With a limit of `connections`.
    pub(crate) fn new(connections: i64, metrics: &Arc<Metrics>) -> Self {
        Self {
            requests: Arc::default(),
            handed_over: Arc::default(),
            limit: ConnectionLimit::new(connections, BOUND, metrics.clone()),
            memory: Arc::default(),
        }
    }

    pub(crate) fn count(&self) -> i64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The limit of the API's connections.
    pub(crate) fn limit(&self) -> &Arc<ConnectionLimit> {
        &self.limit
    }

    /// What the memory of its requests and answers is used for; None where it is not served.
    pub(crate) fn memory_figures(&self) -> Option<MemoryFigures> {
        self.memory.get().map(|memory| memory.figures())
    }

    pub(crate) fn hand_over(&self) {
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
pub(crate) struct WebApp {
    router: Router,
    limits: Arc<WebLimits>,
    connection_limit: Arc<ConnectionLimit>,
}

/// The same, with its requests counted; after a hand-over open connections may finish.
pub(crate) struct CountedApp {
    app: WebApp,
    api_activity: ApiActivity,
}

impl CountedApp {
    /// Counts the requests of `router`.
    pub(crate) fn new(router: Router, limits: WebLimits, api_activity: ApiActivity) -> Self {
        let handed = api_activity.clone();
        let connection_limit = api_activity.limit().clone();
        let _ = api_activity.memory.set(limits.shares.memory().clone());
        let routes = RouteNames::new();
        let metrics = connection_limit.metrics();
        routes
            .all()
            .for_each(|name| metrics.analysis.add_route(name));
        let routes = Arc::new(routes);
        let count = move |request: Request, next: Next| {
            let counted = api_activity.enter();
            let route = AnsweredBy(routes.of(&request));
            async move {
                let mut response: Response = next.run(request).await;
                response.extensions_mut().insert(route);
                if counted.0.is_handed_over() {
                    close_behind(&mut response);
                }
                drop(counted);
                response
            }
        };
        Self {
            app: WebApp::new(router.layer(from_fn(count)), limits, connection_limit),
            api_activity: handed,
        }
    }
}

#[async_trait]
impl ServerApp for CountedApp {
    async fn process_new(
        self: &Arc<Self>,
        stream: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        let is_handed_over = || self.api_activity.is_handed_over();
        self.app.serve(stream, shutdown, is_handed_over).await;
        None
    }
}

#[async_trait]
impl ConnectionHandler for CountedApp {
    fn connection_limit(&self) -> &Arc<ConnectionLimit> {
        self.api_activity.limit()
    }

    fn header_timeout(&self) -> Duration {
        self.app.limits.header_timeout
    }

    fn client_memory(&self) -> Arc<ClientHeads> {
        self.app.client_memory()
    }

    async fn serve_within_share(
        &self,
        client: IpAddr,
        shutdown: ShutdownWatch,
        serving: Serving<'_>,
    ) {
        self.app.serve_within_share(client, shutdown, serving).await;
    }

    fn trusts(&self, peer: IpAddr) -> bool {
        self.app.limits.trusted_proxies.contains(peer)
    }
}

#[async_trait]
impl ServerApp for WebApp {
    async fn process_new(
        self: &Arc<Self>,
        stream: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        self.serve(stream, shutdown, || false).await;
        None
    }
}

#[async_trait]
impl ConnectionHandler for WebApp {
    fn connection_limit(&self) -> &Arc<ConnectionLimit> {
        &self.connection_limit
    }

    fn header_timeout(&self) -> Duration {
        self.limits.header_timeout
    }

    fn client_memory(&self) -> Arc<ClientHeads> {
        self.limits.before_requests.clone()
    }

    async fn serve_within_share(
        &self,
        client: IpAddr,
        shutdown: ShutdownWatch,
        serving: Serving<'_>,
    ) {
        if let Some(web) = self.open(client, shutdown).await {
            ADMITTED.scope(web, serving).await;
        }
    }
}

impl WebApp {
    /// Serves `router` under these limits.
    pub(crate) fn new(
        router: Router,
        limits: WebLimits,
        connection_limit: Arc<ConnectionLimit>,
    ) -> Self {
        Self {
            router,
            limits: Arc::new(limits),
            connection_limit,
        }
    }

    /// A connection that has its place among those of its client; None if it gets none before the process ends.
    async fn open(
        &self,
        client: IpAddr,
        mut shutdown: ShutdownWatch,
    ) -> Option<Arc<WebConnection>> {
        tokio::select! {
            // One that waits for no place is served whatever happens.
            biased;
            web = WebConnection::open(&self.limits, Some(client)) => web,
            _ = shutdown.wait_for(|stopping| *stopping) => None,
        }
    }

    /// Serves one connection to its end. Once the process ends, `is_handed_over` tells whether its listeners live on.
    async fn serve(
        &self,
        stream: Stream,
        shutdown: &ShutdownWatch,
        is_handed_over: impl Fn() -> bool,
    ) {
        let peer = peer(&stream);
        let Ok(web) = ADMITTED.try_with(Arc::clone) else {
            return;
        };
        let stream = GuardedIo::new(stream, web.clone());
        let (router, stopping) = (self.router.clone(), Stopping(shutdown.clone()));
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            let headers = request.headers();
            let client = Peer {
                address: web.client(peer.address, headers),
                is_tls: web
                    .is_encrypted(peer.address, headers)
                    .unwrap_or(peer.is_tls),
            };
            request.extensions_mut().insert(client);
            request.extensions_mut().insert(stopping.clone());
            answer(router.clone(), request, web.clone())
        });
        let mut connection = pin!(
            Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.limits.header_timeout)
                .max_buf_size(LONGEST_HEAD)
                .serve_connection(TokioIo::new(stream), service)
        );
        let mut shutdown = shutdown.clone();
        let mut ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            _ = shutdown.wait_for(|stopping| *stopping) => None,
        };
        if ended.is_none() && is_handed_over() {
            // A request may be on its way; its answer closes the connection.
            ended = timeout(LAST_REQUEST_TIMEOUT, connection.as_mut())
                .await
                .ok();
        }
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!("client connection ended: {error}");
        }
    }
}

/// The answer of the router, with request and answer under the limits of their connection.
async fn answer(
    mut router: Router,
    mut request: http::Request<Incoming>,
    connection: Arc<WebConnection>,
) -> Result<http::Response<AnswerBody>, Infallible> {
    connection.written().await;
    let memory = BodyMemory(connection.clone());
    request.extensions_mut().insert(memory.clone());
    let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let waits_to_send = request.headers().contains_key(EXPECT);
    let request = request.map(|body| RequestBody::new(body, connection.clone()));
    let mut response: Response = router.call(request).await?;
    // The handler has dropped the request, and what is counted next is the answer.
    memory.release();
    let route = response.extensions().get::<AnsweredBy>().copied();
    // Of a stream, what is in memory already.
    let size = response.body().size_hint().lower();
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if !connection.cover(size) && !connection.clone().cover_in_time(size).await {
        response = ApiError::Overloaded.into_response();
    }
    if let Some(AnsweredBy(route)) = route {
        let metrics = &connection.limits.metrics;
        metrics.analysis.answered(route, response.status().as_str());
    }
    let is_read = connection.reads_to_end(waits_to_send).await;
    if !is_read || is_chunked && !connection.has_certain_end() {
        close_behind(&mut response);
    }
    Ok(response.map(|body| AnswerBody::new(body, connection)))
}

/// The answer is the last one of its connection.
fn close_behind(response: &mut Response) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
}

/// The peer of a connection, and whether the connection is encrypted.
fn peer(stream: &Stream) -> Peer {
    let digest = stream.get_socket_digest();
    let address =
        digest.and_then(|digest| digest.peer_addr().and_then(|peer| peer.as_inet().copied()));
    Peer {
        address: address.map(|address| address.ip()),
        is_tls: stream.get_ssl_digest().is_some(),
    }
}
