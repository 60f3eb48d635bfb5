//! Calls the upstream, up to its final response head: under one time budget (CONTRACT 20), with the client
//! watched meanwhile (CONTRACT 21), and with another attempt only where the one before cannot have reached
//! the upstream (CONTRACT 22).

use super::client_gone;
use super::upstream_request::UpstreamRequest;
use crate::gateway::context::CallContext;
use crate::gateway::error::{CallError, classify, is_caused_by};
use crate::gateway::guard::AnsweredEarly;
use crate::gateway::state::Snapshot;
use crate::gateway::upstream::attempts::{AttemptError, AttemptPlan};
use crate::gateway::upstream::{ModelServer, UpstreamConnection};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::client::HttpSession as ClientSession;
use pingora_core::protocols::http::v2::{self, client::Http2Session};
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::{Error, ErrorType};
use pingora_http::{RequestHeader, ResponseHeader};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long an early answer is awaited after a body could not be written whole.
const EARLY_ANSWER: Duration = Duration::from_millis(500);

/// Chunks are joined up to this size.
const JOINED_CHUNK: usize = 8 << 10;

/// An upstream's response, from its final head on.
pub(super) struct UpstreamResponse {
    session: Box<ClientSession>,
    peer: Arc<HttpPeer>,
    server: Arc<ModelServer>,
    whole_request_sent: bool,
    /// The result of the next read, where it is known already.
    next: Option<Result<Option<Bytes>, Box<Error>>>,
}

impl UpstreamResponse {
    /// The final response head.
    pub(super) fn head(&self) -> Option<&ResponseHeader> {
        self.session.response_header()
    }

    fn status(&self) -> u16 {
        self.head().map_or(0, |head| head.status.as_u16())
    }

    /// The next bytes of the body, None at its end. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<Option<Bytes>, Box<Error>> {
        match self.next.take() {
            Some(read) => read,
            None => self.session.read_response_body().await,
        }
    }

    /// Joins `first` with the chunks that are available without waiting, so that frames which arrived
    /// together leave in one write.
    pub(super) fn join_available(&mut self, first: Bytes) -> Bytes {
        if first.len() >= JOINED_CHUNK {
            return first;
        }
        let mut next = self.available();
        if next.is_none() {
            return first;
        }
        let mut joined = BytesMut::with_capacity(JOINED_CHUNK);
        joined.extend_from_slice(&first);
        while let Some(chunk) = next {
            joined.extend_from_slice(&chunk);
            next = match joined.len() < JOINED_CHUNK {
                true => self.available(),
                false => None,
            };
        }
        joined.freeze()
    }

    /// A chunk that has arrived already. An end or an error is kept for the next [`Self::read`].
    fn available(&mut self) -> Option<Bytes> {
        if self.next.is_some() || self.session.response_done() {
            return None;
        }
        match self.session.read_response_body().now_or_never()? {
            Ok(Some(chunk)) => Some(chunk),
            end => {
                self.next = Some(end);
                None
            }
        }
    }

    /// Has the next [`Self::read`] return these bytes again.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        self.next = Some(Ok(Some(bytes)));
    }

    /// Keeps the connection for another call where its state allows it.
    pub(super) async fn release(self) {
        if self.whole_request_sent {
            let connections = &self.server.connections;
            connections.release(*self.session, &self.peer).await;
        } else {
            self.abandon();
        }
    }

    /// Closes the connection at once: an orderly shutdown could block on an upstream that does not read.
    pub(super) fn abandon(self) {
        drop(self);
    }
}

/// How much of a request body was sent.
enum Written {
    Whole,
    /// The answer came first.
    InPart,
}

/// Connects, sends head and body, and waits for the final response head.
pub(super) async fn upstream_peer(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut request: UpstreamRequest,
) -> Result<UpstreamResponse, CallError> {
    let started = Instant::now();
    let mut budget = pin!(sleep(snapshot.upstream.timeout()));
    let Some(mut plan) = AttemptPlan::new(snapshot) else {
        return Err(CallError::Connect("no model server is configured"));
    };
    request.set_keeps_body(snapshot.upstream.may_repeat());
    let result = loop {
        if let Some(trace) = &mut ctx.trace {
            trace.set_server(&plan.server);
        }
        let head = request.head(&plan.server, session, ctx)?;
        let attempted = {
            let mut attempt = pin!(attempt(&plan, head, &mut request));
            tokio::select! {
                biased;
                attempted = &mut attempt => attempted,
                () = client_gone(session) => break Err(CallError::ClientGone),
                () = &mut budget => break Err(CallError::Late),
            }
        };
        match attempted {
            Ok(response) if !plan.retry_status(snapshot, response.status()) => break Ok(response),
            Ok(response) => response.abandon(),
            Err(failure) => {
                if let Err(error) = plan.retry(snapshot, failure) {
                    break Err(error);
                }
            }
        }
    };
    ctx.clock.add_upstream_wait(started);
    result
}

async fn attempt(
    plan: &AttemptPlan,
    head: Box<RequestHeader>,
    request: &mut UpstreamRequest,
) -> Result<UpstreamResponse, AttemptError> {
    let server = plan.server.clone();
    let peer = server.resolver.peer(plan.address).await;
    let peer = peer.map_err(AttemptError::Unreachable)?;
    let length = request.body.bytes.len();
    let connection = server.connections.get(&peer, length).await;
    let connection =
        connection.map_err(|error| AttemptError::Unreachable(connect_error(classify(&error))))?;
    let connected = Connected {
        connection,
        server,
        peer,
    };
    connected.send(head, request).await
}

