//! The call to the upstream, up to its final response head, under one budget (CONTRACT 20), with
//! the client watched all the while (CONTRACT 21) and a second try only where the first cannot have
//! reached the upstream (CONTRACT 22).

use super::client_gone;
use super::read::Body;
use super::way::Way;
use crate::gateway::Shared;
use crate::gateway::connect::Connected;
use crate::gateway::context::CallContext;
use crate::gateway::early::AnsweredEarly;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::proxy::{classify, is_caused_by};
use crate::gateway::upstreams::Target;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::header::ACCEPT_ENCODING;
use http::{HeaderName, HeaderValue};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::client::HttpSession as ClientSession;
use pingora_core::protocols::http::v2::{self, client::Http2Session};
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::Error;
use pingora_http::{RequestHeader, ResponseHeader};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// A body that could not be written whole may have been answered early; so long is that looked for.
const EARLY_ANSWER: Duration = Duration::from_millis(500);

/// Chunks are put together up to this size.
const TOGETHER: usize = 8 << 10;

/// What is sent to the upstream besides the client's own head.
pub(super) struct Outgoing {
    pub(super) body: Body,
    /// The answer is read on its way, so that no content coding is asked for.
    pub(super) uncoded: bool,
    /// The body may have to be sent to another model server, so it stays in memory until the response head.
    pub(super) keeps_body: bool,
}

impl Outgoing {
    /// A body as it came.
    pub(super) fn as_it_is(body: Body) -> Self {
        Self {
            body,
            uncoded: false,
            keeps_body: false,
        }
    }

    /// Frees the body once the upstream has all of it, unless it may have to be sent again: a model may
    /// take minutes to answer.
    fn free_body(&mut self) {
        if self.keeps_body {
            return;
        }
        self.body.bytes = Bytes::new();
        self.body.share.give_back();
    }
}

/// An upstream that has begun to answer.
pub(super) struct Answering {
    session: Box<ClientSession>,
    peer: Arc<HttpPeer>,
    target: Arc<Target>,
    whole_request_sent: bool,
    /// What the next read gives, when that was seen ahead of time.
    ahead: Option<Result<Option<Bytes>, Box<Error>>>,
}

impl Answering {
    /// The final response head.
    pub(super) fn head(&self) -> Option<&ResponseHeader> {
        self.session.response_header()
    }

    /// The next bytes of the body, None at its end. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<Option<Bytes>, Box<Error>> {
        match self.ahead.take() {
            Some(read) => read,
            None => self.session.read_response_body().await,
        }
    }

    /// `first` and what can be had behind it without waiting, so that frames which arrived together
    /// leave together: one write for many.
    pub(super) fn with_what_is_there(&mut self, first: Bytes) -> Bytes {
        if first.len() >= TOGETHER {
            return first;
        }
        let mut next = self.ready();
        if next.is_none() {
            return first;
        }
        let mut whole = BytesMut::with_capacity(TOGETHER);
        whole.extend_from_slice(&first);
        while let Some(chunk) = next {
            whole.extend_from_slice(&chunk);
            next = if whole.len() < TOGETHER {
                self.ready()
            } else {
                None
            };
        }
        whole.freeze()
    }

    /// A chunk that is there already. An end or an error is kept for the next [`Self::read`].
    fn ready(&mut self) -> Option<Bytes> {
        if self.ahead.is_some() || self.session.response_done() {
            return None;
        }
        match self.session.read_response_body().now_or_never()? {
            Ok(Some(chunk)) => Some(chunk),
            end => {
                self.ahead = Some(end);
                None
            }
        }
    }

    /// Has the next [`Self::read`] give these bytes, which were read before.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        self.ahead = Some(Ok(Some(bytes)));
    }

    /// Keeps the connection for another call where its state allows.
    pub(super) async fn release(self) {
        if self.whole_request_sent {
            let connections = &self.target.connections;
            connections.release(*self.session, &self.peer).await;
        } else {
            self.abandon();
        }
    }

    /// Ends the upstream call at once: a farewell could wait for an upstream that does not read.
    pub(super) fn abandon(self) {
        drop(self);
    }
}

/// Whether an attempt may be repeated.
pub(super) enum Attempt {
    /// No byte can have been accepted: this address does not connect.
    Unreachable(CallError),
    /// No byte can have been accepted: a kept connection was dead before the first one.
    Stale(CallError),
    Final(CallError),
}

/// How much of a request's body went out.
enum Written {
    Whole,
    /// The answer came first.
    InPart,
}

/// Connects, sends head and body, and waits for the final response head.
pub(super) async fn upstream_peer(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut outgoing: Outgoing,
) -> Result<Answering, CallError> {
    let started = Instant::now();
    let mut budget = pin!(sleep(shared.upstream.timeout()));
    let Some(mut way) = Way::begin(shared) else {
        return Err(CallError::Connect("there is none"));
    };
    outgoing.keeps_body = shared.upstream.may_repeat();
    let result = loop {
        if let Some(told) = &mut ctx.told {
            told.calls(&way.target);
        }
        let head = head(&way.target, session, ctx, &outgoing)?;
        let attempt = attempt(way.target.clone(), way.address, head, &mut outgoing);
        let attempted = {
            let mut calling = pin!(attempt);
            tokio::select! {
                biased;
                attempted = &mut calling => attempted,
                () = client_gone(session) => break Err(CallError::ClientGone),
                () = &mut budget => break Err(CallError::Late),
            }
        };
        match way.after(shared, attempted) {
            ControlFlow::Break(result) => break result,
            ControlFlow::Continue(()) => {}
        }
    };
    ctx.clock.waited_for_upstream(started);
    result
}

