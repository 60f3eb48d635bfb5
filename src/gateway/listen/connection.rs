//! One client connection: detects the protocol from the first bytes and serves the requests one after
//! another.
//!
//! Pingora's own detection of clear-text HTTP/2 waits for 24 bytes without a time limit, so it hangs on a
//! shorter HTTP/1.0 request. Here the first head is read under `limits.header_timeout`.

use super::client_places::ClientPlaces;
use super::connection_limit::ConnectionLimit;
use super::http1::{FIRST_READ, Http1Connection};
use super::listener::ConnectionHandler;
use crate::fair_queue::{holder_of, network};
use crate::gateway::guard::{ClientGuard, GuardedStream};
use crate::gateway::limits::{ClientHeads, SHORT_HEAD};
use crate::gateway::proxy::Gateway;
use crate::gateway::state::GatewayState;
use crate::gateway::upstream::health_check;
use crate::observe::EndReason;
use crate::observe::events::ConnectionEnded;
use async_trait::async_trait;
use bytes::BytesMut;
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream, ServerApp};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::protocols::{ALPN, Stream};
use pingora_core::server::ShutdownWatch;
use pingora_core::server::configuration::ServerConf;
use pingora_proxy::{HttpProxy, http_proxy};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// RFC 9113 §3.4.
const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_END: &[u8] = b"\r\n\r\n";
/// A head that is still incomplete after this many bytes is left to pingora, which limits its size, and to the
/// connection's guard, which counts it.
const LONGEST_FIRST_READ: usize = SHORT_HEAD;
/// How often a process that has handed over checks whether its last connections have ended.
const CLEANUP_POLL: Duration = Duration::from_millis(20);

/// HTTP/2: concurrent requests of one connection. The limits below bound the work and memory a client
/// can cause beyond its requests; a client that exceeds one gets GOAWAY.
const STREAMS: u32 = 100;
/// HTTP/2: the decoded size of one head. Also bounds the CONTINUATION frames of a head.
const HEAD_SIZE: u32 = 64 << 10;
/// HTTP/2: bytes of an answer that wait for the client's window, per stream.
const SEND_BUFFER: usize = 128 << 10;
/// HTTP/2: one address may have so small a part of `limits.client_connections`: with a hundred streams that ended, a
/// connection takes 280 KiB.
const PARTS_OF_HTTP2: usize = 4;
/// HTTP/2: streams that the client has reset before the gateway accepted them.
const RESET_BEFORE_ACCEPT: usize = 20;
/// HTTP/2: streams that the gateway has reset and still tracks.
const RESET_TRACKED: usize = 50;
/// HTTP/2: streams that the gateway has reset because of protocol errors.
const RESET_FOR_ERRORS: usize = 100;

/// Serves the gateway's client connections.
pub struct ClientConnections {
    gateway: Gateway,
    proxy: Arc<HttpProxy<Gateway>>,
    state: Arc<GatewayState>,
    options: HttpServerOptions,
    /// Whether idle connections are closed.
    closing: watch::Sender<bool>,
}

/// Serves one HTTP/2 connection under the limits in force when it was accepted.
struct Http2Connection {
    proxy: Arc<HttpProxy<Gateway>>,
    options: HttpServerOptions,
}

#[async_trait]
impl HttpServerApp for Http2Connection {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        self.proxy.process_new_http(session, shutdown).await
    }

    fn h2_options(&self) -> Option<H2Options> {
        Some(http2_limits())
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}

impl ClientConnections {
    /// Serves connections with the gateway's phases.
    pub fn new(conf: &Arc<ServerConf>, state: Arc<GatewayState>) -> Self {
        let mut proxy = http_proxy(conf, Gateway::new(state.clone()));
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        // CONNECT passes pingora, so that the gateway refuses it with an error envelope (CONTRACT 10).
        options.allow_connect_method_proxying = true;
        proxy.server_options = Some(options.clone());
        Self {
            gateway: Gateway::new(state.clone()),
            proxy: Arc::new(proxy),
            state,
            options,
            closing: watch::Sender::new(false),
        }
    }

    /// The first request head, or the part of it that identifies the protocol. None when the client
    /// sends nothing usable in time.
    async fn first_bytes(&self, stream: &mut Stream) -> Option<BytesMut> {
        let mut bytes = BytesMut::with_capacity(FIRST_READ);
        let reading = async {
            while !is_enough(&bytes) {
                bytes.reserve(FIRST_READ / 4);
                if !matches!(stream.read_buf(&mut bytes).await, Ok(n) if n > 0) {
                    break;
                }
            }
        };
        let limit = self.state.snapshot().settings.limits.header_timeout;
        let in_time = timeout(limit, reading).await.is_ok();
        if !in_time {
            let reason = EndReason::SlowHead;
            ConnectionEnded { reason }.emit(self.state.metrics());
        }
        // The bytes stay in memory as long as their request, so the copy has no spare capacity.
        (in_time && !bytes.is_empty()).then(|| BytesMut::from(bytes.as_ref()))
    }

