//! The gateway's `ProxyHttp` phases, which only call other files. Transparent routes go through all phases;
//! the exchange answers a monitored call within `request_filter`.

use super::call_trace::CallTrace;
use super::callers::{self, CountsFor};
use super::context::CallContext;
use super::error::{CallError, classify};
use super::guard::{BodyFraming, GuardedStream, ParsedHead, is_too_slow};
use super::headers::{self, check_framing};
use super::listen::client_places;
use super::route::Route;
use super::state::GatewayState;
use super::upstream::transparent;
use super::{auth, body_type, exchange, head_memory, respond};
use crate::edge::{Coding, cors};
use crate::fair_queue::{Claim, Tenant, Urgency, on_account, stranger};
use crate::observe::{Exhausted, Outcome};
use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderValue;
use http::header::TRANSFER_ENCODING;
use pingora_core::Result;
use pingora_core::modules::http::HttpModules;
use pingora_core::upstreams::peer::{H1UpgradePolicy, HttpPeer};
use pingora_error::{Error, ErrorSource, ErrorType};
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{FailToProxy, ProxyHttp, Session};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The gateway as a pingora proxy.
pub struct Gateway {
    state: Arc<GatewayState>,
}

impl Gateway {
    pub(crate) fn new(state: Arc<GatewayState>) -> Self {
        Self { state }
    }

    /// Checks route, framing, access key and other headers, in this order (CONTRACT 9). Returns a route of §4.1.
    fn authorize(
        &self,
        session: &Session,
        ctx: &mut CallContext,
        framing: BodyFraming,
    ) -> Result<Route, CallError> {
        ctx.trace = CallTrace::start(&ctx.snapshot, session, ctx.client, &ctx.clock);
        let head = session.req_header();
        let route = Route::of(&head.method, headers::path(head));
        ctx.set_route(route.label());
        ctx.request_id = headers::request_id(&head.headers);
        let raw = session
            .as_http1()
            .map(|h1| h1.get_headers_raw_bytes())
            .unwrap_or_default();
        check_framing(head, &raw).map_err(|_| CallError::BadFraming)?;
        if framing == BodyFraming::Malformed {
            return Err(CallError::BadFraming);
        }
        if ctx.website.may_ask(&head.method, &head.headers)
            && let Route::WrongMethod { allow, .. } = route
        {
            return Ok(Route::Preflight(allow));
        }
        head_memory::count_for_client(session, ctx)
            .map_err(|full| CallError::Overloaded(full.0))?;
        if route.needs_key() {
            let key = auth::access_key(&head.headers).map_err(CallError::Key)?;
            let application = head.headers.get(headers::APPLICATION_ID);
            ctx.tenant = Tenant::new(&key, &application.map(HeaderValue::as_bytes));
            ctx.access_key = Some(key);
        }
        if let Some(name) = headers::ambiguous(&head.headers) {
            return Err(CallError::AmbiguousHeader(name));
        }
        match route {
            Route::WrongMethod { allow, .. } => Err(CallError::WrongMethod(allow)),
            Route::Unknown { suggestion, .. } => Err(CallError::UnknownPath(suggestion)),
            route => check_body(route, head),
        }
    }

    /// Checks that the caller is known, then counts the call.
    async fn admit(
        &self,
        session: &Session,
        ctx: &mut CallContext,
        route: Route,
    ) -> Result<Route, CallError> {
        let rules = ctx.snapshot.caller_rules();
        if let Some(key) = ctx.access_key.as_ref().filter(|_| !rules.let_all_pass()) {
            let named = headers::application_id(&session.req_header().headers);
            let admitted = callers::admit(&ctx.snapshot, key, named.as_deref());
            // Questions about keys take turns by address: whether the key is one is not known yet.
            let claim = Claim {
                tenant: Tenant {
                    holder: stranger(ctx.client),
                    application: 0,
                },
                urgency: Urgency::Awaited,
            };
            let admitted = Box::pin(on_account(claim, admitted)).await?;
            ctx.counts_for = admitted.counts_for;
            if let Some(own) = admitted.bound_to {
                ctx.tenant = callers::tenant_of(own, key);
            }
            if ctx.counts_for != CountsFor::Named {
                let application = ctx.application_id(None);
                if let Some(trace) = &mut ctx.trace {
                    trace.set_application(application.as_deref());
                }
            }
        }
        ctx.is_key_accepted = ctx.snapshot.known_holders.contains(ctx.tenant.holder);
        match ctx.is_key_accepted {
            true => {
                head_memory::count_for_key(session, ctx);
                client_places::count_for_key(ctx.tenant.holder);
            }
            false => ctx.tenant.holder = stranger(ctx.client),
        }
        self.acquire_permits(session, ctx, &route)?;
        Ok(route)
    }

