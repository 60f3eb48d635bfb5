//! The requests of one HTTP/1 connection, one after another.
//!
//! A monitored call is answered here. Pingora's proxy could do that too, but makes a future of 14 KiB for each
//! request, which it needs for transparent routes alone.

use crate::gateway::guard::GuardedStream;
use crate::gateway::proxy::Gateway;
use crate::gateway::route::MONITORED;
use bytes::BytesMut;
use pingora_core::apps::{HttpPersistentSettings, HttpServerApp};
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::ServerSession;
use pingora_core::server::ShutdownWatch;
use pingora_error::ErrorType;
use pingora_proxy::HttpProxy;
use pingora_timeout::timeout;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;

/// Bytes of a request that are read at first.
pub(super) const FIRST_READ: usize = 4 << 10;

/// Serves one connection.
pub(super) struct Http1Connection<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) proxy: &'a Arc<HttpProxy<Gateway>>,
    /// Becomes true when idle connections are closed.
    pub(super) closing: watch::Receiver<bool>,
    pub(super) shutdown: &'a ShutdownWatch,
}

/// A connection between two requests.
struct Kept {
    stream: Stream,
    settings: HttpPersistentSettings,
    ahead: Ahead,
}

/// What was read of the next request already.
enum Ahead {
    Nothing,
    Bytes(BytesMut),
    /// Pingora may have bytes of it.
    Unknown,
}

impl Http1Connection<'_> {
    /// Serves requests until the connection ends. `first` was read of the first one.
    pub(super) async fn serve(mut self, stream: Stream, first: BytesMut) {
        let mut session = ServerSession::new_http1(stream);
        let keep = (!*self.shutdown.borrow()).then_some(self.idle_timeout().as_secs().max(1));
        session.set_keepalive(keep);
        session.set_pipelining_enabled(true);
        let mut next = self.request(session, Ahead::Bytes(first)).await;
        while let Some(kept) = next {
            let has_begun = !matches!(kept.ahead, Ahead::Nothing);
            let mut stream = GuardedStream::for_next_request(kept.stream, has_begun);
            let ahead = match kept.ahead {
                Ahead::Nothing => match self.next_bytes(&mut stream).await {
                    Some(bytes) => Ahead::Bytes(bytes),
                    None => return,
                },
                ahead => ahead,
            };
            let mut session = ServerSession::new_http1(stream);
            kept.settings.apply_to_session(&mut session);
            next = self.request(session, ahead).await;
        }
    }

    /// How long the connection may be idle, by the settings in force.
    fn idle_timeout(&self) -> Duration {
        let snapshot = self.gateway.state.snapshot();
        snapshot.settings.limits.idle_timeout
    }

    /// The first bytes of the next request; None when none come in time.
    async fn next_bytes(&mut self, stream: &mut Stream) -> Option<BytesMut> {
        let limit = self.idle_timeout();
        let mut bytes = BytesMut::with_capacity(FIRST_READ);
        let read = tokio::select! {
            biased;
            read = timeout(limit, stream.read_buf(&mut bytes)) => read,
            _ = self.closing.wait_for(|closing| *closing) => return None,
        };
        // The bytes stay in memory as long as their request, so the copy has no spare capacity.
        matches!(read, Ok(Ok(1..))).then(|| BytesMut::from(bytes.as_ref()))
    }

    /// Serves one request; None when the connection cannot be used again.
    async fn request(&self, mut session: ServerSession, ahead: Ahead) -> Option<Kept> {
        let mut is_monitored = false;
        if let Ahead::Bytes(bytes) = ahead {
            is_monitored = begins_monitored_call(&bytes);
            session.set_pipelined_prefix(bytes);
        }
        if is_monitored {
            return self.monitored(session).await;
        }
        let reused = self.proxy.process_new_http(session, self.shutdown).await;
        let (stream, settings) = reused?.consume();
        let ahead = match GuardedStream::is_read_exactly(&stream) {
            true => Ahead::Nothing,
            false => Ahead::Unknown,
        };
        Some(Kept {
            stream,
            settings: settings?,
            ahead,
        })
    }

    /// Answers a monitored call with the phases that pingora's proxy would call.
    async fn monitored(&self, mut session: ServerSession) -> Option<Kept> {
        match session.read_request().await {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => {
                if matches!(error.etype, ErrorType::InvalidHTTPHeader) {
                    let _ = session.respond_error(400).await;
                }
                session.shutdown().await;
                return None;
            }
        }
        if *self.shutdown.borrow() {
            session.set_keepalive(None);
        }
        let mut ctx = self.gateway.begin();
        let answered = self.gateway.answer(&mut session, &mut ctx).await;
        if let Err(error) = &answered {
            Box::pin(Gateway::fail(&mut session, error, &mut ctx)).await;
        }
        Gateway::end(&session, &mut ctx);
        drop(ctx);
        // Only transparent routes are left unanswered, and this is none of them.
        if !matches!(answered, Ok(true)) {
            return None;
        }
        let settings = HttpPersistentSettings::for_session(&session);
        let (stream, ahead) = session.finish().await.ok()??.into_parts();
        Some(Kept {
            stream,
            settings,
            ahead: ahead.map_or(Ahead::Nothing, Ahead::Bytes),
        })
    }
}

/// Whether a request that begins so is a monitored call. Others in another form go through pingora's proxy.
fn begins_monitored_call(bytes: &[u8]) -> bool {
    let Some(target) = bytes.strip_prefix(b"POST ") else {
        return false;
    };
    MONITORED.iter().any(|monitored| {
        let rest = target.strip_prefix(monitored.path.as_bytes());
        rest.is_some_and(|rest| matches!(rest.first(), Some(b' ' | b'?')))
    })
}

#[cfg(test)]
mod tests {
    use super::begins_monitored_call;

    #[test]
    fn a_monitored_call_is_known_by_its_first_line() {
        for (begun, expected) in [
            ("POST /v1/chat/completions HTTP/1.1\r\n", true),
            ("POST /v1/chat/completions?a=1 HTTP/1.1\r\n", true),
            ("POST /v1/chat/completions", false),
            ("POST /v1/chat/completions/ HTTP/1.1\r\n", false),
            ("POST /v1/messages?beta=true HTTP/1.1\r\n", true),
            ("POST /v1/responses HTTP/1.1\r\n", true),
            ("POST /v1/completions HTTP/1.1\r\n", true),
            ("POST /v1/responses/compact HTTP/1.1\r\n", false),
            ("GET /v1/chat/completions HTTP/1.1\r\n", false),
            ("POST http://a/v1/chat/completions HTTP/1.1\r\n", false),
            ("", false),
        ] {
            assert_eq!(begins_monitored_call(begun.as_bytes()), expected, "{begun}");
        }
    }
}
