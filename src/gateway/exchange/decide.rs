//! What becomes of a call before its upstream call (§1.3, §1.5, §3, CONTRACT 11 to 14): forwarded at
//! once, forwarded after its check, blocked, or refused. The check itself stands in `check`.

use super::block::{Block, Requested};
use super::call::Outgoing;
use super::capture::Captured;
use super::check::{Check, Checked, no_verdict};
use super::hold_back::HoldBack;
use super::read::Body;
use super::record::Registration;
use super::redact::Redaction;
use super::replace::Replace;
use super::restored::Restore;
use super::transform::Transform;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::observe::events::{PromptRedacted, Unchecked};
use crate::observe::{Metrics, UncheckedReason};
use crate::policy::{Found, Policies};
use monitor_model::{AppMode, OnBackendFailure, Policy, ScanRole, Stage, StreamInSync};
use monitor_wire::json::{self, Chat, Edit, Scan};
use pingora_core::protocols::http::ServerSession;
use std::ops::Range;
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
    pub(super) after: After,
}

/// What becomes of the answer.
pub(super) enum After {
    /// It is passed on as it comes, through what stands between.
    Relay(Transform),
    /// It gets back the values that the prompt lost on its way up (CONTRACT 41).
    Restore(Box<Restore>),
    /// It is checked before the client gets it (CONTRACT 15).
    Replace(Box<Replace>),
}

impl After {
    /// Whether the answer is held until the backend has checked it.
    fn is_checked(&self) -> bool {
        matches!(self, Self::Replace(_))
    }

    /// The same answer without its check.
    fn unchecked(self) -> Self {
        match self {
            Self::Replace(replace) => match replace.restore {
                Some(restore) => Self::Restore(Box::new(restore)),
                None => Self::Relay(Transform::None),
            },
            other => other,
        }
    }
}

/// A request body that passed the grammar check.
pub(super) struct Incoming {
    pub(super) body: Body,
    pub(super) scan: Scan,
}

/// How a call goes on once its policy is known.
pub(super) enum Admission {
    /// No policy, or async mode: the upstream is called at once.
    Forward(Forward),
    /// Sync mode: [`pre_call`] has to await the verdict first.
    AwaitVerdict(Box<SyncCall>),
}

/// A call that waits for its verdict.
pub(super) struct SyncCall {
    incoming: Incoming,
    registration: Registration,
    policy: Arc<Policy>,
}

impl Incoming {
    fn chat(&self) -> Chat<'_> {
        Chat::read(&self.body.bytes, &self.scan)
    }

    /// What goes to the upstream, and what brings back that which does not (CONTRACT 41). `off` are
    /// the literals that ask for a stream nobody gets. The same bytes where nothing has to change.
    fn leave(
        self,
        shared: &Shared,
        policy: &Policy,
        off: Vec<Range<usize>>,
    ) -> (Outgoing, Option<Restore>) {
        let chat = self.chat();
        let off = off.into_iter().map(|span| (span, b"false".to_vec()));
        let mut edits: Vec<Edit<Vec<u8>>> = off.collect();
        let inspector = shared.inspector.as_deref();
        let redacted = inspector.filter(|_| policy.redact_upstream);
        let redacted = redacted.and_then(|inspector| {
            let redaction = Redaction {
                inspector,
                patterns: policy.local_patterns(),
            };
            redaction.redact(&self.body.bytes, &chat.prompt_literals(&roles(policy)))
        });
        let restore = redacted.map(|redacted| {
            PromptRedacted.emit(&shared.metrics);
            edits.extend(redacted.edits);
            Restore {
                placeholders: redacted.placeholders,
            }
        });
        edits.sort_by_key(|(span, _)| span.start);
        let mut body = self.body;
        if !edits.is_empty() {
            body.bytes = json::replace_spans(&body.bytes, &edits).into();
        }
        let uncoded = restore.is_some();
        let outgoing = Outgoing {
            body,
            uncoded,
            keeps_body: false,
        };
        (outgoing, restore)
    }
}

