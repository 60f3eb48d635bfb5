//! `ProxyHttp` for the gateway: nothing but calls. Transparent routes go through all phases; the
//! monitored route is answered whole in `request_filter` by `exchange/`.

use super::chunks::BadChunk;
use super::context::CallContext;
use super::error::CallError;
use super::headers::{self, Extensions, check_framing};
use super::pace::is_too_slow;
use super::prefixed::Prefixed;
use super::route::Route;
use super::told::Told;
use super::watch::Framing;
use super::{Live, auth, exchange, respond, transparent};
use crate::observe::{Exhausted, Outcome};
use async_trait::async_trait;
use bytes::Bytes;
use http::header::TRANSFER_ENCODING;
use pingora_core::Result;
use pingora_core::modules::http::HttpModules;
use pingora_core::upstreams::peer::{H1UpgradePolicy, HttpPeer};
use pingora_error::{Error, ErrorSource, ErrorType};
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{FailToProxy, ProxyHttp, Session};
use std::sync::Arc;
use std::time::Instant;

/// The gateway's phases over what its calls share.
pub struct Gateway {
    live: Arc<Live>,
}

impl Gateway {
    pub(crate) fn new(live: Arc<Live>) -> Self {
        Self { live }
    }

    /// Route, framing, key, in this order (CONTRACT 9). What is left is one of §4.1's routes.
    fn admit(
        &self,
        session: &Session,
        ctx: &mut CallContext,
        framing: Framing,
    ) -> Result<Route, CallError> {
        ctx.told = Told::begin(&ctx.shared, session, &ctx.clock);
        let head = session.req_header();
        let route = Route::of(&head.method, headers::path(head));
        ctx.enter(route.label());
        ctx.request_id = headers::request_id(&head.headers);
        let raw = session
            .as_http1()
            .map(|h1| h1.get_headers_raw_bytes())
            .unwrap_or_default();
        check_framing(head, &raw).map_err(|_| CallError::BadFraming)?;
        if framing == Framing::Bad {
            return Err(CallError::BadFraming);
        }
        if route.needs_key() {
            ctx.key = Some(auth::access_key(&head.headers).map_err(CallError::Key)?);
        }
        match route {
            Route::WrongMethod { allow, .. } => Err(CallError::WrongMethod(allow)),
            Route::Unknown { .. } => Err(CallError::UnknownPath),
            route => Ok(route),
        }
    }

    /// Takes the call's place among all calls, for which there have to be descriptors, and among those of
    /// its application, before a byte of its body is read.
    fn take_turn(
        &self,
        session: &Session,
        ctx: &mut CallContext,
        route: &Route,
    ) -> Result<(), CallError> {
        if route.needs_key() {
            let place = self.live.calls().enter();
            ctx.place = Some(place.ok_or(CallError::Overloaded(Exhausted::Descriptors))?);
        }
        let shared = &ctx.shared;
        let policies = shared.policies.as_ref().filter(|_| route.needs_key());
        let limited = policies.and_then(|policies| {
            policies.limits(|| {
                let named = Extensions::of(&session.req_header().headers).application_id;
                let fallback = || Some(shared.settings.monitor.application_id?.to_string());
                named.or_else(fallback)
            })
        });
        if let Some(limited) = limited {
            ctx.turn = Some(shared.quotas.enter(limited.id, &limited.limits)?);
        }
        Ok(())
    }

    /// A request head makes pingora keep its connection for ever; ours has a limit.
    fn limit_idle_time(&self, session: &mut Session, ctx: &CallContext) {
        let kept = session.get_keepalive().is_some() && !self.live.is_draining();
        let limit = ctx.shared.settings.limits.idle_timeout.as_secs().max(1);
        session.set_keepalive(kept.then_some(limit));
    }

    /// Tells the connection's watch that the head is whole. Chunks that nobody follows are the last
    /// that the connection carries, so that nothing can hide behind them.
    fn framing(session: &mut Session) -> Framing {
        let chunked = session.req_header().headers.contains_key(TRANSFER_ENCODING);
        let stream = session.as_http1().map(|h1| h1.stream());
        let watch = stream.and_then(Prefixed::watch_of);
        let framing = watch.map_or(Framing::Good, |watch| watch.end_head(chunked));
        if framing == Framing::Unseen {
            session.set_keepalive(None);
        }
        framing
    }