/// Any error before the first byte was sent is an error of the connection.
fn connect_error(error: CallError) -> CallError {
    match error {
        CallError::Connect(_) | CallError::Late => error,
        _ => CallError::Connect("no connection"),
    }
}

/// A connection to a model server that is ready for the request.
struct Connected {
    connection: UpstreamConnection,
    server: Arc<ModelServer>,
    peer: Arc<HttpPeer>,
}

impl Connected {
    async fn send(
        self,
        head: Box<RequestHeader>,
        request: &mut UpstreamRequest,
    ) -> Result<UpstreamResponse, AttemptError> {
        let UpstreamConnection {
            session: mut upstream,
            reused,
            writes_once,
        } = self.connection;
        // The exchange measures its own timeouts.
        upstream.set_read_timeout(None);
        let may_repeat = reused && is_short(&head);
        if let Err(error) = upstream.write_request_header(head).await {
            return Err(unsent(may_repeat, &error));
        }
        let written = write_body(&mut upstream, &request.body.bytes).await;
        if let Some(error) = written.as_ref().err().filter(|_| writes_once) {
            // The head was part of the write that failed.
            return Err(unsent(may_repeat, error));
        }
        request.free_body();
        let answered = match &written {
            Err(_) => Box::pin(early_answer(&mut upstream)).await,
            Ok(_) => final_head(&mut upstream).await,
        };
        match answered {
            Ok(()) => Ok(UpstreamResponse {
                session: upstream,
                peer: self.peer,
                server: self.server,
                whole_request_sent: matches!(written, Ok(Written::Whole)),
                next: None,
            }),
            Err(error) => Err(AttemptError::Final(classify(
                &written.err().unwrap_or(error),
            ))),
        }
    }
}

/// Writes the body. Over HTTP/1 the connection itself ends a blocked write once the upstream has answered.
async fn write_body(upstream: &mut ClientSession, body: &Bytes) -> Result<Written, Box<Error>> {
    if let ClientSession::H2(session) = upstream {
        return Box::pin(write_http2_body(session, body)).await;
    }
    let write = async {
        if !body.is_empty() {
            upstream.write_request_body(body.clone(), true).await?;
        }
        upstream.finish_request_body().await
    };
    match write.await {
        Ok(()) => Ok(Written::Whole),
        Err(error) if is_caused_by::<AnsweredEarly>(&error) => Ok(Written::InPart),
        Err(error) => Err(error),
    }
}

/// Writes the body over HTTP/2. When the stream was reset, the upstream may have answered before.
async fn write_http2_body(session: &mut Http2Session, body: &Bytes) -> Result<Written, Box<Error>> {
    let Some(mut writer) = session.take_request_body_writer() else {
        return Ok(Written::Whole);
    };
    let limit = session.write_timeout;
    let failed = tokio::select! {
        biased;
        written = v2::write_body(&mut writer, body.clone(), true, limit) => match written {
            Ok(()) => return Ok(Written::Whole),
            Err(error) => error,
        },
        answered = session.read_response_header() => {
            return answered.map(|()| Written::InPart);
        }
    };
    match timeout(EARLY_ANSWER, session.read_response_header()).await {
        Ok(Ok(())) => Ok(Written::InPart),
        _ => Err(failed),
    }
}

/// Whether one write sends the head whole or not at all. Part of a longer one may have arrived.
fn is_short(head: &RequestHeader) -> bool {
    const SHORT: usize = 2 << 10;
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    head.raw_path().len() + head.headers.iter().map(line).sum::<usize>() <= SHORT
}

fn unsent(may_repeat: bool, error: &Error) -> AttemptError {
    let error = classify(error);
    match may_repeat {
        true => AttemptError::StaleConnection(error),
        false => AttemptError::Final(error),
    }
}

/// Waits for an answer after a failed write. Over HTTP/2 the write has waited for it already.
async fn early_answer(upstream: &mut ClientSession) -> Result<(), Box<Error>> {
    let late = || Err(Error::new_up(ErrorType::ConnectionClosed));
    if upstream.as_http2().is_some() {
        return late();
    }
    timeout(EARLY_ANSWER, final_head(upstream))
        .await
        .unwrap_or_else(|_| late())
}

/// Reads heads up to the final one. Interim responses (100, 103) end at the gateway. Pingora panics when a
/// body is read behind an interim head, so a body is read only behind a final one.
async fn final_head(upstream: &mut ClientSession) -> Result<(), Box<Error>> {
    let has_head = |session: &Http2Session| session.response_header().is_some();
    if upstream.as_http2().is_some_and(has_head) {
        return Ok(());
    }
    let invalid = |why| Error::e_explain(ErrorType::InvalidHTTPHeader, why);
    loop {
        upstream.read_response_header().await?;
        match upstream.response_header().map(|head| head.status.as_u16()) {
            Some(101) => return invalid("an upgrade that was not requested"),
            Some(100..=199) => continue,
            Some(_) => return Ok(()),
            None => return invalid("no response head"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_head_that_one_write_sends_whole_is_short() {
        let mut head = RequestHeader::build("POST", b"/v1/chat/completions", None).unwrap();
        head.insert_header("authorization", "Bearer key").unwrap();
        assert!(is_short(&head));
        head.insert_header("x-long", "x".repeat(2 << 10)).unwrap();
        assert!(!is_short(&head));
    }
}
