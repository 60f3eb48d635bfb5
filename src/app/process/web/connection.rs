//! What the parts of one connection share: the bytes it reads and writes, the body of its request, the answer.

use super::client_shares::{ClientBounds, ClientShares, ConnectionShare, MOST_WAITING};
use crate::analysis::HeldMemory;
use crate::config::{AnalysisSettings, Limits, TrustedProxies};
use crate::edge;
use crate::gateway::{ClientHeads, MemoryBudget};
use crate::observe::events::{ConnectionEnded, Overloaded};
use crate::observe::{EndReason, Exhausted, Metrics};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

/// How long a request or an answer waits for memory before it is refused.
const MEMORY_WAIT: Duration = Duration::from_secs(3);
/// Between two attempts.
const ATTEMPT: Duration = Duration::from_millis(20);
/// An answer up to this size is not counted: the connection's own buffers are as large.
const SMALL_ANSWER: usize = 16 << 10;

/// So much of a body that was not read is read before the answer, so that its connection can be used again.
const LONGEST_REST: u64 = 64 << 10;
/// How long that may take.
const REST_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections of one address to the listener for the machine's own tools, and as many that wait: together fewer than
/// all may have.
const OF_A_TOOL: usize = 24;

/// The limits of the connections of a listener.
pub(crate) struct WebLimits {
    /// For each request head, and for each silence inside a body.
    pub(crate) header_timeout: Duration,
    /// For a client that takes nothing of its answer.
    pub(crate) idle_timeout: Duration,
    pub(crate) shares: Arc<ClientShares>,
    /// What clients send before a request is read.
    pub(crate) before_requests: Arc<ClientHeads>,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) metrics: Arc<Metrics>,
}

impl WebLimits {
    /// Of the analysis API and the web UI, which has so many `connections` in all: one address has half of them at most,
    /// and a quarter waits.
    pub(crate) fn of_api(
        settings: &AnalysisSettings,
        connections: i64,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let limits = &settings.limits;
        let connections = usize::try_from(connections).unwrap_or(0);
        let bounds = ClientBounds {
            bytes: usize::try_from(limits.client_bytes).unwrap_or(usize::MAX),
            connections: limits.client_connections.min((connections / 2).max(1)),
        };
        let most_waiting = MOST_WAITING.min(connections / 4);
        let memory = MemoryBudget::of_api(limits.buffered_bytes, metrics);
        Self {
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
            before_requests: ClientHeads::new(memory.clone(), limits.client_bytes),
            shares: ClientShares::new(memory, bounds, most_waiting),
            trusted_proxies: settings.trusted_proxies.clone(),
            metrics: metrics.clone(),
        }
    }

    /// Of a listener for the machine's own tools, with as much memory for all clients as for one.
    pub(crate) fn of_tools(times: &Limits, most: usize, metrics: &Arc<Metrics>) -> Self {
        let bounds = ClientBounds {
            bytes: most,
            connections: OF_A_TOOL,
        };
        let memory = MemoryBudget::unmeasured(most as u64);
        Self {
            header_timeout: times.header_timeout,
            idle_timeout: times.idle_timeout,
            before_requests: ClientHeads::new(memory.clone(), most as u64),
            shares: ClientShares::new(memory, bounds, OF_A_TOOL),
            trusted_proxies: TrustedProxies::default(),
            metrics: metrics.clone(),
        }
    }
}

/// What the reader of a connection, its writer and its request share.
pub(super) struct WebConnection {
    pub(super) limits: Arc<WebLimits>,
    share: Mutex<ConnectionShare>,
    /// A trusted proxy brings requests of many clients.
    is_proxied: bool,
    has_unread_body: AtomicBool,
    /// The rest of a body that its handler did not read.
    rest: Mutex<Option<Incoming>>,
    /// Lines came behind the last chunk of the body.
    has_trailers: AtomicBool,
    /// The answer has been handed over whole; its memory is released once it is written.
    answer_has_ended: AtomicBool,
    /// An answer has begun and is not written yet.
    is_answering: AtomicBool,
    was_written: Notify,
}

impl WebConnection {
    /// None, counted, where the client has too many connections, and had them for `limits.header_timeout`.
    pub(super) async fn open(
        limits: &Arc<WebLimits>,
        address: Option<IpAddr>,
    ) -> Option<Arc<Self>> {
        let proxy = address.filter(|address| limits.trusted_proxies.contains(*address));
        let connected = match proxy {
            Some(proxy) => limits.shares.connect_proxy(proxy),
            None => limits.shares.connect(address, limits.header_timeout).await,
        };
        let Some(share) = connected else {
            let reason = EndReason::ClientConnections;
            ConnectionEnded { reason }.emit(&limits.metrics);
            return None;
        };
        Some(Arc::new(Self {
            limits: limits.clone(),
            share: Mutex::new(share),
            is_proxied: proxy.is_some(),
            has_unread_body: AtomicBool::new(false),
            rest: Mutex::default(),
            has_trailers: AtomicBool::new(false),
            answer_has_ended: AtomicBool::new(false),
            is_answering: AtomicBool::new(false),
            was_written: Notify::new(),
        }))
    }