fn head(
    target: &Target,
    session: &ServerSession,
    ctx: &CallContext,
    outgoing: &Outgoing,
) -> Result<Box<RequestHeader>, CallError> {
    let mut head = Box::new(session.req_header().clone());
    let base = target.upstream.base();
    let length = Some(outgoing.body.bytes.len());
    headers::for_upstream(&mut head, base, &ctx.request_id, length)
        .map_err(|_| CallError::BadFraming)?;
    if let Some(told) = &ctx.told {
        told.for_upstream(&mut head)
            .map_err(|_| CallError::BadFraming)?;
    }
    if outgoing.uncoded {
        let uncoded = HeaderValue::from_static("identity");
        head.insert_header(ACCEPT_ENCODING, uncoded)
            .map_err(|_| CallError::BadFraming)?;
    }
    Ok(head)
}

async fn attempt(
    target: Arc<Target>,
    address: usize,
    head: Box<RequestHeader>,
    outgoing: &mut Outgoing,
) -> Result<Answering, Attempt> {
    let peer = target.upstream.peer(address).await;
    let peer = peer.map_err(Attempt::Unreachable)?;
    let length = outgoing.body.bytes.len();
    let connected = target.connections.get(&peer, length).await;
    let connected =
        connected.map_err(|error| Attempt::Unreachable(as_connect(classify(&error))))?;
    send(connected, (target, peer), head, outgoing).await
}

/// Before a byte was sent, whatever went wrong went wrong in connecting.
fn as_connect(error: CallError) -> CallError {
    match error {
        CallError::Connect(_) | CallError::Late => error,
        _ => CallError::Connect("no connection"),
    }
}

async fn send(
    connected: Connected,
    (target, peer): (Arc<Target>, Arc<HttpPeer>),
    head: Box<RequestHeader>,
    outgoing: &mut Outgoing,
) -> Result<Answering, Attempt> {
    let Connected {
        session: mut upstream,
        reused,
        one_write,
    } = connected;
    // The exchange keeps its own clocks.
    upstream.set_read_timeout(None);
    let may_repeat = reused && is_short(&head);
    if let Err(error) = upstream.write_request_header(head).await {
        return Err(unsent(may_repeat, &error));
    }
    let written = write_body(&mut upstream, &outgoing.body.bytes).await;
    if let Some(error) = written.as_ref().err().filter(|_| one_write) {
        // Head and body were one write, and it failed.
        return Err(unsent(may_repeat, error));
    }
    outgoing.free_body();
    let answered = match &written {
        Err(_) => Box::pin(early_answer(&mut upstream)).await,
        Ok(_) => final_head(&mut upstream).await,
    };
    match answered {
        Ok(()) => Ok(Answering {
            session: upstream,
            peer,
            target,
            whole_request_sent: matches!(written, Ok(Written::Whole)),
            ahead: None,
        }),
        Err(error) => Err(Attempt::Final(classify(&written.err().unwrap_or(error)))),
    }
}

/// Over HTTP/1 the connection itself gives a write up once it is answered.
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

/// A write that fails because the stream was reset may have been answered before.
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

/// A head that one write takes whole or not at all; of a longer one a part may have arrived.
fn is_short(head: &RequestHeader) -> bool {
    const SHORT: usize = 2 << 10;
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    head.raw_path().len() + head.headers.iter().map(line).sum::<usize>() <= SHORT
}

fn unsent(may_repeat: bool, error: &Error) -> Attempt {
    let error = classify(error);
    if may_repeat {
        Attempt::Stale(error)
    } else {
        Attempt::Final(error)
    }
}

/// Over HTTP/2 the answer was looked for already.
async fn early_answer(upstream: &mut ClientSession) -> Result<(), Box<Error>> {
    let late = || Err(Error::new_up(pingora_error::ErrorType::ConnectionClosed));
    if upstream.as_http2().is_some() {
        return late();
    }
    timeout(EARLY_ANSWER, final_head(upstream))
        .await
        .unwrap_or_else(|_| late())
}

/// Interim heads (100, 103) are the upstream's business with the gateway and end here. Reading a
/// body behind one would panic inside pingora, so a body is read only behind a final head.
async fn final_head(upstream: &mut ClientSession) -> Result<(), Box<Error>> {
    let seen = |session: &Http2Session| session.response_header().is_some();
    if upstream.as_http2().is_some_and(seen) {
        return Ok(());
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_head_that_one_write_takes_whole_is_short() {
        let mut head = RequestHeader::build("POST", b"/v1/chat/completions", None).unwrap();
        head.insert_header("authorization", "Bearer key").unwrap();
        assert!(is_short(&head));
        head.insert_header("x-long", "x".repeat(2 << 10)).unwrap();
        assert!(!is_short(&head));
    }
}
