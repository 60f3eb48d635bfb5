//! A call of async mode whose application has a policy (CONTRACT 11): its prompt is registered at once, and nothing
//! is awaited. Where the prompt is redacted (CONTRACT 41), it has to be read as a whole.

use super::record::Registration;
use super::verdict::report_unchecked;
use crate::gateway::context::CallContext;
use crate::gateway::state::Snapshot;
use crate::observe::UncheckedReason;
use monitor_model::Policy;
use monitor_wire::json::{Request, ScanRole};

/// What the registration of such a call needs.
pub(super) struct AsyncCall<'a> {
    pub(super) request: Request<'a>,
    pub(super) roles: Vec<ScanRole>,
    /// Whether the redaction that the policy may ask for looks at all of the prompt.
    pub(super) is_redacted_whole: bool,
    pub(super) policy: &'a Policy,
    pub(super) registration: &'a mut Registration,
}

impl AsyncCall<'_> {
    /// Registers the prompt. One that has to be redacted and cannot be read as a whole goes on, counted and marked as
    /// one without a verdict in sync mode is (CONTRACT 13, 41).
    pub(super) fn register(self, snapshot: &Snapshot, ctx: &mut CallContext) {
        let prompt = || self.request.prompt(&self.roles);
        let limit = snapshot.settings.limits.recorded_bytes;
        if !self.policy.redact_upstream {
            return self.registration.pre_call(limit, prompt);
        }
        let prompt = prompt();
        if prompt.has_unreadable || !self.is_redacted_whole {
            let detail = "the prompt is not readable as a whole, so not all of it can be redacted";
            let reason = UncheckedReason::Unreadable;
            report_unchecked(&snapshot.metrics, self.policy, reason, detail);
            ctx.detail = Some("unchecked");
            self.registration.set_unchecked();
        }
        self.registration.pre_call(limit, || prompt);
    }
}
