//! Decides about a call before the upstream is called (§1.3, §1.5, §3, CONTRACT 11 to 14): forward it at
//! once, forward it after a check, block it, or refuse it. `verdict` makes the check itself.

use super::answer_handling::AnswerHandling;
use super::async_call::AsyncCall;
use super::block::{Block, RequestSummary};
use super::body::Body;
use super::capture::Captured;
use super::held::{AnswerCheck, HeldCheck, Hold, LocalCheck};
use super::record::Registration;
use super::redaction::{Redactor, Unredact};
use super::scan_roles::{call_texts, roles};
use super::streaming::Streaming;
use super::upstream_request::UpstreamRequest;
use super::verdict::{Check, CheckOutcome, Finding, report_unchecked};
use crate::fair_queue::heavy;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::state::Snapshot;
use crate::observe::events::{PromptRedacted, Unchecked};
use crate::observe::{Metrics, UncheckedReason};
use crate::policy::{Found, PolicySnapshot};
use monitor_model::{AppMode, OnBackendFailure, Policy, Stage, StreamInSync};
use monitor_wire::json::{CallTexts, Edit, Request, Scan};
use monitor_wire::protocol::Protocol;
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;

/// How a call goes on once its policy is known.
#[expect(
    clippy::large_enum_variant,
    reason = "most calls are forwarded: each would allocate a box"
)]
pub(super) enum Admission {
    /// No policy, or async mode: the upstream is called at once.
    Forward(Forward),
    /// Sync mode: [`pre_call`] has to await the verdict first.
    AwaitVerdict(Box<SyncCall>),
}

/// The outcome of the pre-call stage.
pub(super) enum Decision {
    /// The upstream is called.
    Forward(Forward),
    /// The client gets the policy's phrase (§2.4).
    Block(Box<Block>),
    /// The client gets an error, and the upstream is not called.
    Refuse(CallError),
}

/// A call that the upstream gets.
pub(super) struct Forward {
    pub(super) request: UpstreamRequest,
    pub(super) registration: Registration,
    pub(super) handling: AnswerHandling,
}

/// A request body that is valid JSON.
pub(super) struct ParsedBody {
    pub(super) body: Body,
    pub(super) scan: Scan,
    pub(super) protocol: &'static dyn Protocol,
    /// What is read of calls of tools.
    pub(super) calls: CallTexts,
}

/// A call in sync mode that waits for its verdict.
pub(super) struct SyncCall {
    parsed: ParsedBody,
    registration: Registration,
    policy: Arc<Policy>,
}

impl ParsedBody {
    pub(super) fn request(&self) -> Request<'_> {
        let request = Request::read(self.protocol.request(), &self.body.bytes, &self.scan);
        request.with_calls(self.calls)
    }

    /// Whether the redaction of the prompt, where the policy asks for one, looks at all of it (CONTRACT 41).
    pub(super) fn is_redacted_whole(&self, snapshot: &Snapshot, policy: &Policy) -> bool {
        redactor(snapshot, policy).is_none_or(|redactor| {
            let literals = self.request().prompt_literals(&roles(policy));
            redactor.reads_whole(&self.body.bytes, &literals)
        })
    }

    /// The request for the upstream, and what unredacts its answer where the prompt was redacted (CONTRACT
    /// 41). The bytes are unchanged where nothing has to be edited.
    pub(super) fn into_request(
        self,
        snapshot: &Snapshot,
        policy: &Policy,
        mut edits: Vec<Edit<Vec<u8>>>,
    ) -> (UpstreamRequest, Option<Unredact>) {
        let redactor = redactor(snapshot, policy);
        let redacted = redactor.and_then(|redactor| {
            let literals = self.request().prompt_literals(&roles(policy));
            redactor.redact(&self.body.bytes, &literals)
        });
        let unredact = redacted.map(|redacted| {
            PromptRedacted.emit(&snapshot.metrics);
            edits.extend(redacted.edits);
            Unredact {
                protocol: self.protocol,
                placeholders: redacted.placeholders,
            }
        });
        let mut request = UpstreamRequest::with_edits(self.body, edits);
        request.identity_encoding = unredact.is_some();
        (request, unredact)
    }
}

/// Whether the call's application is in sync mode, so that its prompts await a verdict.
pub(crate) fn is_checked(session: &ServerSession, ctx: &CallContext) -> bool {
    sync_policy(session, ctx).is_some()
}

/// Whether its answers are checked too.
pub(crate) fn has_checked_answers(session: &ServerSession, ctx: &CallContext) -> bool {
    sync_policy(session, ctx).is_some_and(|policy| checks_answers(&policy))
}