    /// True when the call is answered.
    async fn serve(&self, session: &mut Session, ctx: &mut CallContext) -> Result<bool> {
        let framing = Self::framing(session);
        let admitted = self.admit(session, ctx, framing);
        let admitted = admitted.and_then(|route| {
            self.take_turn(session, ctx, &route)?;
            Ok(route)
        });
        match admitted {
            Ok(Route::Chat) => {
                let shared = ctx.shared.clone();
                Box::pin(exchange::run(&shared, session, ctx)).await
            }
            Ok(Route::Docs(asset)) => Box::pin(respond::asset(session, ctx, &asset)).await,
            Ok(_) => {
                if headers::expects_continue(session.req_header()) {
                    session.write_continue_response().await?;
                }
                return Ok(false);
            }
            Err(error) => Box::pin(respond::error(session, ctx, &error)).await,
        }
        .map(|()| true)
    }
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = CallContext;

    fn new_ctx(&self) -> CallContext {
        CallContext::new(self.live.now())
    }

    /// No modules: bodies pass as they are.
    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    async fn request_filter(&self, session: &mut Session, ctx: &mut CallContext) -> Result<bool> {
        self.limit_idle_time(session, ctx);
        session.set_write_timeout(Some(ctx.shared.upstream.timeout()));
        session.set_read_timeout(Some(ctx.shared.settings.limits.header_timeout));
        let answered = self.serve(session, ctx).await?;
        if ctx.cut {
            return Error::e_explain(ErrorType::ConnectionClosed, "the answer was cut");
        }
        Ok(answered)
    }

    async fn upstream_peer(
        &self,
        _session: &mut Session,
        ctx: &mut CallContext,
    ) -> Result<Box<HttpPeer>> {
        ctx.clock.calls_upstream();
        let mut peer = HttpPeer::clone(&*transparent::peer(ctx).await.ok_or_else(unresolved)?);
        peer.options.http_upstream_request_policy.h1_upgrade = H1UpgradePolicy::Deny;
        Ok(Box::new(peer))
    }

    /// A body that drips keeps an upstream connection besides the client's.
    async fn request_body_filter(
        &self,
        _session: &mut Session,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        ctx: &mut CallContext,
    ) -> Result<()> {
        ctx.received += body.as_ref().map_or(0, Bytes::len);
        let limit = ctx.shared.settings.limits.header_timeout;
        if end_of_stream || !is_too_slow(ctx.clock.elapsed(), limit, ctx.received) {
            return Ok(());
        }
        let mut error = Error::explain(ErrorType::ReadTimedout, "a request body that drips");
        error.as_down();
        Err(error)
    }

    async fn upstream_request_filter(
        &self,
        _session: &mut Session,
        upstream_request: &mut RequestHeader,
        ctx: &mut CallContext,
    ) -> Result<()> {
        let target = ctx.target.as_ref().ok_or_else(unresolved)?;
        let base = target.upstream.base();
        headers::for_upstream(upstream_request, base, &ctx.request_id, None)?;
        match &ctx.told {
            Some(told) => told.for_upstream(upstream_request),
            None => Ok(()),
        }
    }

    /// An error here makes pingora begin anew with [`Self::upstream_peer`], before the client has a byte.
    async fn upstream_response_filter(
        &self,
        session: &mut Session,
        upstream_response: &mut ResponseHeader,
        ctx: &mut CallContext,
    ) -> Result<()> {
        match transparent::goes_elsewhere(session, upstream_response.status.as_u16(), ctx) {
            true => Error::e_explain(ErrorType::HTTPStatus(503), "another model server is asked"),
            false => Ok(()),
        }
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        upstream_response: &mut ResponseHeader,
        ctx: &mut CallContext,
    ) -> Result<()> {
        if upstream_response.status.is_informational() {
            return Ok(());
        }
        ctx.status = upstream_response.status.as_u16();
        ctx.outcome = if ctx.status >= 400 {
            Outcome::UpstreamStatus
        } else {
            Outcome::Ok
        };
        ctx.clock.first_byte(Instant::now());
        headers::for_client(
            upstream_response,
            session.req_header().version,
            &ctx.request_id,
        )
    }

