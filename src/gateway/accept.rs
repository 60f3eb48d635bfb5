//! One client connection: which protocol it speaks, and its requests one after another. Pingora's
//! own peek for clear-text HTTP/2 waits for 24 bytes without a limit and so hangs on a shorter
//! HTTP/1.0 request; here the first head is read under `limits.header_timeout`.

use super::doors::Reception;
use super::prefixed::Prefixed;
use super::room::Room;
use super::watch::Watch;
use super::{Gateway, Live, health};
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
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, timeout};

/// RFC 9113 §3.4.
const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_END: &[u8] = b"\r\n\r\n";
/// A head still open beyond this is left to pingora, which knows the limit.
const LONGEST_FIRST_READ: usize = 64 << 10;
const FIRST_READ: usize = 4 << 10;
/// How often the last connections are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// HTTP/2: requests of one connection at a time. What follows bounds what a client can have kept or
/// done for it beyond them; past a limit the connection ends with GOAWAY.
const STREAMS: u32 = 100;
/// HTTP/2: one head, decoded. It also bounds the CONTINUATION frames of a head.
const HEAD_SIZE: u32 = 64 << 10;
/// HTTP/2: an answer's bytes that wait for the client's window, per stream.
const SEND_BUFFER: usize = 128 << 10;
/// HTTP/2: streams that the client has reset before they were begun.
const RESET_BEFORE_BEGUN: usize = 20;
/// HTTP/2: streams that the gateway has reset and still remembers.
const RESET_REMEMBERED: usize = 50;
/// HTTP/2: streams that the gateway has to reset because of how the client uses them.
const RESET_FOR_ERRORS: usize = 100;

/// The application behind the client-facing listeners.
pub struct Front {
    proxy: Arc<HttpProxy<Gateway>>,
    live: Arc<Live>,
    options: HttpServerOptions,
}

/// An HTTP/2 connection with the limits of its first moment, which a reload may have changed.
struct Http2 {
    proxy: Arc<HttpProxy<Gateway>>,
    options: HttpServerOptions,
}

#[async_trait]
impl HttpServerApp for Http2 {
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

impl Front {
    /// Puts the gateway behind pingora's proxy logic.
    pub fn new(conf: &Arc<ServerConf>, live: Arc<Live>) -> Self {
        let mut proxy = http_proxy(conf, Gateway::new(live.clone()));
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        // Let through to be refused with an envelope (CONTRACT 10).
        options.allow_connect_method_proxying = true;
        proxy.server_options = Some(options.clone());
        Self {
            proxy: Arc::new(proxy),
            live,
            options,
        }
    }

    /// The first head, or as much of it as tells the protocol. None: nothing usable came in time.
    async fn first_bytes(&self, stream: &mut Stream) -> Option<BytesMut> {
        let mut bytes = BytesMut::with_capacity(FIRST_READ);
        let reading = async {
            while !complete(&bytes) {
                bytes.reserve(FIRST_READ / 4);
                if !matches!(stream.read_buf(&mut bytes).await, Ok(n) if n > 0) {
                    break;
                }
            }
        };
        let in_time = timeout(self.live.now().settings.limits.header_timeout, reading)
            .await
            .is_ok();
        if !in_time {
            let reason = EndReason::SlowHead;
            ConnectionEnded { reason }.emit(self.live.metrics());
        }
        // What was read stays for as long as its request, so it takes no more room than it needs.
        (in_time && !bytes.is_empty()).then(|| BytesMut::from(bytes.as_ref()))
    }

    async fn http2(&self, stream: Stream, first: BytesMut, shutdown: &ShutdownWatch) {
        let limits = self.live.now().settings.limits.clone();
        let watch = Watch::http2(limits.header_timeout, self.live.metrics().clone());
        let stream = Box::new(Prefixed::watched(first, stream, watch));
        let mut options = self.options.clone();
        options.h2_idle_timeout = Some(limits.idle_timeout);
        let proxy = self.proxy.clone();
        let app = Arc::new(Http2 { proxy, options });
        app.process_new(stream, shutdown).await;
    }