fn sync_policy(session: &ServerSession, ctx: &CallContext) -> Option<Arc<Policy>> {
    let named = headers::application_id(&session.req_header().headers);
    let application = ctx.application_id(named);
    match ctx.policies.as_ref()?.lookup(application.as_deref()) {
        Found::Policy(policy) if policy.app_mode == AppMode::Sync => Some(policy),
        _ => None,
    }
}

fn checks_answers(policy: &Policy) -> bool {
    policy.replace_response || policy.stream_in_sync == StreamInSync::HoldBack
}

/// Looks the call's policy up. The prompt of an async call is registered here, that of a sync call
/// during its check.
pub(super) fn admit(
    snapshot: &Snapshot,
    session: &ServerSession,
    ctx: &mut CallContext,
    mut parsed: ParsedBody,
) -> Admission {
    let mut registration = Registration::open(snapshot, session, ctx, Some(parsed.request()));
    let limit = snapshot.settings.limits.recorded_bytes;
    let policy = match ctx.policies.clone() {
        None => None,
        Some(policies) => policy_of(&policies, &mut registration, &snapshot.metrics, ctx),
    };
    if let Some(policy) = &policy {
        parsed.calls = call_texts(policy);
        registration.set_calls(parsed.calls);
    }
    let (request, unredact) = match policy {
        None => {
            registration.pre_call(limit, || parsed.request().prompt(&[]));
            (UpstreamRequest::unchanged(parsed.body), None)
        }
        Some(policy) if policy.app_mode == AppMode::Sync => {
            ctx.set_mode(AppMode::Sync);
            return Admission::AwaitVerdict(Box::new(SyncCall {
                parsed,
                registration,
                policy,
            }));
        }
        Some(policy) => {
            let call = AsyncCall {
                request: parsed.request(),
                roles: roles(&policy),
                is_redacted_whole: parsed.is_redacted_whole(snapshot, &policy),
                policy: &policy,
                registration: &mut registration,
            };
            call.register(snapshot, ctx);
            parsed.into_request(snapshot, &policy, Vec::new())
        }
    };
    Admission::Forward(Forward {
        request,
        registration,
        handling: AnswerHandling::holding(Hold {
            unredact,
            check: None,
            replay: None,
        }),
    })
}

/// Awaits the verdict of a call in sync mode. No upstream connection is opened before it.
pub(super) async fn pre_call(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut call: SyncCall,
) -> Decision {
    let cost = call.parsed.request().reading_cost();
    let prompt = heavy(cost, || call.parsed.request().prompt(&roles(&call.policy)));
    let prompt = Captured::of_prompt(prompt, u64::MAX);
    let body = &mut call.parsed.body;
    let copies = match body
        .reserve_copies(snapshot, prompt.text.len() + prompt.tools.bytes())
        .await
    {
        Ok(copies) => copies,
        Err(error) => return Decision::Refuse(error),
    };
    let (outcome, is_readable) = call.check(snapshot, session, ctx, prompt).await;
    call.parsed.body.reservation.shrink(copies);
    match outcome {
        CheckOutcome::Passed if is_readable => heavy(cost, || call.forward(snapshot)),
        CheckOutcome::Passed => {
            let detail = "the prompt is not readable as a whole";
            let reason = UncheckedReason::Unreadable;
            report_unchecked(&snapshot.metrics, &call.policy, reason, detail);
            call.unchecked(snapshot, ctx)
        }
        CheckOutcome::Flagged(finding) => call.block(snapshot, &finding),
        CheckOutcome::Unknown => call.unchecked(snapshot, ctx),
        CheckOutcome::Late => call.late(snapshot, ctx),
        CheckOutcome::KeyRefused => Decision::Refuse(CallError::KeyRefused),
        CheckOutcome::ClientGone => call.refuse(CallError::ClientGone),
    }
}

impl SyncCall {
    /// Sends the prompt to the backend; gives its verdict, and whether all of the prompt can be read.
    async fn check(
        &self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        prompt: Captured,
    ) -> (CheckOutcome, bool) {
        let cost = self.parsed.request().reading_cost();
        let is_redacted_whole = || self.parsed.is_redacted_whole(snapshot, &self.policy);
        let is_readable = !prompt.incomplete && heavy(cost, is_redacted_whole);
        let mut record = self.registration.record(Stage::PreCall, prompt);
        if let Some(record) = &mut record {
            // A verdict on a part of the prompt is none on the whole. Set here, because the check registers
            // the record.
            let is_open = self.policy.on_backend_failure == OnBackendFailure::Open;
            record.unchecked |= !is_readable && is_open;
        }
        let check = Check {
            policy: &self.policy,
            registration: &self.registration,
            record,
        };
        (check.run(snapshot, session, ctx).await, is_readable)
    }

