//! What is spent of an application's budgets, on its page.

use crate::analysis::records::queries::ApplicationBudgets;
use crate::analysis::records::{BudgetUse, Spending};
use crate::analysis::ui::applications::current::CurrentApplication;
use crate::analysis::ui::layout::components::{badge, number, time_exact};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::phrases::CostPhrases;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::{Budget, BudgetAction, BudgetLevel, BudgetPer, BudgetWindow};

/// Users of one budget, those who spent most.
const SHOWN: usize = 10;

/// The card; nothing where there are no budgets, for those who may not read records, and while the store cannot say.
pub(in crate::analysis::ui::applications) async fn card(current: &CurrentApplication) -> Markup {
    let CurrentApplication {
        services,
        visit,
        stored,
    } = current;
    let policy = stored
        .policy
        .as_ref()
        .and_then(|policy| policy.as_ref().ok());
    let budgets = policy.map(|policy| policy.budgets.clone());
    let budgets = budgets.filter(|budgets| !budgets.is_empty() && visit.may_read());
    let Some(budgets) = budgets else {
        return html! {};
    };
    let of = ApplicationBudgets {
        application: stored.id,
        budgets,
    };
    let most = SHOWN as u32;
    match services.records.budget_uses(&visit.caller, of, most).await {
        Ok(uses) => table(&visit.view, &uses),
        Err(_) => html! {},
    }
}

fn table(view: &View, uses: &[BudgetUse]) -> Markup {
    let c = view.c();
    let table = Table {
        name: c.budgets,
        look: "records",
        columns: [
            Column::Text(c.budget),
            Column::Text(view.r().user),
            Column::Number(c.budget_spent),
            Column::Text(c.budget_state),
            Column::Text(c.budget_until),
        ],
    };
    let rows = html! {
        @for used in uses {
            @let most = used.highest(SHOWN);
            @if most.is_empty() {
                (table.row([name(c, &used.budget), html! {}, html! { (c.nothing_spent) }, html! {}, time_exact(used.until_ms)]))
            }
            @for spending in most {
                (table.row([
                    name(c, &used.budget),
                    who(c, used, spending),
                    spent(&used.budget, spending),
                    level(c, used, spending),
                    time_exact(used.until_ms),
                ]))
            }
        }
    };
    html! { section.card #budget-use { h2 { (c.budgets) } div.table { (table.of(rows)) } } }
}

/// Such as `each user, day: 5 000 tokens`.
fn name(c: &CostPhrases, budget: &Budget) -> Markup {
    let whose = match budget.per {
        BudgetPer::Application => c.whole_application,
        BudgetPer::User => c.each_user,
    };
    let window = match budget.window {
        BudgetWindow::Minute => c.minute,
        BudgetWindow::Day => c.day,
        BudgetWindow::Month => c.month,
    };
    html! {
        (whose) ", " (window) ": "
        @match (budget.tokens, budget.cost) {
            (Some(tokens), _) => { (number(tokens)) " " (c.tokens) },
            (None, Some(cost)) => { (cost) },
            (None, None) => {},
        }
    }
}

fn who(c: &CostPhrases, used: &BudgetUse, spending: &Spending) -> Markup {
    match (used.budget.per, spending.user.as_str()) {
        (BudgetPer::Application, _) => html! {},
        (BudgetPer::User, "") => html! { span.dim { (c.no_user) } },
        (BudgetPer::User, user) => html! { span.cut title=(user) { (user) } },
    }
}

fn spent(budget: &Budget, spending: &Spending) -> Markup {
    html! {
        @if budget.tokens.is_some() { (number(spending.tokens)) } @else {
            @for (currency, cost) in &spending.costs { div { (cost) " " (currency) } }
        }
    }
}

fn level(c: &CostPhrases, used: &BudgetUse, spending: &Spending) -> Markup {
    match (spending.level(&used.budget), used.budget.action) {
        (BudgetLevel::Within, _) => badge("good", c.budget_left),
        (BudgetLevel::Warned, _) => badge("warn", c.budget_near),
        (BudgetLevel::Spent, BudgetAction::Warn) => badge("warn", c.budget_used_up),
        (BudgetLevel::Spent, BudgetAction::Stop) => badge("bad", c.budget_used_up),
    }
}