    /// Another address of the upstream's name is tried once each (CONTRACT 22: nothing was sent).
    fn fail_to_connect(
        &self,
        _session: &mut Session,
        _peer: &HttpPeer,
        ctx: &mut CallContext,
        mut error: Box<Error>,
    ) -> Box<Error> {
        error.set_retry(transparent::tries_another_address(ctx) || transparent::fails_over(ctx));
        error
    }

    /// Once a connection stands, bytes may have been accepted, whatever the method (CONTRACT 22): only an
    /// answer that the settings name sends the call on.
    fn error_while_proxy(
        &self,
        _peer: &HttpPeer,
        _session: &mut Session,
        mut error: Box<Error>,
        ctx: &mut CallContext,
        _client_reused: bool,
    ) -> Box<Error> {
        error.set_retry(std::mem::take(&mut ctx.repeats));
        error
    }

    async fn fail_to_proxy(
        &self,
        session: &mut Session,
        error: &Error,
        ctx: &mut CallContext,
    ) -> FailToProxy {
        let begun = session
            .response_written()
            .is_some_and(|head| !head.status.is_informational());
        let failure = classify(error);
        if ctx.cut || begun {
            // What the client has is cut, so that it cannot be taken for whole.
            ctx.outcome = broken(ctx, error);
            session.shutdown().await;
        } else {
            let _ = respond::error(session, ctx, &failure).await;
        }
        FailToProxy {
            error_code: ctx.status,
            can_reuse_downstream: !ctx.cut && !begun && !failure.closes(),
        }
    }

    async fn logging(&self, session: &mut Session, _error: Option<&Error>, ctx: &mut CallContext) {
        ctx.ended(session.body_bytes_read(), session.body_bytes_sent());
    }

    /// The access line says it, with the outcome's word.
    fn suppress_error_log(&self, _session: &Session, _ctx: &CallContext, _error: &Error) -> bool {
        true
    }
}

/// Whose doing it was that an answer under way was cut.
fn broken(ctx: &CallContext, error: &Error) -> Outcome {
    match error.esource {
        _ if ctx.cut => ctx.outcome,
        ErrorSource::Downstream => Outcome::ClientGone,
        _ => Outcome::UpstreamBroken,
    }
}

fn unresolved() -> Box<Error> {
    let mut error = Error::explain(
        ErrorType::ConnectError,
        "the upstream's name does not resolve",
    );
    error.esource = ErrorSource::Upstream;
    error
}

/// Whether an error of ours made pingora's read or write fail.
pub(super) fn is_caused_by<E: std::error::Error + 'static>(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match &error.cause {
        Some(cause) => Some(cause.as_ref()),
        None => None,
    };
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        let ours = io.and_then(std::io::Error::get_ref);
        if ours.is_some_and(|inner| inner.is::<E>()) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Reads pingora's error as one of ours (§7.2).
pub(super) fn classify(error: &Error) -> CallError {
    use ErrorType as E;
    if is_caused_by::<BadChunk>(error) {
        return CallError::BadFraming;
    }
    match (&error.esource, &error.etype) {
        // Bad chunking is an error type of pingora's own making, without a name in the enum.
        (ErrorSource::Downstream, E::InvalidHTTPHeader | E::Custom(_)) => CallError::BadFraming,
        (ErrorSource::Downstream, E::ReadTimedout) => CallError::SlowBody,
        (ErrorSource::Downstream, _) => CallError::ClientGone,
        (_, E::ConnectTimedout | E::TLSHandshakeTimedout) => {
            CallError::Connect("no connection in time")
        }
        (_, E::ConnectRefused) => CallError::Connect("connection refused"),
        (_, E::ConnectNoRoute) => CallError::Connect("no route"),
        (_, E::TLSHandshakeFailure | E::InvalidCert | E::HandshakeError) => {
            CallError::Connect("TLS handshake failed")
        }
        (_, E::ConnectError | E::SocketError | E::BindError | E::InternalError) => {
            CallError::Connect("no connection")
        }
        (_, E::ReadTimedout | E::WriteTimedout) => CallError::Late,
        _ => CallError::Broken("the connection was lost"),
    }
}
