//! A call that has the tokens of a prompt counted, of an application in async mode whose prompts are redacted
//! (`redact_upstream`, CONTRACT 41): programs count the prompt that they are about to send. The answer is a number, and
//! nothing is registered, as without redaction.

use super::answer_handling::AnswerHandling;
use super::decide::{Forward, ParsedBody};
use super::record::Registration;
use super::scan_roles::{call_texts, roles};
use super::verdict::report_unchecked;
use crate::gateway::context::CallContext;
use crate::gateway::headers;
use crate::gateway::state::Snapshot;
use crate::observe::UncheckedReason;
use crate::policy::Found;
use monitor_model::Policy;
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;

/// The policy of the call's application, where it has prompts redacted.
pub(crate) fn redacting_policy(session: &ServerSession, ctx: &CallContext) -> Option<Arc<Policy>> {
    let named = headers::application_id(&session.req_header().headers);
    let application = ctx.application_id(named);
    match ctx.policies.as_ref()?.lookup(application.as_deref()) {
        Found::Policy(policy) if policy.redact_upstream => Some(policy),
        _ => None,
    }
}

/// Redacts the prompt. One that cannot be read as a whole goes on, counted, as the call itself does.
pub(super) fn forward(
    snapshot: &Snapshot,
    ctx: &mut CallContext,
    mut parsed: ParsedBody,
    policy: &Policy,
) -> Forward {
    parsed.calls = call_texts(policy);
    let prompt = parsed.request().prompt(&roles(policy));
    if prompt.has_unreadable || !parsed.is_redacted_whole(snapshot, policy) {
        let detail =
            "the prompt to count is not readable as a whole, so not all of it can be redacted";
        let reason = UncheckedReason::Unreadable;
        report_unchecked(&snapshot.metrics, policy, reason, detail);
        ctx.detail = Some("unchecked");
    }
    let (request, _) = parsed.into_request(snapshot, policy, Vec::new());
    Forward {
        request,
        registration: Registration::none(),
        handling: AnswerHandling::Relay(None),
    }
}
