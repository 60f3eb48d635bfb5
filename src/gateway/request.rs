//! What every call passes before its route, and how it ends: the same for calls that come through pingora's proxy and
//! for those that [`super::listen`] serves past it.

use super::call_trace::CallTrace;
use super::callers::{self, CountsFor};
use super::context::{CallContext, RecordedAnswer};
use super::error::{CallError, classify};
use super::exchange::StoredAnswer;
use super::guard::{BodyFraming, GuardedStream, ParsedHead};
use super::headers::{self, check_framing};
use super::limits::{Full, budget};
use super::listen::client_places;
use super::proxy::Gateway;
use super::route::{self, Below, Route};
use super::{auth, body_type, exchange, head_memory, respond};
use crate::edge::{Coding, cors};
use crate::fair_queue::{Claim, Tenant, Urgency, holder_of, network, on_account, stranger};
use crate::observe::Exhausted;
use crate::observe::clock::calendar_ms;
use crate::policy::BudgetsOf;
use http::header::TRANSFER_ENCODING;
use http::{HeaderValue, Method};
use monitor_wire::protocol::Embeddings;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use pingora_http::RequestHeader;

impl Gateway {
    /// What a call carries; it begins now.
    pub(crate) fn begin(&self) -> CallContext {
        CallContext::new(self.state.snapshot())
    }

    /// Answers the call, unless it is transparent; true when it is answered.
    ///
    /// # Errors
    /// Where the client cannot be answered, or has an answer that was cut off: [`Self::fail`] ends the call.
    pub(crate) async fn answer(
        &self,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Result<bool> {
        self.limit_idle_time(session, ctx);
        session.set_write_timeout(Some(ctx.snapshot.upstreams.get(ctx.upstream).timeout()));
        session.set_read_timeout(Some(ctx.snapshot.settings.limits.header_timeout));
        let answered = self.serve(session, ctx).await?;
        if ctx.cut {
            return Error::e_explain(ErrorType::ConnectionClosed, "the answer was cut");
        }
        Ok(answered)
    }

    /// Ends a call that failed. Its connection is not used again.
    pub(crate) async fn fail(session: &mut ServerSession, error: &Error, ctx: &mut CallContext) {
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
    }

    /// Counts and logs the call, of which the last byte is written.
    pub(crate) fn end(session: &ServerSession, ctx: &mut CallContext) {
        ctx.finish(session.body_bytes_read(), session.body_bytes_sent());
    }

    /// Checks route, framing, access key and other headers, in this order (CONTRACT 9). Returns a route of §4.1.
    fn authorize(
        &self,
        session: &ServerSession,
        ctx: &mut CallContext,
        framing: BodyFraming,
    ) -> Result<Route, CallError> {
        ctx.trace = CallTrace::start(&ctx.snapshot, session, ctx.client, &ctx.clock);
        let head = session.req_header();
        let path = headers::path(head);
        let route = match Route::of(&head.method, path) {
            Route::WrongMethod { .. } if headers::asks_for_websocket(head) => Route::WebSocket,
            route => route,
        };
        ctx.protocol = route::protocol_of(path);
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
            let application = head.headers.get(headers::X_APPLICATION_ID);
            ctx.tenant = Tenant::new(&key, &application.map(HeaderValue::as_bytes));
            ctx.access_key = Some(key);
        }
        if let Some(name) = headers::ambiguous(&head.headers) {
            return Err(CallError::AmbiguousHeader(name));
        }
        match route {
            Route::WrongMethod { allow, .. } => Err(CallError::WrongMethod(allow)),
            Route::WebSocket => Err(CallError::WebSocket),
            Route::Unknown { suggestion, .. } => Err(CallError::UnknownPath(suggestion)),
            route => check_body(route, head),
        }
    }

    /// Checks that the caller is known, then counts the call.
    async fn admit(
        &self,
        session: &ServerSession,
        ctx: &mut CallContext,
        route: Route,
    ) -> Result<Route, CallError> {
        let rules = ctx.snapshot.caller_rules();
        ctx.policies = callers::policies_now(&ctx.snapshot);
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
            ctx.policies = admitted.policies;
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
        match route {
            Route::Below(Below::Prompt, _) if exchange::is_checked(session, ctx) => {
                return Err(CallError::Unread);
            }
            Route::Below(Below::Prompt, _) => Self::redact_below(session, ctx)?,
            Route::Below(Below::Answer | Below::Recorded, _)
                if exchange::has_checked_answers(session, ctx) =>
            {
                return Err(CallError::StoredAnswer);
            }
            _ => {}
        }
        if matches!(route, Route::Embeddings) {
            ctx.embeddings = exchange::reading_policy(session, ctx);
        }
        self.acquire_permits(session, ctx, &route)?;
        Ok(route)
    }