/// Looks the call's policy up. The prompt of an async call is registered here; that of a sync call by its
/// check.
pub(super) fn admit(
    shared: &Shared,
    session: &ServerSession,
    ctx: &mut CallContext,
    incoming: Incoming,
) -> Admission {
    let mut registration = Registration::open(shared, session, ctx);
    let limit = shared.settings.limits.recorded_bytes;
    let policy = match &shared.policies {
        None => None,
        Some(policies) => policy_of(policies, &mut registration, &shared.metrics, ctx),
    };
    let (outgoing, restore) = match policy {
        None => {
            registration.pre_call(limit, || incoming.chat().prompt(&[]));
            (Outgoing::as_it_is(incoming.body), None)
        }
        Some(policy) if policy.app_mode == AppMode::Sync => {
            ctx.waits_for_verdicts();
            return Admission::AwaitVerdict(Box::new(SyncCall {
                incoming,
                registration,
                policy,
            }));
        }
        Some(policy) => {
            registration.pre_call(limit, || incoming.chat().prompt(&roles(&policy)));
            incoming.leave(shared, &policy, Vec::new())
        }
    };
    Admission::Forward(Forward {
        outgoing,
        registration,
        after: match restore {
            None => After::Relay(Transform::None),
            Some(restore) => After::Restore(Box::new(restore)),
        },
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
        heard: None,
    };
    let check = Check {
        policy: &call.policy,
        registration: &call.registration,
        record: call.registration.record(Stage::PreCall, prompt),
    };
    match check.run(shared, session, ctx).await {
        Checked::Passed => Decision::Forward(call.forward(shared)),
        Checked::Flagged(finding) => Decision::Block(Box::new(Block {
            stage: Stage::PreCall,
            requested: Requested::of(chat, call.registration.exchange()),
            policy: call.policy,
            finding,
            usage: None,
        })),
        Checked::Unknown => call.unchecked(shared, ctx),
        Checked::Late => call.late(shared, ctx),
        Checked::KeyRefused => Decision::Refuse(CallError::KeyRefused),
        Checked::ClientGone => call.refuse(CallError::ClientGone),
    }
}

impl SyncCall {
    fn forward(self, shared: &Shared) -> Forward {
        let transform = self.transform(shared);
        let chat = self.incoming.chat();
        let replaces = self.policy.replace_response;
        let requested = replaces.then(|| Requested::of(chat, self.registration.exchange()));
        let off = match transform {
            Transform::HoldBack(_) => Vec::new(),
            // CONTRACT 2.
            _ => chat.stream_true_spans(),
        };
        let (mut outgoing, restore) = self.incoming.leave(shared, &self.policy, off);
        outgoing.uncoded |= matches!(transform, Transform::HoldBack(_));
        let after = match (requested, restore) {
            (Some(requested), restore) => After::Replace(Box::new(Replace {
                requested,
                policy: self.policy,
                restore,
            })),
            (None, Some(restore)) => After::Restore(Box::new(restore)),
            (None, None) => After::Relay(transform),
        };
        Forward {
            outgoing,
            registration: self.registration,
            after,
        }
    }

    /// A stream stays one only where it is asked for and can be checked on its way (CONTRACT 41).
    fn transform(&self, shared: &Shared) -> Transform {
        let held = self.policy.stream_in_sync == StreamInSync::HoldBack;
        let asked = held && !self.incoming.chat().stream_true_spans().is_empty();
        let held = asked.then(|| HoldBack::new(shared, &self.policy)).flatten();
        held.map_or(Transform::None, |held| Transform::HoldBack(Box::new(held)))
    }

    /// CONTRACT 13: the policy says whether a call goes on without a verdict.
    fn unchecked(mut self, shared: &Shared, ctx: &mut CallContext) -> Decision {
        match self.policy.on_backend_failure {
            OnBackendFailure::Closed => self.refuse(CallError::Unchecked),
            OnBackendFailure::Open => {
                ctx.detail = Some("unchecked");
                self.registration.goes_unchecked();
                Decision::Forward(self.forward(shared))
            }
        }
    }

    /// The client has waited MONITOR_TIMEOUT once: its answer is not held for another check that the
    /// backend would let it wait for, but registered as in async mode.
    fn late(self, shared: &Shared, ctx: &mut CallContext) -> Decision {
        let policy = self.policy.clone();
        match self.unchecked(shared, ctx) {
            Decision::Forward(mut call) if call.after.is_checked() => {
                call.after = call.after.unchecked();
                let detail = "the check of the prompt was too late to hold the answer for one";
                let reason = UncheckedReason::Unavailable;
                no_verdict(&shared.metrics, &policy, reason, detail);
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

/// The policy of the call's application; None for none (CONTRACT 7, 14).
fn policy_of(
    policies: &Policies,
    registration: &mut Registration,
    metrics: &Metrics,
    ctx: &mut CallContext,
) -> Option<Arc<Policy>> {
    match policies.lookup(registration.application_id()) {
        Found::Policy(policy) => Some(policy),
        Found::NoPolicy => None,
        Found::NeverKnown => {
            ctx.detail = Some("policy_unknown");
            registration.goes_unchecked();
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