    /// The client of a request, which a trusted proxy names. What the request takes counts for it.
    pub(super) fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.is_proxied {
            return peer;
        }
        let client = edge::client(&self.limits.trusted_proxies, peer, headers);
        if let Some(client) = client {
            self.share().count_for_client(client);
        }
        client
    }

    /// Waits until the answer before is written: what a client does not read is in memory once, and counted, however
    /// many requests it has sent ahead.
    pub(super) async fn written(&self) {
        while self.is_answering.load(Ordering::Relaxed) {
            self.was_written.notified().await;
        }
    }

    /// Whether the connection of the client is encrypted, if a trusted proxy says so.
    pub(super) fn is_encrypted(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<bool> {
        edge::is_encrypted(&self.limits.trusted_proxies, peer, headers)
    }

    /// A request begins.
    pub(super) fn begin(&self, has_body: bool) {
        self.answer_has_ended.store(false, Ordering::Relaxed);
        self.has_unread_body.store(has_body, Ordering::Relaxed);
        self.has_trailers.store(false, Ordering::Relaxed);
        self.share().release();
    }

    pub(super) fn body_has_ended(&self) {
        self.has_unread_body.store(false, Ordering::Relaxed);
    }

    pub(super) fn has_unread_body(&self) -> bool {
        self.has_unread_body.load(Ordering::Relaxed)
    }

    /// The handler of the request has not read its body to the end.
    pub(super) fn leave_rest(&self, rest: Incoming) {
        *self.rest() = Some(rest);
    }

    /// Whether the body has ended, or does within a little more: the next request is behind it. A client that
    /// `waits_to_send` it is not asked for it.
    pub(super) async fn reads_to_end(&self, waits_to_send: bool) -> bool {
        let Some(mut rest) = self.rest().take() else {
            return !self.has_unread_body();
        };
        if waits_to_send || rest.size_hint().lower() > LONGEST_REST {
            return false;
        }
        let reading = async {
            let mut read = 0;
            while let Some(frame) = rest.frame().await {
                let frame = frame.ok()?;
                if frame.is_trailers() {
                    self.trailers_came();
                }
                read += frame.data_ref().map_or(0, Bytes::len) as u64;
                if read > LONGEST_REST {
                    return None;
                }
            }
            Some(())
        };
        let has_ended = matches!(timeout(REST_TIMEOUT, reading).await, Ok(Some(())));
        if has_ended {
            self.body_has_ended();
        }
        has_ended
    }

    fn rest(&self) -> MutexGuard<'_, Option<Incoming>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn trailers_came(&self) {
        self.has_trailers.store(true, Ordering::Relaxed);
    }

    /// Whether it is certain where a chunked body ends: hyper takes everything up to an empty line for trailers, also
    /// a request behind a bare line feed, which other servers read as the next one.
    pub(super) fn has_certain_end(&self) -> bool {
        !self.has_unread_body() && !self.has_trailers.load(Ordering::Relaxed)
    }

    pub(super) fn answer_begins(&self) {
        self.is_answering.store(true, Ordering::Relaxed);
    }

    pub(super) fn answer_has_ended(&self) {
        self.answer_has_ended.store(true, Ordering::Relaxed);
    }

    /// Everything written so far has left.
    pub(super) fn flushed(&self) {
        if self.answer_has_ended.swap(false, Ordering::Relaxed) {
            self.share().release();
            self.is_answering.store(false, Ordering::Relaxed);
            self.was_written.notify_one();
        }
    }

    /// Counts and logs why the connection ends.
    pub(super) fn ends(&self, reason: EndReason) {
        ConnectionEnded { reason }.emit(&self.limits.metrics);
    }

    /// Reserves `bytes` more for the body of the request, at once.
    pub(super) fn grow(&self, bytes: usize) -> bool {
        self.share().grow(bytes)
    }

    /// The same, waiting for others to return theirs; false, counted, where they do not.
    pub(super) async fn grow_in_time(self: Arc<Self>, bytes: usize) -> bool {
        self.in_time(|share| share.grow(bytes)).await
    }

    /// Reserves what an answer, or a piece of one, of `bytes` takes until it is written.
    pub(super) fn cover(&self, bytes: usize) -> bool {
        covered(&mut self.share(), bytes)
    }

    /// The same, waiting for others to return theirs; false, counted, where they do not.
    pub(super) async fn cover_in_time(self: Arc<Self>, bytes: usize) -> bool {
        self.in_time(|share| covered(share, bytes)).await
    }

    async fn in_time(&self, attempt: impl Fn(&mut ConnectionShare) -> bool) -> bool {
        let ends = Instant::now() + MEMORY_WAIT;
        while !attempt(&mut self.share()) {
            if Instant::now() >= ends {
                let room = Exhausted::ApiMemory;
                Overloaded { room }.emit(&self.limits.metrics);
                return false;
            }
            sleep(ATTEMPT).await;
        }
        true
    }

    fn share(&self) -> MutexGuard<'_, ConnectionShare> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn covered(share: &mut ConnectionShare, bytes: usize) -> bool {
    let held = share.bytes();
    bytes <= held.max(SMALL_ANSWER) || share.grow(bytes - held)
}

/// The body of the request, towards a handler that passes it on piece by piece.
#[async_trait]
impl HeldMemory for WebConnection {
    async fn grow(self: Arc<Self>, bytes: usize) -> bool {
        WebConnection::grow(&self, bytes) || self.grow_in_time(bytes).await
    }

    fn release(&self) {
        self.share().release();
    }

    fn count_for(&self, token: u64) {
        self.share().count_for(token);
    }
}