    /// Notes the policy that has the prompt of a call below a monitored path redacted, or refuses the call where its
    /// answer cannot be restored: batches, and conversations that the model server makes shorter.
    fn redact_below(session: &ServerSession, ctx: &mut CallContext) -> Result<(), CallError> {
        let head = session.req_header();
        // The list of batches.
        if head.method == Method::GET {
            return Ok(());
        }
        let Some(policy) = exchange::redacting_policy(session, ctx) else {
            return Ok(());
        };
        if !route::counts_tokens(headers::path(head)) {
            return Err(CallError::Unread);
        }
        body_type::check_type(&head.headers).map_err(CallError::Unsupported)?;
        ctx.counting = Some(policy);
        Ok(())
    }

    /// Counts the call against the limit of all calls and those of its application. Nothing of the body has
    /// been read at this point.
    fn acquire_permits(
        &self,
        session: &ServerSession,
        ctx: &mut CallContext,
        route: &Route,
    ) -> Result<(), CallError> {
        if route.needs_key() {
            if session.is_http2() {
                let holder = match ctx.is_key_accepted {
                    true => ctx.tenant.holder,
                    false => holder_of(&ctx.client.map(network)),
                };
                let shares = self.state.admitted_calls();
                let share = shares.try_take(holder, self.most_calls(ctx));
                ctx.share = Some(share.ok_or(CallError::Overloaded(Exhausted::ClientCalls))?);
                if ctx.is_key_accepted {
                    ctx.begun = None;
                }
            }
            let permit = self.state.call_limit().try_acquire();
            ctx.permit = Some(permit.ok_or(CallError::Overloaded(Exhausted::Descriptors))?);
        }
        Self::check_budgets(session, ctx, route)?;
        let snapshot = &ctx.snapshot;
        let policies = ctx.policies.as_ref().filter(|_| route.needs_key());
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

    /// Refuses a call that asks a model where a budget of its application or user is spent, or notes the warning for
    /// its answer. Calls that name no user are one user: else leaving the name out would evade the budget.
    fn check_budgets(
        session: &ServerSession,
        ctx: &mut CallContext,
        route: &Route,
    ) -> Result<(), CallError> {
        let policies = ctx.policies.as_ref();
        let Some(policies) = policies.filter(|policies| policies.has_spent_budgets()) else {
            return Ok(());
        };
        let head = session.req_header();
        if !route.asks_model(&head.method, headers::path(head)) {
            return Ok(());
        }
        let (sent, now_ms) = (&head.headers, calendar_ms());
        let application = || ctx.application_id(headers::application_id(sent));
        // Some bodies name the user, and this one is not read yet.
        let is_named_later =
            matches!(route, Route::Monitored(monitored) if monitored.protocol.names_user());
        let whose = || match headers::user_id(sent) {
            None if is_named_later => BudgetsOf::Application,
            user => BudgetsOf::All(user.unwrap_or_default()),
        };
        if let Some(found) = policies.budget_verdict(application, whose, now_ms) {
            ctx.budget = Some(budget::pass(found, now_ms, &ctx.snapshot.metrics)?);
        }
        Ok(())
    }

    /// How many calls over HTTP/2 one client may have in progress.
    fn most_calls(&self, ctx: &CallContext) -> usize {
        let all = usize::try_from(self.state.call_limit().limit()).unwrap_or(usize::MAX);
        let of_address = ctx.snapshot.settings.limits.client_connections;
        match ctx.is_key_accepted {
            true => of_address.max(all / 4),
            false => of_address,
        }
    }

    /// Counts a call over HTTP/2, of which one connection carries a hundred, for its address until its access key is
    /// known to be accepted: also one that is answered at once takes 28 KiB.
    fn begin_over_http2(&self, session: &ServerSession, ctx: &mut CallContext) -> Result<(), Full> {
        if session.is_http2() {
            let most = 2 * ctx.snapshot.settings.limits.client_connections;
            let holder = holder_of(&ctx.client.map(network));
            let begun = self.state.begun_calls().try_take(holder, most);
            ctx.begun = Some(begun.ok_or(Full(Exhausted::ClientCalls))?);
        }
        Ok(())
    }

    /// Limits the idle time of the connection, which pingora would keep without a limit.
    fn limit_idle_time(&self, session: &mut ServerSession, ctx: &CallContext) {
        let kept = session.get_keepalive().is_some() && !self.state.is_draining();
        let limit = ctx.snapshot.settings.limits.idle_timeout.as_secs().max(1);
        session.set_keepalive(kept.then_some(limit));
    }

    /// Tells the connection's guard that the head is complete. When the guard cannot follow a chunked body,
    /// the request is the last on its connection, so that nothing can be smuggled behind it.
    fn end_head(session: &mut ServerSession) -> BodyFraming {
        let head = session.req_header();
        let h1 = session.as_http1();
        let chunked = head.headers.contains_key(TRANSFER_ENCODING);
        let raw = h1.map(|h1| h1.get_headers_raw_bytes());
        let raw = raw.unwrap_or_default();
        let body = headers::content_length(&head.headers).unwrap_or(0);
        let length = (!chunked).then_some(raw.len() as u64 + body);
        let parsed = ParsedHead {
            chunked,
            ends_in_space: head.raw_path().ends_with(b"%20"),
            length,
        };
        let stream = h1.map(|h1| h1.stream());
        let guard = stream.and_then(GuardedStream::guard_of);
        let framing = guard.map_or(BodyFraming::Valid, |guard| guard.end_head(parsed, &raw));
        if framing == BodyFraming::Unknown {
            session.set_keepalive(None);
        }
        framing
    }

    async fn serve(&self, session: &mut ServerSession, ctx: &mut CallContext) -> Result<bool> {
        let framing = Self::end_head(session);
        ctx.client = head_memory::client(session, ctx);
        let head = session.req_header();
        ctx.website = cors::Origin::of(&ctx.snapshot.settings.cors, &head.headers);
        let begun = self.begin_over_http2(session, ctx);
        if let Err(full) = begun.and_then(|()| head_memory::cover(session, ctx)) {
            return head_memory::refuse(session, ctx, full).await;
        }
        let admitted = match self.authorize(session, ctx, framing) {
            Ok(route) => self.admit(session, ctx, route).await,
            Err(error) => Err(error),
        };
        match admitted {
            Ok(Route::Preflight(methods)) => respond::preflight(session, ctx, methods).await,
            Ok(Route::Monitored(_)) => {
                let snapshot = ctx.snapshot.clone();
                Box::pin(exchange::run(&snapshot, session, ctx)).await
            }
            Ok(Route::Embeddings) if ctx.embeddings.is_some() => {
                ctx.protocol = &Embeddings;
                let snapshot = ctx.snapshot.clone();
                Box::pin(exchange::run(&snapshot, session, ctx)).await
            }
            Ok(Route::Below(..)) if ctx.counting.is_some() => {
                let snapshot = ctx.snapshot.clone();
                Box::pin(exchange::run(&snapshot, session, ctx)).await
            }
            Ok(Route::Docs(asset)) => Box::pin(respond::asset(session, ctx, &asset)).await,
            Ok(route) => {
                if matches!(route, Route::Below(Below::Recorded, _)) {
                    let stored = StoredAnswer::open(session, ctx);
                    ctx.stored = stored.map(|stored| stored as Box<dyn RecordedAnswer>);
                }
                if headers::expects_continue(session.req_header()) {
                    session.write_continue_response().await?;
                }
                // The body is forwarded as it comes, and nobody knows its model.
                ctx.choose_upstream(|| None);
                return Ok(false);
            }
            Err(error) => Box::pin(respond::error(session, ctx, &error)).await,
        }
        .map(|()| true)
    }
}

/// Checks what a call with a JSON body declares of it.
fn check_body(route: Route, head: &RequestHeader) -> Result<Route, CallError> {
    if matches!(route, Route::Monitored(_) | Route::Embeddings) {
        body_type::check_type(&head.headers).map_err(CallError::Unsupported)?;
    }
    // The body of embeddings is forwarded unread, compressed or not.
    if matches!(route, Route::Monitored(_)) {
        Coding::of(&head.headers).map_err(|unknown| CallError::Unsupported(unknown.into()))?;
    }
    Ok(route)
}
