//! What is spent of budgets. There are no counters of their own: a day and a month have the sums of costs, which every
//! record is counted in once, and a minute has its records.

use monitor_model::{
    Amount, ApplicationId, Budget, BudgetLevel, BudgetPer, BudgetState, BudgetWindow,
};
use monitor_store::{
    CostSum, OTHER_NAMES, SpendingFilter, SpendingSpan, SpentUnit, StatisticsStore, StoreError,
    TopSpenders,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const DAY_MS: i64 = 86_400_000;
/// The most users that gateways are told of in one budget. Clients choose names.
const MOST_NAMED: usize = 10_000;
/// The most users who are counted: one more says that there are more.
const MOST_COUNTED: u32 = 10_001;
/// The most bytes that their names have as JSON, in all budgets of an application. Every gateway reads each change.
const MOST_NAMED_BYTES: usize = 512 << 10;
/// Units of one of a currency.
const ONE: f64 = 1e12;
/// Databases may sum up a little less than there is; those who have spent less than the budget are left out here.
const NEARLY: f64 = 1.0 - 1e-9;

/// A budget in the window of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BudgetUse {
    pub(crate) budget: Budget,
    /// The end of the window, milliseconds since 1970.
    pub(crate) until_ms: i64,
    /// Who has spent something, or those of them who were asked for, ordered by name; the application has none.
    pub(crate) spending: Vec<Spending>,
}

/// What an application or one of its users has spent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    /// Empty for the application, and for calls without a user.
    pub(crate) user: String,
    /// Of requests and answers.
    pub(crate) tokens: u64,
    /// By currency: a change of prices may bring another one.
    pub(crate) costs: BTreeMap<String, Amount>,
    /// That in the currency of the price table, which alone counts: no budget is an amount of another one.
    pub(crate) cost: Amount,
}

/// What budgets are counted for.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// A moment in their windows, milliseconds since 1970.
    pub(crate) now_ms: i64,
    /// The currency of the price table; empty without prices.
    pub(crate) currency: String,
    /// In budgets of each user.
    pub(crate) users: Users,
}

/// Whose spending is looked at in a budget of each user. The database leaves out all others, since clients choose the
/// names of users in any number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Users {
    /// Those whose calls are warned or refused: as many as gateways are told of, and one more.
    Reached,
    /// Those who have spent most, so many at most.
    Highest(u32),
}

/// What is spent of each of these budgets.
pub(crate) async fn uses(
    statistics: &dyn StatisticsStore,
    application: ApplicationId,
    budgets: &[Budget],
    terms: &Terms,
) -> Result<Vec<BudgetUse>, StoreError> {
    let mut uses = Vec::with_capacity(budgets.len());
    for budget in budgets {
        uses.push(used(statistics, application, *budget, terms).await?);
    }
    Ok(uses)
}

/// Whom gateways are told of in each of these budgets, and how many more there are at least.
pub(super) async fn states(
    statistics: &dyn StatisticsStore,
    application: ApplicationId,
    budgets: &[Budget],
    terms: &Terms,
) -> Result<(Vec<BudgetState>, usize), StoreError> {
    let of_users = budgets.iter().filter(|it| it.per == BudgetPer::User);
    let most_bytes = MOST_NAMED_BYTES / of_users.count().max(1);
    let (mut states, mut unnamed) = (Vec::new(), 0);
    for budget in budgets {
        let used = used(statistics, application, *budget, terms).await?;
        if let Some((state, more)) = used.state(most_bytes) {
            states.push(state);
            unnamed += more;
        }
    }
    Ok((states, unnamed))
}

/// What is spent of a budget.
async fn used(
    statistics: &dyn StatisticsStore,
    application: ApplicationId,
    budget: Budget,
    terms: &Terms,
) -> Result<BudgetUse, StoreError> {
    let (from_ms, until_ms) = budget.window.around(terms.now_ms);
    let filter = SpendingFilter {
        application_id: application,
        span: match budget.window {
            BudgetWindow::Minute => SpendingSpan::Records((from_ms, until_ms)),
            BudgetWindow::Day | BudgetWindow::Month => {
                SpendingSpan::Days((from_ms / DAY_MS, until_ms / DAY_MS - 1))
            }
        },
        users: (budget.per == BudgetPer::User).then(|| top_spenders(&budget, terms)),
    };
    let sums = statistics.spending(&filter).await?;
    Ok(BudgetUse {
        budget,
        until_ms,
        spending: by_user(sums, &terms.currency),
    })
}