    /// Counts the call against the limit of all calls and those of its application. Nothing of the body has
    /// been read at this point.
    fn acquire_permits(
        &self,
        session: &Session,
        ctx: &mut CallContext,
        route: &Route,
    ) -> Result<(), CallError> {
        if route.needs_key() {
            let permit = self.state.call_limit().try_acquire();
            ctx.permit = Some(permit.ok_or(CallError::Overloaded(Exhausted::Descriptors))?);
        }
        let snapshot = &ctx.snapshot;
        let policies = snapshot.policies.as_ref().filter(|_| route.needs_key());
        let limited = policies.and_then(|policies| {
            policies.limits(|| {
                ctx.application_id(headers::application_id(&session.req_header().headers))
            })
        });
        if let Some(limited) = limited {
            ctx.quota = Some(snapshot.quotas.try_acquire(limited.id, &limited.limits)?);
        }
        Ok(())
    }

    /// Limits the idle time of the connection, which pingora would keep without a limit.
    fn limit_idle_time(&self, session: &mut Session, ctx: &CallContext) {
        let kept = session.get_keepalive().is_some() && !self.state.is_draining();
        let limit = ctx.snapshot.settings.limits.idle_timeout.as_secs().max(1);
        session.set_keepalive(kept.then_some(limit));
    }

    /// Tells the connection's guard that the head is complete. When the guard cannot follow a chunked body,
    /// the request is the last on its connection, so that nothing can be smuggled behind it.
    fn end_head(session: &mut Session) -> BodyFraming {
        let head = session.req_header();
        let parsed = ParsedHead {
            chunked: head.headers.contains_key(TRANSFER_ENCODING),
            ends_in_space: head.raw_path().ends_with(b"%20"),
        };
        let stream = session.as_http1().map(|h1| h1.stream());
        let guard = stream.and_then(GuardedStream::guard_of);
        let framing = guard.map_or(BodyFraming::Valid, |guard| guard.end_head(parsed));
        if framing == BodyFraming::Unknown {
            session.set_keepalive(None);
        }
        framing
    }

