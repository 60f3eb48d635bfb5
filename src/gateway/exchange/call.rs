//! Calls the upstream, up to its final response head: under one time budget (CONTRACT 20), with the client
//! watched meanwhile (CONTRACT 21), and with another attempt only where the one before cannot have reached
//! the upstream (CONTRACT 22).

use super::client_gone;
use super::upstream_request::UpstreamRequest;
use crate::gateway::context::CallContext;
use crate::gateway::error::{CallError, classify};
use crate::gateway::headers;
use crate::gateway::state::Snapshot;
use crate::gateway::upstream::attempts::{AttemptError, AttemptPlan};
use crate::gateway::upstream::{
    ModelServer, UpstreamConnection, UpstreamSession, WireHead, Written,
};
use bytes::{Bytes, BytesMut};
use pingora_core::protocols::http::ServerSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::Error;
use pingora_http::ResponseHeader;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Chunks are joined up to this size.
const JOINED_CHUNK: usize = 8 << 10;

/// An upstream's response, from its final head on.
pub(super) struct UpstreamResponse {
    session: UpstreamSession,
    peer: Arc<HttpPeer>,
    server: Arc<ModelServer>,
    whole_request_sent: bool,
    /// The result of the next read, where it is known already.
    next: Option<Result<Option<Bytes>, Box<Error>>>,
}

impl UpstreamResponse {
    /// The final response head.
    pub(super) fn head(&self) -> Option<&ResponseHeader> {
        self.session.header()
    }

    /// The same, taken out where nothing else needs it.
    pub(super) fn take_head(&mut self) -> Option<Box<ResponseHeader>> {
        self.session.take_header()
    }

    /// The longest silence of the model server.
    pub(super) fn timeout(&self) -> Duration {
        self.server.timeout()
    }

    /// The model server that answers.
    pub(super) fn server(&self) -> &Arc<ModelServer> {
        &self.server
    }

    pub(super) fn status(&self) -> u16 {
        self.head().map_or(0, |head| head.status.as_u16())
    }

    /// The next bytes of the body, None at its end. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<Option<Bytes>, Box<Error>> {
        match self.next.take() {
            Some(read) => read,
            None => self.session.read_body().await,
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
        if self.next.is_some() {
            return None;
        }
        match self.session.read_available()? {
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
            connections.release(self.session, &self.peer).await;
        } else {
            self.abandon();
        }
    }

    /// Closes the connection at once: an orderly shutdown could block on an upstream that does not read.
    pub(super) fn abandon(self) {
        drop(self);
    }
}

/// Connects, sends head and body, and waits for the final response head.
pub(super) async fn upstream_peer(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut request: UpstreamRequest,
) -> Result<UpstreamResponse, CallError> {
    let started = Instant::now();
    let group = snapshot.upstreams.get(ctx.upstream);
    let mut budget = pin!(sleep(group.timeout()));
    let Some(mut plan) = AttemptPlan::new(group) else {
        return Err(CallError::Connect("no model server is configured"));
    };
    request.set_keeps_body(group.may_repeat());
    let result = loop {
        if let Some(trace) = &mut ctx.trace {
            trace.set_server(&plan.server);
        }
        let head = request.head(&plan.server, session, ctx)?;
        let attempted = {
            let mut attempt = pin!(attempt(&plan, head, &mut request, group.timeout()));
            tokio::select! {
                biased;
                attempted = &mut attempt => attempted,
                () = client_gone(session) => break Err(CallError::ClientGone),
                () = &mut budget => break Err(CallError::Late),
            }
        };
        match attempted {
            Ok(response) if !plan.retry_status(group, response.status()) => break Ok(response),
            Ok(response) => response.abandon(),
            Err(failure) => {
                if let Err(error) = plan.retry(group, failure) {
                    break Err(error);
                }
            }
        }
    };
    ctx.clock.add_upstream_wait(started);
    match result {
        Ok(response) if response.head().is_some_and(headers::leads_past_gateway) => {
            response.abandon();
            Err(CallError::Redirected)
        }
        result => result,
    }
}

async fn attempt(
    plan: &AttemptPlan,
    head: WireHead,
    request: &mut UpstreamRequest,
    limit: Duration,
) -> Result<UpstreamResponse, AttemptError> {
    let server = plan.server.clone();
    let peer = server.resolver.peer(plan.address).await;
    let peer = peer.map_err(AttemptError::Unreachable)?;
    let connection = server.connections.get(&peer).await;
    let connection =
        connection.map_err(|error| AttemptError::Unreachable(connect_error(classify(&error))))?;
    let connected = Connected {
        connection,
        server,
        peer,
    };
    connected.send(head, request, limit).await
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
        head: WireHead,
        request: &mut UpstreamRequest,
        limit: Duration,
    ) -> Result<UpstreamResponse, AttemptError> {
        let UpstreamConnection {
            session: mut upstream,
            reused,
        } = self.connection;
        let written = upstream.write(head, &request.body.bytes, limit).await;
        if let Err(failure) = &written
            && failure.is_unsent
        {
            let error = classify(&failure.error);
            return Err(match reused {
                true => AttemptError::StaleConnection(error),
                false => AttemptError::Final(error),
            });
        }
        request.free_body();
        let answered = match &written {
            Err(_) => Box::pin(upstream.read_early_answer()).await,
            Ok(_) => upstream.read_final_head().await,
        };
        match answered {
            Ok(()) => Ok(UpstreamResponse {
                session: upstream,
                peer: self.peer,
                server: self.server,
                whole_request_sent: matches!(written, Ok(Written::Whole)),
                next: None,
            }),
            Err(error) => {
                let error = written.err().map_or(error, |failure| failure.error);
                Err(AttemptError::Final(classify(&error)))
            }
        }
    }
}