    async fn serve_http2(&self, stream: Stream, first: BytesMut, shutdown: &ShutdownWatch) {
        let address = address(&stream);
        let limits = self.state.snapshot().settings.limits.clone();
        let trusted = address.is_some_and(|address| self.trusts(address));
        let most = match trusted {
            true => usize::MAX,
            false => limits.client_connections / PARTS_OF_HTTP2,
        };
        let places = self.state.http2_connections();
        let Some(place) = places.try_take(holder_of(&address.map(network)), most) else {
            let reason = EndReason::ClientConnections;
            ConnectionEnded { reason }.emit(self.state.metrics());
            return;
        };
        let share = self.state.snapshot().heads.share(address);
        let metrics = self.state.metrics().clone();
        let guard = ClientGuard::http2(share, limits.header_timeout, metrics);
        let stream = Box::new(GuardedStream::of_client(first, stream, guard));
        let mut options = self.options.clone();
        options.h2_idle_timeout = Some(limits.idle_timeout);
        let proxy = self.proxy.clone();
        let app = Arc::new(Http2Connection { proxy, options });
        app.process_new(stream, shutdown).await;
        drop(place);
    }

    async fn serve_http1(&self, stream: Stream, first: BytesMut, shutdown: &ShutdownWatch) {
        let snapshot = self.state.snapshot();
        let limits = snapshot.settings.limits.clone();
        let share = snapshot.heads.share(address(&stream));
        drop(snapshot);
        let metrics = self.state.metrics().clone();
        let guard = ClientGuard::http1(&first, share, limits.header_timeout, metrics);
        let stream = Box::new(GuardedStream::of_client(BytesMut::new(), stream, guard));
        let connection = Http1Connection {
            gateway: &self.gateway,
            proxy: &self.proxy,
            closing: self.closing.subscribe(),
            shutdown,
        };
        connection.serve(stream, first).await;
    }
}

fn address(stream: &Stream) -> Option<IpAddr> {
    let digest = stream.get_socket_digest()?;
    Some(digest.peer_addr()?.as_inet()?.ip())
}

fn http2_limits() -> H2Options {
    let mut limits = H2Options::new();
    limits
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_SIZE)
        .max_send_buffer_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(RESET_BEFORE_ACCEPT)
        .max_concurrent_reset_streams(RESET_TRACKED)
        .max_local_error_reset_streams(Some(RESET_FOR_ERRORS));
    limits
}

/// Whether the bytes identify the protocol: a whole head, the whole preface, or more than is read here.
fn is_enough(bytes: &[u8]) -> bool {
    let preface = bytes.starts_with(H2_PREFACE);
    let may_become_preface = bytes.len() < H2_PREFACE.len() && H2_PREFACE.starts_with(bytes);
    let head = !may_become_preface && memchr::memmem::find(bytes, HEAD_END).is_some();
    preface || head || bytes.len() >= LONGEST_FIRST_READ
}

#[async_trait]
impl ServerApp for ClientConnections {
    async fn process_new(
        self: &Arc<Self>,
        mut stream: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        let first = self.first_bytes(&mut stream).await?;
        let negotiated = matches!(stream.selected_alpn_proto(), Some(ALPN::H2));
        let clear = stream.get_ssl_digest().is_none();
        if negotiated || (clear && first.starts_with(H2_PREFACE)) {
            self.serve_http2(stream, first, shutdown).await;
            return None;
        }
        self.serve_http1(stream, first, shutdown).await;
        None
    }

    /// Runs when nothing is accepted any more. Pingora would then drop the idle connections. While
    /// another process serves, that gains nothing and could lose a request that is on its way, so these
    /// connections end with their next answer or at their idle timeout.
    async fn cleanup(&self) {
        let idle = self.state.snapshot().settings.limits.idle_timeout;
        let since = Instant::now();
        while self.state.is_handed_over() && self.state.connections() > 0 && since.elapsed() < idle
        {
            sleep(CLEANUP_POLL).await;
        }
        self.closing.send_replace(true);
        self.proxy.http_cleanup().await;
    }
}

#[async_trait]
impl ConnectionHandler for ClientConnections {
    fn connection_limit(&self) -> &Arc<ConnectionLimit> {
        self.state.connection_limit()
    }

    fn header_timeout(&self) -> Duration {
        self.state.snapshot().settings.limits.header_timeout
    }

    fn client_places(&self) -> Option<&Arc<ClientPlaces>> {
        Some(self.state.client_places())
    }

    fn client_memory(&self) -> Arc<ClientHeads> {
        self.state.snapshot().heads.clone()
    }

    fn trusts(&self, peer: IpAddr) -> bool {
        let snapshot = self.state.snapshot();
        snapshot.settings.trusted_proxies.contains(peer)
    }

    async fn run_background(&self, shutdown: ShutdownWatch) {
        health_check::run(&self.state, shutdown).await;
    }
}

#[cfg(test)]
mod tests {
    use super::is_enough;

    #[test]
    fn a_head_or_a_preface_is_enough_and_their_beginnings_are_not() {
        assert!(is_enough(b"GET / HTTP/1.0\r\n\r\n"));
        assert!(is_enough(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        assert!(!is_enough(b"PRI * HTTP/2.0\r\n\r\n"));
        assert!(!is_enough(b"P"));
        assert!(!is_enough(b"POST /v1/chat/completions HTTP/1.1\r\n"));
        assert!(is_enough(&[b'a'; 70_000]));
    }
}