    fn block(self, snapshot: &Snapshot, finding: &Finding) -> Decision {
        let (request, protocol) = (self.parsed.request(), self.parsed.protocol);
        let streaming = self.streaming(snapshot);
        let exchange = self.registration.exchange();
        let request = RequestSummary::new(request, protocol, exchange, streaming.form);
        let block = Block::by_verdict(Stage::PreCall, request, self.policy, finding);
        Decision::Block(Box::new(block))
    }

    /// How the answer reaches a client that asks for a stream, which is counted.
    fn streaming(&self, snapshot: &Snapshot) -> Streaming {
        let application = self.registration.application();
        let (request, protocol) = (self.parsed.request(), self.parsed.protocol);
        let streaming = Streaming::decide(snapshot, &self.policy, application, request, protocol);
        streaming.emit(&snapshot.metrics);
        streaming
    }

    fn forward(self, snapshot: &Snapshot) -> Decision {
        let (request, protocol) = (self.parsed.request(), self.parsed.protocol);
        if checks_answers(&self.policy) && request.is_answered_later() {
            return self.refuse(CallError::StoredAnswer);
        }
        let streaming = self.streaming(snapshot);
        let exchange = self.registration.exchange();
        let summary = RequestSummary::new(request, protocol, exchange, streaming.form);
        let parsed = self.parsed;
        let (mut request, unredact) = parsed.into_request(snapshot, &self.policy, streaming.edits);
        request.identity_encoding |= streaming.filter.is_some() || streaming.replay.is_some();
        let handling = match streaming.filter {
            Some(filter) => AnswerHandling::HoldBack {
                hold: Box::new(Hold::checking(LocalCheck::new(&filter, summary))),
                filter,
            },
            None => AnswerHandling::holding(Hold {
                unredact,
                check: self.policy.replace_response.then(|| {
                    HeldCheck::Backend(AnswerCheck {
                        request: summary,
                        policy: self.policy.clone(),
                    })
                }),
                replay: streaming.replay,
            }),
        };
        Decision::Forward(Forward {
            request,
            registration: self.registration,
            handling,
        })
    }

    /// Goes on without a verdict, or refuses the call, as the policy says (CONTRACT 13).
    fn unchecked(mut self, snapshot: &Snapshot, ctx: &mut CallContext) -> Decision {
        match self.policy.on_backend_failure {
            OnBackendFailure::Closed => self.refuse(CallError::Unchecked),
            OnBackendFailure::Open => {
                ctx.detail = Some("unchecked");
                self.registration.set_unchecked();
                self.forward(snapshot)
            }
        }
    }

    /// Goes on like [`Self::unchecked`] after MONITOR_TIMEOUT. The client has waited for it once, so the
    /// answer is not held for another check but registered as in async mode.
    fn late(self, snapshot: &Snapshot, ctx: &mut CallContext) -> Decision {
        let policy = self.policy.clone();
        match self.unchecked(snapshot, ctx) {
            Decision::Forward(mut call) if call.handling.is_checked() => {
                call.handling = call.handling.unchecked();
                let detail = "the check of the prompt timed out, so the answer is not held for one";
                let reason = UncheckedReason::Unavailable;
                report_unchecked(&snapshot.metrics, &policy, reason, detail);
                Decision::Forward(call)
            }
            decision => decision,
        }
    }

    fn refuse(self, error: CallError) -> Decision {
        self.registration.post_call_failed(&error);
        Decision::Refuse(error)
    }
}

/// The policy of the call's application, None without one (CONTRACT 7, 14).
fn policy_of(
    policies: &PolicySnapshot,
    registration: &mut Registration,
    metrics: &Metrics,
    ctx: &mut CallContext,
) -> Option<Arc<Policy>> {
    match policies.lookup(registration.application_id()) {
        Found::Policy(policy) => Some(policy),
        Found::NoPolicy => None,
        Found::NeverKnown => {
            ctx.detail = Some("policy_unknown");
            registration.set_unchecked();
            Unchecked {
                reason: UncheckedReason::PolicyUnknown,
                detail: "the policy of the application is not known",
                consequence: "the call goes on in async mode",
            }
            .emit(metrics);
            None
        }
    }
}

/// What redacts prompts under a policy, if anything does.
fn redactor<'a>(snapshot: &'a Snapshot, policy: &Policy) -> Option<Redactor<'a>> {
    let inspector = snapshot.inspector.as_deref();
    inspector
        .filter(|_| policy.redact_upstream)
        .map(|inspector| Redactor {
            inspector,
            patterns: policy.local_patterns(),
        })
}
