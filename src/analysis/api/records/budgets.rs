//! `GET /applications/{id}/budgets`: what is spent of the budgets of an application's policy, in the windows of now.

use crate::analysis::BodyMemory;
use crate::analysis::api::extract::{Api, PathId, RecordReader, count_for};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::records::queries::ApplicationBudgets;
use crate::analysis::records::{BudgetUse, Spending};
use axum::extract::State;
use axum::http::{Extensions, StatusCode};
use monitor_model::{Amount, ApplicationId, Budget, BudgetLevel};
use serde::Serialize;
use utoipa::ToSchema;

/// Those who spent most of a budget.
const LISTED: usize = 100;
/// One more says that there are more.
const READ: u32 = 101;
/// Memory of one user beside the name, and of the name in the answer.
const ENTRY: usize = 512;

#[derive(Serialize, ToSchema)]
#[schema(as = BudgetUses)]
struct List<'a> {
    budgets: Vec<Item<'a>>,
}

/// A budget in its present window.
#[derive(Serialize, ToSchema)]
#[schema(as = BudgetUse)]
struct Item<'a> {
    budget: Budget,
    /// The end of the window, milliseconds since 1970.
    until_ms: i64,
    /// The application, or the hundred users who have spent most.
    spending: Vec<Spent<'a>>,
    /// There are more users.
    truncated: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BudgetSpending)]
struct Spent<'a> {
    /// Null for the application, and for calls without a user.
    user_id: Option<&'a str>,
    /// Of requests and answers.
    tokens: u64,
    /// What the calls that have a price cost, by currency. A budget counts that of the price table only.
    costs: Vec<Cost<'a>>,
    level: BudgetLevel,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BudgetCost)]
struct Cost<'a> {
    #[schema(value_type = String)]
    cost: Amount,
    currency: &'a str,
}

/// Show what is spent of an application's budgets
///
/// The budgets of the policy in force, each in its present window. Scope: read or read_cleaned.
#[utoipa::path(
    get,
    path = "/applications/{id}/budgets",
    operation_id = "getBudgets",
    tag = "applications",
    params(schemas::ApplicationPath),
    responses((status = 200, description = "Every budget of the policy in force.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    RecordReader(caller): RecordReader,
    PathId(id): PathId<ApplicationId>,
    extensions: Extensions,
) -> Outcome {
    let application = services.admin.find_application(&caller, id).await?;
    let budgets = application.policy.and_then(Result::ok);
    let budgets = budgets.map(|policy| policy.budgets).unwrap_or_default();
    let of = ApplicationBudgets {
        application: id,
        budgets,
    };
    let uses = services
        .records
        .budget_uses_in_turn(&caller, of, READ)
        .await?;
    count_for(&caller, &extensions);
    if let Some(memory) = extensions.get::<BodyMemory>() {
        memory.grow(bytes(&uses)).await?;
    }
    let list = List {
        budgets: uses.iter().map(Item::of).collect(),
    };
    response::unstored(StatusCode::OK, &list)
}

/// What they take, until the answer is written.
fn bytes(uses: &[BudgetUse]) -> usize {
    let spending = uses.iter().flat_map(|used| &used.spending);
    spending.map(|one| ENTRY + 2 * one.user.len()).sum()
}

impl<'a> Item<'a> {
    fn of(used: &'a BudgetUse) -> Self {
        let most = used.highest(LISTED);
        Self {
            budget: used.budget,
            until_ms: used.until_ms,
            truncated: most.len() < used.spending.len(),
            spending: most
                .into_iter()
                .map(|one| Spent::of(one, &used.budget))
                .collect(),
        }
    }
}

impl<'a> Spent<'a> {
    fn of(spending: &'a Spending, budget: &Budget) -> Self {
        let costs = spending.costs.iter();
        Self {
            user_id: Some(spending.user.as_str()).filter(|user| !user.is_empty()),
            tokens: spending.tokens,
            costs: costs
                .map(|(currency, cost)| Cost {
                    cost: *cost,
                    currency,
                })
                .collect(),
            level: spending.level(budget),
        }
    }
}
