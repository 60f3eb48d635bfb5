//! The budgets of an application and its users (`budgets` of its policy). The analysis server counts what is spent;
//! here a call is refused or warned, before anything of its body is read where that cannot name the user.

use crate::gateway::error::CallError;
use crate::observe::events::{BudgetRefused, BudgetWarned};
use crate::observe::{BudgetLabel, Metrics};
use crate::policy::{BudgetVerdict, Budgeted};
use monitor_model::{Budget, BudgetPer, BudgetWindow};

/// Lets a call pass, with the budget that its answer warns about.
///
/// # Errors
/// [`CallError::OverBudget`], counted, when a budget is spent.
pub(crate) fn pass(
    budgeted: Budgeted,
    now_ms: i64,
    metrics: &Metrics,
) -> Result<BudgetLabel, CallError> {
    match budgeted.verdict {
        BudgetVerdict::Warn(budget) => {
            let budget = label(budget);
            BudgetWarned { budget }.emit(metrics);
            Ok(budget)
        }
        BudgetVerdict::Refuse { budget, until_ms } => {
            BudgetRefused {
                budget: label(budget),
                application: &budgeted.id,
            }
            .emit(metrics);
            let left = u64::try_from(until_ms.saturating_sub(now_ms)).unwrap_or_default();
            Err(CallError::OverBudget {
                budget,
                left: left.div_ceil(1_000).max(1),
            })
        }
    }
}

fn label(budget: Budget) -> BudgetLabel {
    match (budget.per, budget.window) {
        (BudgetPer::Application, BudgetWindow::Minute) => BudgetLabel::ApplicationMinute,
        (BudgetPer::Application, BudgetWindow::Day) => BudgetLabel::ApplicationDay,
        (BudgetPer::Application, BudgetWindow::Month) => BudgetLabel::ApplicationMonth,
        (BudgetPer::User, BudgetWindow::Minute) => BudgetLabel::UserMinute,
        (BudgetPer::User, BudgetWindow::Day) => BudgetLabel::UserDay,
        (BudgetPer::User, BudgetWindow::Month) => BudgetLabel::UserMonth,
    }
}