    /// Answers the call, unless it is transparent; true when it is answered.
    async fn serve(&self, session: &mut Session, ctx: &mut CallContext) -> Result<bool> {
        let framing = Self::end_head(session);
        ctx.client = head_memory::client(session, ctx);
        let head = session.req_header();
        ctx.website = cors::Origin::of(&ctx.snapshot.settings.cors, &head.headers);
        if let Err(full) = head_memory::cover(session, ctx) {
            return head_memory::refuse(session, ctx, full).await;
        }
        let admitted = match self.authorize(session, ctx, framing) {
            Ok(route) => self.admit(session, ctx, route).await,
            Err(error) => Err(error),
        };
        match admitted {
            Ok(Route::Preflight(methods)) => respond::preflight(session, ctx, methods).await,
            Ok(Route::Chat) => {
                let snapshot = ctx.snapshot.clone();
                Box::pin(exchange::run(&snapshot, session, ctx)).await
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
        CallContext::new(self.state.snapshot())
    }

    /// Adds no modules: bodies pass unchanged.
    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    async fn request_filter(&self, session: &mut Session, ctx: &mut CallContext) -> Result<bool> {
        self.limit_idle_time(session, ctx);
        session.set_write_timeout(Some(ctx.snapshot.upstream.timeout()));
        session.set_read_timeout(Some(ctx.snapshot.settings.limits.header_timeout));
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
        ctx.clock.start_upstream();
        let mut peer = HttpPeer::clone(&*transparent::peer(ctx).await.ok_or_else(unresolved)?);
        peer.options.http_upstream_request_policy.h1_upgrade = H1UpgradePolicy::Deny;
        Ok(Box::new(peer))
    }

    /// Ends a request whose body arrives too slowly: it holds an upstream connection beside the client's.
    async fn request_body_filter(
        &self,
        _session: &mut Session,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        ctx: &mut CallContext,
    ) -> Result<()> {
        ctx.received += body.as_ref().map_or(0, Bytes::len);
        let limit = ctx.snapshot.settings.limits.header_timeout;
        if end_of_stream || !is_too_slow(ctx.clock.elapsed(), limit, ctx.received) {
            return Ok(());
        }
        let mut error = Error::explain(ErrorType::ReadTimedout, "the request body is too slow");
        error.as_down();
        Err(error)
    }

    async fn upstream_request_filter(
        &self,
        _session: &mut Session,
        upstream_request: &mut RequestHeader,
        ctx: &mut CallContext,
    ) -> Result<()> {
        let server = ctx.server.as_ref().ok_or_else(unresolved)?;
        let base = server.resolver.base();
        headers::for_upstream(upstream_request, base, &ctx.request_id, None)?;
        match &ctx.trace {
            Some(trace) => trace.set_upstream_headers(upstream_request),
            None => Ok(()),
        }
    }

    /// An error here, before the client has a byte, makes pingora start over with [`Self::upstream_peer`].
    async fn upstream_response_filter(
        &self,
        session: &mut Session,
        upstream_response: &mut ResponseHeader,
        ctx: &mut CallContext,
    ) -> Result<()> {
        match transparent::repeat_elsewhere(session, upstream_response.status.as_u16(), ctx) {
            true => Error::e_explain(ErrorType::HTTPStatus(503), "another model server is tried"),
            false => Ok(()),
        }
    }

    /// Counts what the client has not read yet.
    fn response_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        ctx: &mut CallContext,
    ) -> Result<Option<Duration>> {
        let bytes = body.as_ref().map_or(0, Bytes::len);
        transparent::count_unread(session, bytes, end_of_stream, ctx)?;
        Ok(None)
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
        ctx.outcome = match ctx.status {
            400.. => Outcome::UpstreamStatus,
            _ => Outcome::Ok,
        };
        ctx.clock.mark_first_byte(Instant::now());
        let version = session.req_header().version;
        headers::for_client(upstream_response, version, &ctx.request_id)?;
        headers::for_website(upstream_response, &ctx.website)
    }

    /// Tries each address once: nothing was sent to one that does not connect (CONTRACT 22).
    fn fail_to_connect(
        &self,
        _session: &mut Session,
        _peer: &HttpPeer,
        ctx: &mut CallContext,
        mut error: Box<Error>,
    ) -> Box<Error> {
        error.set_retry(transparent::switch_address(ctx) || transparent::switch_server(ctx));
        error
    }

    /// Once connected, the upstream may have received bytes, whatever the method (CONTRACT 22): the call is
    /// repeated only after an answer that the settings name.
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
        let exhausted = ctx.exhausted.take().map(CallError::Overloaded);
        let failure = exhausted.unwrap_or_else(|| classify(error));
        let answered = ctx.cut || respond::has_begun(session);
        match answered {
            true => respond::cut(session, ctx, error).await,
            false => {
                // Pingora closes the connection of a call that failed on its way to the upstream, whatever is returned
                // here (its `process_request`, 0.9.1): a client that was not told would send its next call into it.
                session.set_keepalive(None);
                drop(respond::error(session, ctx, &failure).await);
            }
        }
        FailToProxy {
            error_code: ctx.status,
            can_reuse_downstream: false,
        }
    }

    async fn logging(&self, session: &mut Session, _error: Option<&Error>, ctx: &mut CallContext) {
        ctx.finish(session.body_bytes_read(), session.body_bytes_sent());
    }

    /// The access line reports the error as the call's outcome.
    fn suppress_error_log(&self, _session: &Session, _ctx: &CallContext, _error: &Error) -> bool {
        true
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

/// Checks what a call with a JSON body declares of it.
fn check_body(route: Route, head: &RequestHeader) -> Result<Route, CallError> {
    if matches!(route, Route::Chat | Route::Embeddings) {
        body_type::check_type(&head.headers).map_err(CallError::Unsupported)?;
    }
    // The body of embeddings is forwarded unread, compressed or not.
    if matches!(route, Route::Chat) {
        Coding::of(&head.headers).map_err(|unknown| CallError::Unsupported(unknown.into()))?;
    }
    Ok(route)
}