fn top_spenders(budget: &Budget, terms: &Terms) -> TopSpenders {
    let warned = f64::from(budget.warn_at) / 100.0 * NEARLY;
    let cost = budget.cost.unwrap_or_default();
    let (unit, limit) = match budget.tokens {
        Some(tokens) => (SpentUnit::Tokens, tokens as f64),
        None => {
            let currency = terms.currency.clone();
            let whole = cost.units() as f64 / ONE;
            (SpentUnit::Money { currency }, whole)
        }
    };
    let (at_least, most) = match terms.users {
        Users::Reached => (limit * warned, MOST_COUNTED),
        Users::Highest(most) => (0.0, most),
    };
    TopSpenders {
        unit,
        at_least,
        most,
    }
}

/// Calls whose model has no price, or one in another currency than this one, count with their tokens only.
fn by_user(sums: Vec<CostSum>, counted: &str) -> Vec<Spending> {
    let mut found = BTreeMap::<String, Spending>::new();
    for sum in sums {
        let user = sum.user_id.unwrap_or_default();
        let spending = found.entry(user).or_default();
        let tokens = sum.tokens.prompt.saturating_add(sum.tokens.completion);
        spending.tokens = spending.tokens.saturating_add(tokens);
        if let (Some(amount), Some(currency)) = (sum.amount, sum.currency) {
            if currency == counted {
                spending.cost = spending.cost.plus(amount);
            }
            let cost = spending.costs.entry(currency).or_default();
            *cost = cost.plus(amount);
        }
    }
    let named = found.into_iter();
    named
        .map(|(user, spending)| Spending { user, ..spending })
        .collect()
}

impl Spending {
    /// How much of the budget that is.
    pub(crate) fn level(&self, budget: &Budget) -> BudgetLevel {
        budget.level(self.tokens, self.cost)
    }
}

impl BudgetUse {
    /// Those who have spent most of it, at most so many.
    pub(crate) fn highest(&self, most: usize) -> Vec<&Spending> {
        let mut all: Vec<_> = self.spending.iter().collect();
        all.sort_by_key(|one| Reverse(self.spent(one)));
        all.truncate(most);
        all
    }

    /// How much of it that is, in percent.
    pub(crate) fn percent(&self, one: &Spending) -> u64 {
        let limit = match (self.budget.tokens, self.budget.cost) {
            (Some(tokens), _) => tokens.into(),
            (None, Some(cost)) => cost.units(),
            (None, None) => return 0,
        };
        let percent = self.spent(one).max(0).saturating_mul(100) / limit.max(1);
        u64::try_from(percent).unwrap_or(u64::MAX)
    }

    /// What counts of it here: tokens, or units of money.
    fn spent(&self, one: &Spending) -> i128 {
        match self.budget.tokens {
            Some(_) => one.tokens.into(),
            None => one.cost.units(),
        }
    }

    /// Whether this is a user, and not those that the sums of a day do not tell apart. A user of that name is not told
    /// apart from them either.
    pub(crate) fn is_known(&self, one: &Spending) -> bool {
        let has_names = self.budget.window == BudgetWindow::Minute;
        has_names || one.user != OTHER_NAMES
    }

    /// Those who have spent the budget, or so much of it that their calls are warned; those who have spent most first.
    fn reached(&self) -> Vec<(&Spending, BudgetLevel)> {
        let leveled = self.spending.iter();
        let leveled = leveled.map(|one| (one, one.level(&self.budget)));
        let reached =
            leveled.filter(|(one, level)| *level != BudgetLevel::Within && self.is_known(one));
        let mut reached: Vec<_> = reached.collect();
        reached.sort_by_key(|(one, _)| Reverse(self.spent(one)));
        reached
    }

    /// Whom gateways warn or refuse, with names of so many bytes; None for nobody. With how many more there are.
    fn state(&self, most_bytes: usize) -> Option<(BudgetState, usize)> {
        let mut reached = self.reached();
        let mut bytes = 0;
        let first = reached.iter().take(MOST_NAMED);
        let fits = first.take_while(|(one, _)| {
            bytes += bytes_in_json(&one.user);
            bytes <= most_bytes
        });
        let named = fits.count();
        let unnamed = reached.len() - named;
        reached.truncate(named);
        let of_level = |level: BudgetLevel| -> Vec<String> {
            let of_level = reached.iter().filter(|(_, its)| *its == level);
            let mut names: Vec<_> = of_level.map(|(one, _)| one.user.clone()).collect();
            names.sort_unstable();
            names
        };
        let state = BudgetState {
            budget: self.budget,
            until_ms: self.until_ms,
            spent: of_level(BudgetLevel::Spent),
            warned: of_level(BudgetLevel::Warned),
        };
        (named + unnamed > 0).then_some((state, unnamed))
    }
}

/// What a name takes in a list.
fn bytes_in_json(name: &str) -> usize {
    let escaped = name.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\t' | b'\n' | b'\r' | 8 | 12 => 2,
        ..=31 => 6,
        _ => 1,
    });
    // The quotes and the comma.
    escaped.sum::<usize>() + 3
}

#[cfg(test)]
mod tests;
