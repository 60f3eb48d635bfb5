//! The gateway's `ProxyHttp` phases, which only call other files. Transparent routes go through all phases;
//! the exchange answers a monitored call within `request_filter`.

use super::context::CallContext;
use super::error::classify;
use super::guard::is_too_slow;
use super::headers::{self, UpstreamHead};
use super::state::GatewayState;
use super::upstream::transparent;
use crate::observe::Outcome;
use async_trait::async_trait;
use bytes::Bytes;
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
    pub(crate) state: Arc<GatewayState>,
}

impl Gateway {
    pub(crate) fn new(state: Arc<GatewayState>) -> Self {
        Self { state }
    }
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = CallContext;

    fn new_ctx(&self) -> CallContext {
        self.begin()
    }

    /// Adds no modules: bodies pass unchanged.
    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    async fn request_filter(&self, session: &mut Session, ctx: &mut CallContext) -> Result<bool> {
        self.answer(session, ctx).await
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
        let target = server.resolver.target();
        let mut head = UpstreamHead::new(upstream_request, target, &ctx.request_id, None)?;
        if let Some(trace) = &ctx.trace {
            trace.set_upstream_headers(&mut head)?;
        }
        *upstream_request = head.to_header()?;
        Ok(())
    }

    /// An error here, before the client has a byte, makes pingora start over with [`Self::upstream_peer`].
    async fn upstream_response_filter(
        &self,
        session: &mut Session,
        upstream_response: &mut ResponseHeader,
        ctx: &mut CallContext,
    ) -> Result<()> {
        if headers::leads_past_gateway(upstream_response) {
            return Err(Error::new_up(ErrorType::Custom(headers::REDIRECTED)));
        }
        match transparent::repeat_elsewhere(session, upstream_response.status.as_u16(), ctx) {
            true => Error::e_explain(ErrorType::HTTPStatus(503), "another model server is tried"),
            false => Ok(()),
        }
    }

    /// Counts what the client has not read yet, and copies what is recorded.
    fn response_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        ctx: &mut CallContext,
    ) -> Result<Option<Duration>> {
        let bytes = body.as_ref().map_or(0, Bytes::len);
        transparent::count_unread(session, bytes, end_of_stream, ctx)?;
        if let (Some(stored), Some(bytes)) = (&mut ctx.stored, body) {
            stored.push(bytes);
        }
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
        if let Some(stored) = &mut ctx.stored {
            stored.begin(upstream_response);
        }
        let version = session.req_header().version;
        headers::for_client(upstream_response, version, &ctx.request_id)?;
        headers::for_website(upstream_response, &ctx.website)?;
        headers::for_budget(upstream_response, ctx.budget)
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
        Self::fail(session, error, ctx).await;
        FailToProxy {
            error_code: ctx.status,
            can_reuse_downstream: false,
        }
    }

    async fn logging(&self, session: &mut Session, error: Option<&Error>, ctx: &mut CallContext) {
        if let Some(stored) = ctx.stored.take() {
            let metadata = stored.finish(error.map(classify).as_ref());
            ctx.set_metadata(metadata.filter(|_| ctx.wants_metadata()));
        }
        Self::end(session, ctx);
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
