//! The call to the upstream, up to its final response head, under one budget (CONTRACT 20), with
//! the client watched all the while (CONTRACT 21) and a second try only where the first cannot have
//! reached the upstream (CONTRACT 22).

use super::client_gone;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::proxy::classify;
use crate::observe::events::UpstreamRetried;
use bytes::Bytes;
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::client::HttpSession as ClientSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::Error;
use pingora_http::{RequestHeader, ResponseHeader};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A body that could not be written whole may have been answered early; so long is that looked for.
const EARLY_ANSWER: Duration = Duration::from_millis(500);

/// An upstream that has begun to answer.
pub(super) struct Answering {
    session: ClientSession,
    peer: Arc<HttpPeer>,
    whole_request_sent: bool,
}

impl Answering {
    /// The final response head.
    pub(super) fn head(&self) -> Option<&ResponseHeader> {
        self.session.response_header()
    }

    /// The next bytes of the body, None at its end. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<Option<Bytes>, Box<Error>> {
        self.session.read_response_body().await
    }

    /// Keeps the connection for another call where its state allows.
    pub(super) async fn release(mut self, shared: &Shared) {
        if let ClientSession::H1(h1) = &mut self.session {
            h1.respect_keepalive();
        }
        if self.whole_request_sent {
            let idle = self.peer.options.idle_timeout;
            shared
                .connector
                .release_http_session(self.session, &*self.peer, idle)
                .await;
        } else {
            self.session.shutdown().await;
        }
    }

    /// Ends the upstream call at once.
    pub(super) async fn abandon(mut self) {
        self.session.shutdown().await;
    }
}

/// Whether an attempt may be repeated.
enum Attempt {
    /// No byte can have been accepted.
    Unsent(CallError),
    Final(CallError),
}

/// Connects, sends head and body, and waits for the final response head.
pub(super) async fn upstream_peer(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    body: Bytes,
) -> Result<Answering, CallError> {
    let mut head = session.req_header().clone();
    let base = shared.upstream.base();
    headers::for_upstream(&mut head, base, &ctx.request_id, Some(body.len()))
        .map_err(|_| CallError::BadFraming)?;
    let started = Instant::now();
    let calling = timeout(shared.upstream.timeout(), attempts(shared, head, body));
    let result = tokio::select! {
        biased;
        result = calling => result.unwrap_or(Err(CallError::Late)),
        () = client_gone(session) => Err(CallError::ClientGone),
    };
    ctx.clock.waited_for_upstream(started);
    result
}

async fn attempts(
    shared: &Shared,
    head: RequestHeader,
    body: Bytes,
) -> Result<Answering, CallError> {
    let mut failed_addresses = 0;
    let mut was_stale = false;
    loop {
        let peer = shared.upstream.peer(failed_addresses).await?;
        let (upstream, reused) = match shared.connector.get_http_session(&*peer).await {
            Ok(connected) => connected,
            Err(error) => {
                failed_addresses += 1;
                if failed_addresses < shared.upstream.addresses() {
                    continue;
                }
                return Err(as_connect(classify(&error)));
            }
        };
        match send(upstream, peer, head.clone(), body.clone()).await {
            Ok(answering) => return Ok(answering),
            Err(Attempt::Unsent(_)) if reused && !was_stale => {
                was_stale = true;
                UpstreamRetried.emit(&shared.metrics);
            }
            Err(Attempt::Unsent(error) | Attempt::Final(error)) => return Err(error),
        }
    }
}

/// Before a byte was sent, whatever went wrong went wrong in connecting.
fn as_connect(error: CallError) -> CallError {
    match error {
        CallError::Connect(_) | CallError::Late => error,
        _ => CallError::Connect("no connection"),
    }
}

async fn send(
    mut upstream: ClientSession,
    peer: Arc<HttpPeer>,
    head: RequestHeader,
    body: Bytes,
) -> Result<Answering, Attempt> {
    // The exchange keeps its own clocks.
    upstream.set_read_timeout(None);
    if let Err(error) = upstream.write_request_header(Box::new(head)).await {
        return Err(Attempt::Unsent(classify(&error)));
    }
    let sent = async {
        if !body.is_empty() {
            upstream.write_request_body(body, true).await?;
        }
        upstream.finish_request_body().await
    };
    let failed = sent.await.err();
    let answered = match &failed {
        None => final_head(&mut upstream).await,
        Some(_) => timeout(EARLY_ANSWER, final_head(&mut upstream))
            .await
            .unwrap_or_else(|_| Err(Error::new_up(pingora_error::ErrorType::ConnectionClosed))),
    };
    match answered {
        Ok(()) => Ok(Answering {
            session: upstream,
            peer,
            whole_request_sent: failed.is_none(),
        }),
        Err(error) => {
            upstream.shutdown().await;
            Err(Attempt::Final(classify(&failed.unwrap_or(error))))
        }
    }
}

/// Interim heads (100, 103) are the upstream's business with the gateway and end here. Reading a
/// body behind one would panic inside pingora, so a body is read only behind a final head.
async fn final_head(upstream: &mut ClientSession) -> Result<(), Box<Error>> {
    loop {
        upstream.read_response_header().await?;
        match upstream.response_header().map(|head| head.status.as_u16()) {
            Some(101) => {
                return Error::e_explain(
                    pingora_error::ErrorType::InvalidHTTPHeader,
                    "unasked upgrade",
                );
            }
            Some(100..=199) => continue,
            Some(_) => return Ok(()),
            None => {
                return Error::e_explain(pingora_error::ErrorType::InvalidHTTPHeader, "no head");
            }
        }
    }
}
