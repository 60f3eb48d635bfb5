//! What becomes of a call before its upstream call (§1.3, §1.5, §3, CONTRACT 11 to 14): forwarded at
//! once, forwarded after its check, blocked, or refused. The check itself stands in `check`.

use super::block::{Block, Requested};
use super::call::Outgoing;
use super::capture::Captured;
use super::check::{Check, Checked};
use super::record::Registration;
use super::replace::Replace;
use super::transform::Transform;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::json::{self, Chat, Scan};
use crate::model::{AppMode, OnBackendFailure, Policy, ScanRole, Stage};
use crate::observe::events::Unchecked;
use crate::observe::{Metrics, UncheckedReason};
use crate::policy::{Found, Policies};
use bytes::Bytes;
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;

/// The outcome of the pre-call stage.
pub(super) enum Decision {
    /// The upstream is called.
    Forward(Forward),
    /// The client gets the policy's phrase (§2.4).
    Block(Box<Block>),
    /// The client gets an error; nobody is called.
    Refuse(CallError),
}

/// A call on its way to the upstream.
pub(super) struct Forward {
    pub(super) outgoing: Outgoing,
    pub(super) registration: Registration,
    /// What stands between the upstream's stream and the client's.
    pub(super) transform: Transform,
    /// Present where the answer is checked before the client gets it (CONTRACT 15).
    pub(super) replace: Option<Box<Replace>>,
}

/// A request body that passed the grammar check.
pub(super) struct Incoming {
    pub(super) body: Bytes,
    pub(super) scan: Scan,
}

/// A call that waits for its verdict.
pub(super) struct SyncCall {
    incoming: Incoming,
    registration: Registration,
    policy: Arc<Policy>,
}

impl Incoming {
    fn chat(&self) -> Chat<'_> {
        Chat::read(&self.body, &self.scan)
    }

    /// The body that asks for no stream; the same bytes where none was asked for (CONTRACT 2).
    fn without_stream(self) -> Bytes {
        let spans = self.chat().stream_true_spans();
        match spans.is_empty() {
            true => self.body,
            false => json::replace_spans(&self.body, &spans, b"false").into(),
        }
    }
}

/// Registers the prompt of an async call, which may be forwarded at once; gives a call of sync mode
/// back for [`pre_call`].
pub(super) fn admit(
    shared: &Shared,
    session: &ServerSession,
    ctx: &mut CallContext,
    incoming: Incoming,
) -> Result<Forward, Box<SyncCall>> {
    let registration = Registration::open(shared, session, ctx);
    let limit = shared.settings.limits.recorded_bytes;
    let policy = match &shared.policies {
        None => None,
        Some(policies) => policy_of(policies, &registration, &shared.metrics, ctx),
    };
    match policy {
        None => registration.pre_call(limit, || incoming.chat().prompt(&[])),
        Some(policy) if policy.app_mode == AppMode::Sync => {
            return Err(Box::new(SyncCall {
                incoming,
                registration,
                policy,
            }));
        }
        Some(policy) => registration.pre_call(limit, || incoming.chat().prompt(&roles(&policy))),
    }
    Ok(Forward {
        outgoing: Outgoing {
            body: incoming.body,
            uncoded: false,
        },
        registration,
        transform: Transform::None,
        replace: None,
    })
}

/// Waits for the verdict of a call in sync mode. No upstream connection is opened before it.
pub(super) async fn pre_call(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    call: SyncCall,
) -> Decision {
    let chat = call.incoming.chat();
    let prompt = Captured {
        text: chat.prompt(&roles(&call.policy)),
        incomplete: false,
    };
    let check = Check {
        policy: &call.policy,
        registration: &call.registration,
        record: call.registration.record(Stage::PreCall, prompt),
    };
    match check.run(shared, session, ctx).await {
        Checked::Passed => Decision::Forward(call.forward()),
        Checked::Flagged(finding) => Decision::Block(Box::new(Block {
            stage: Stage::PreCall,
            requested: Requested::of(chat, call.registration.exchange()),
            policy: call.policy,
            finding,
            usage: None,
        })),
        Checked::Unknown => call.unchecked(ctx),
        Checked::KeyRefused => Decision::Refuse(CallError::KeyRefused),
        Checked::ClientGone => call.refuse(CallError::ClientGone),
    }
}

impl SyncCall {
    fn forward(self) -> Forward {
        let replace = self.policy.replace_response.then(|| {
            Box::new(Replace {
                requested: Requested::of(self.incoming.chat(), self.registration.exchange()),
                policy: self.policy.clone(),
            })
        });
        Forward {
            outgoing: Outgoing {
                body: self.incoming.without_stream(),
                uncoded: false,
            },
            registration: self.registration,
            transform: Transform::None,
            replace,
        }
    }

    /// CONTRACT 13: the policy says whether a call goes on without a verdict.
    fn unchecked(mut self, ctx: &mut CallContext) -> Decision {
        match self.policy.on_backend_failure {
            OnBackendFailure::Closed => self.refuse(CallError::Unchecked),
            OnBackendFailure::Open => {
                ctx.detail = Some("unchecked");
                self.registration.goes_unchecked();
                Decision::Forward(self.forward())
            }
        }
    }

    fn refuse(self, error: CallError) -> Decision {
        self.registration.post_call_failed(&error);
        Decision::Refuse(error)
    }
}

/// The policy of the call's application; None for none (CONTRACT 7, 14).
fn policy_of(
    policies: &Policies,
    registration: &Registration,
    metrics: &Metrics,
    ctx: &mut CallContext,
) -> Option<Arc<Policy>> {
    match policies.lookup(registration.application_id()) {
        Found::Policy(policy) => Some(policy),
        Found::NoPolicy => None,
        Found::NeverKnown => {
            ctx.detail = Some("policy_unknown");
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

fn roles(policy: &Policy) -> Vec<json::ScanRole> {
    let roles = policy.scan_roles.iter();
    roles
        .map(|role| match role {
            ScanRole::LastUser => json::ScanRole::LastUser,
            ScanRole::AllUser => json::ScanRole::AllUser,
            ScanRole::System => json::ScanRole::System,
            ScanRole::Assistant => json::ScanRole::Assistant,
            ScanRole::Tool => json::ScanRole::Tool,
        })
        .collect()
}