    async fn http1(&self, stream: Stream, first: BytesMut, shutdown: &ShutdownWatch) {
        let limits = self.live.now().settings.limits.clone();
        let watch = Watch::http1(&first, limits.header_timeout, self.live.metrics().clone());
        let stream = Box::new(Prefixed::watched(BytesMut::new(), stream, watch));
        let mut session = ServerSession::new_http1(stream);
        let keep = (!*shutdown.borrow()).then_some(limits.idle_timeout.as_secs().max(1));
        session.set_keepalive(keep);
        session.set_pipelining_enabled(true);
        session.set_pipelined_prefix(first);
        let mut next = self.proxy.process_new_http(session, shutdown).await;
        while let Some((stream, settings)) = next.map(|reused| reused.consume()) {
            let mut session = ServerSession::new_http1(Prefixed::awaiting_head(stream));
            if let Some(settings) = settings {
                settings.apply_to_session(&mut session);
            }
            next = self.proxy.process_new_http(session, shutdown).await;
        }
    }
}

fn http2_limits() -> H2Options {
    let mut limits = H2Options::new();
    limits
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_SIZE)
        .max_send_buffer_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(RESET_BEFORE_BEGUN)
        .max_concurrent_reset_streams(RESET_REMEMBERED)
        .max_local_error_reset_streams(Some(RESET_FOR_ERRORS));
    limits
}

/// Whether enough was read to go on: a whole head, the whole preface, or more than fits here.
fn complete(bytes: &[u8]) -> bool {
    let preface = bytes.starts_with(H2_PREFACE);
    let could_be = bytes.len() < H2_PREFACE.len() && H2_PREFACE.starts_with(bytes);
    let head = !could_be && memchr::memmem::find(bytes, HEAD_END).is_some();
    preface || head || bytes.len() >= LONGEST_FIRST_READ
}

#[async_trait]
impl ServerApp for Front {
    async fn process_new(
        self: &Arc<Self>,
        mut stream: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        let first = self.first_bytes(&mut stream).await?;
        let negotiated = matches!(stream.selected_alpn_proto(), Some(ALPN::H2));
        let clear = stream.get_ssl_digest().is_none();
        if negotiated || (clear && first.starts_with(H2_PREFACE)) {
            self.http2(stream, first, shutdown).await;
            return None;
        }
        self.http1(stream, first, shutdown).await;
        None
    }

    /// Nothing is accepted any more. Pingora then drops the connections that wait for a request; where
    /// another process serves, nothing is gained by that, and a request may be on its way: these end
    /// with their next answer, or when they have been idle for as long as any may be.
    async fn cleanup(&self) {
        let idle = self.live.now().settings.limits.idle_timeout;
        let since = Instant::now();
        while self.live.is_handed_over() && self.live.connections() > 0 && since.elapsed() < idle {
            sleep(LOOK).await;
        }
        self.proxy.http_cleanup().await;
    }
}

#[async_trait]
impl Reception for Front {
    fn room(&self) -> &Arc<Room> {
        self.live.room()
    }

    fn header_timeout(&self) -> Duration {
        self.live.now().settings.limits.header_timeout
    }

    async fn meanwhile(&self, shutdown: ShutdownWatch) {
        health::watch(&self.live, shutdown).await;
    }
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn a_head_or_a_preface_is_enough_and_their_beginnings_are_not() {
        assert!(complete(b"GET / HTTP/1.0\r\n\r\n"));
        assert!(complete(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        assert!(!complete(b"PRI * HTTP/2.0\r\n\r\n"));
        assert!(!complete(b"P"));
        assert!(!complete(b"POST /v1/chat/completions HTTP/1.1\r\n"));
        assert!(complete(&[b'a'; 70_000]));
    }
}
