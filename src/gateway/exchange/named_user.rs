//! The user whom a body names, where its API has a place for that and the call has no X-User-Id.

use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::limits::budget;
use crate::observe::clock::calendar_ms;
use crate::policy::{BudgetVerdict, BudgetsOf};
use monitor_model::stored_id;
use monitor_wire::json::Request;
use monitor_wire::protocol::Protocol;
use pingora_core::protocols::http::ServerSession;

/// The user as a record has it.
pub(super) fn of(protocol: &dyn Protocol, request: Request<'_>) -> Option<String> {
    let user = protocol.user(request)?;
    Some(stored_id(&user).into_owned())
}

/// Refuses a call where a budget of the user is spent whom only its body can name, or notes the warning for its answer.
/// The budgets of its application have let it pass before the body was read.
///
/// # Errors
/// [`CallError::OverBudget`], which is counted here.
pub(super) fn check_budgets(
    session: &ServerSession,
    ctx: &mut CallContext,
    request: Request<'_>,
) -> Result<(), CallError> {
    let sent = &session.req_header().headers;
    let is_named_here = ctx.protocol.names_user() && headers::user_id(sent).is_none();
    let policies = ctx.policies.as_ref().filter(|_| is_named_here);
    let Some(policies) = policies.filter(|policies| policies.has_spent_budgets()) else {
        return Ok(());
    };
    let now_ms = calendar_ms();
    let application = || ctx.application_id(headers::application_id(sent));
    let whose = || BudgetsOf::User(of(ctx.protocol, request).unwrap_or_default());
    let Some(found) = policies.budget_verdict(application, whose, now_ms) else {
        return Ok(());
    };
    // An answer warns about one budget.
    let is_second = ctx.budget.is_some() && matches!(found.verdict, BudgetVerdict::Warn(_));
    if !is_second {
        ctx.budget = Some(budget::pass(found, now_ms, &ctx.snapshot.metrics)?);
    }
    Ok(())
}
