//! What is spent of budgets, for rules about it: of one application, or of those of which the count of this process says
//! that somebody has spent the share that warns. So no look reads the sums of every application.

use super::changes::{Finding, MOST_GROUPS};
use super::evaluate::{BudgetSources, Evaluator};
use super::message::{Facts, records_path};
use super::rule::Rule;
use crate::analysis::budgets::spending::{self, BudgetUse, Spending, Terms, Users};
use monitor_model::{ApplicationId, Budget, BudgetPer, BudgetWindow};
use monitor_store::StoreError;

/// The users of a budget who are looked at: as many as a rule has alerts.
const MOST_USERS: u32 = 100;

impl BudgetSources {
    /// The applications that a rule may find something of.
    fn applications(&self, rule: &Rule) -> Vec<ApplicationId> {
        if let Some(id) = rule.application_id {
            return vec![id];
        }
        let spent = self.board.subscribe().borrow().clone();
        let mut ids: Vec<_> = spent.keys().copied().collect();
        // The same ones at every look.
        ids.sort_unstable_by_key(|id| id.0);
        ids.truncate(MOST_GROUPS);
        ids
    }
}

impl Evaluator {
    /// Whoever has spent the share.
    pub(super) async fn budgets(&self, rule: &Rule) -> Result<Vec<Finding>, StoreError> {
        let terms = Terms {
            users: Users::Highest(MOST_USERS),
            ..self.budgets.board.terms()
        };
        let mut found = Vec::new();
        for id in self.budgets.applications(rule) {
            let budgets = self.budgets_in_force(id).await?;
            let uses = spending::uses(&*self.statistics, id, &budgets, &terms).await?;
            let look = BudgetLook {
                rule,
                application: id,
                terms: &terms,
            };
            for used in &uses {
                found.extend(look.reached(used));
            }
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.facts.count));
        found.truncate(MOST_GROUPS);
        Ok(found)
    }

    /// None of an application that does not exist, or whose policy cannot be read.
    async fn budgets_in_force(&self, id: ApplicationId) -> Result<Vec<Budget>, StoreError> {
        let Some(application) = self.applications.application(id).await? else {
            return Ok(Vec::new());
        };
        let application = self.budgets.file_policies.in_force(application);
        let policy = application.policy.and_then(Result::ok);
        Ok(policy.map(|policy| policy.budgets).unwrap_or_default())
    }
}

/// A look at the budgets of an application.
struct BudgetLook<'a> {
    rule: &'a Rule,
    application: ApplicationId,
    terms: &'a Terms,
}

impl BudgetLook<'_> {
    /// Whoever has spent so much of this budget.
    fn reached(&self, used: &BudgetUse) -> Vec<Finding> {
        let highest = used.highest(MOST_GROUPS).into_iter();
        let reached = highest
            .filter(|one| used.is_known(one) && used.percent(one) >= self.rule.threshold)
            .map(|one| self.finding(used, one));
        reached.collect()
    }

    fn finding(&self, used: &BudgetUse, one: &Spending) -> Finding {
        let budget = &used.budget;
        let words = words(budget, &self.terms.currency);
        let user = Some(one.user.clone()).filter(|user| !user.is_empty());
        let shown = user.clone().filter(|_| self.rule.include_user);
        let named = [("user_id", shown.as_deref()), ("type", None)];
        let (from_ms, _) = budget.window.around(self.terms.now_ms);
        let records = records_path(self.rule, Some(self.application), named, from_ms);
        let unit = if budget.tokens.is_some() {
            "tokens"
        } else {
            "money"
        };
        let application = self.application.to_string();
        let parts = [
            application.as_str(),
            budget.per.as_str(),
            budget.window.as_str(),
            unit,
            one.user.as_str(),
        ];
        Finding {
            group: parts.join("\0"),
            application: Some(self.application),
            user,
            facts: Facts {
                user: shown,
                budget: Some(words),
                count: used.percent(one),
                records: Some(records),
                ..Facts::of(self.rule)
            },
        }
    }
}

/// A budget for people, such as `5 EUR a month for each user`.
fn words(budget: &Budget, currency: &str) -> String {
    let limit = match (budget.tokens, budget.cost) {
        (Some(tokens), _) => format!("{tokens} tokens"),
        (None, cost) => format!("{} {currency}", cost.unwrap_or_default()),
    };
    let window = match budget.window {
        BudgetWindow::Minute => "minute",
        BudgetWindow::Day => "day",
        BudgetWindow::Month => "month",
    };
    let whose = match budget.per {
        BudgetPer::Application => "",
        BudgetPer::User => " for each user",
    };
    format!("{limit} a {window}{whose}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn budget(value: serde_json::Value) -> Budget {
        serde_json::from_value(value).unwrap()
    }

    fn spent(user: &str, tokens: u64) -> Spending {
        Spending {
            user: user.to_owned(),
            tokens,
            ..Spending::default()
        }
    }

    #[test]
    fn b10_whoever_has_spent_the_share_is_found_and_named_only_where_the_rule_says_so() {
        let used = BudgetUse {
            budget: budget(
                json!({"per": "user", "window": "day", "tokens": 1_000, "action": "warn"}),
            ),
            until_ms: 0,
            spending: vec![
                spent("anna", 499),
                spent("berta", 500),
                spent("carl", 1_200),
            ],
        };
        let mut rule = Rule {
            name: "Half".to_owned(),
            kind: super::super::rule::RuleKind::Budget,
            threshold: 50,
            ..Rule::default()
        };
        let terms = Terms {
            now_ms: 90_000_000,
            currency: String::new(),
            users: Users::Highest(MOST_USERS),
        };
        let reached = |rule: &Rule| {
            let look = BudgetLook {
                rule,
                application: ApplicationId(uuid::Uuid::nil()),
                terms: &terms,
            };
            look.reached(&used)
        };
        let found = reached(&rule);
        let counts: Vec<_> = found.iter().map(|one| one.facts.count).collect();
        assert_eq!(counts, [120, 50]);
        assert_eq!(found[0].user.as_deref(), Some("carl"));
        assert_eq!(found[0].facts.user, None);
        let sentence = found[0].facts.sentence();
        assert_eq!(
            sentence,
            "120% of a budget is spent: 1000 tokens a day for each user (threshold 50%)"
        );
        let records = found[0].facts.records.as_deref().unwrap();
        assert!(records.ends_with("&from=86400000"), "{records}");
        rule.include_user = true;
        assert_eq!(reached(&rule)[0].facts.user.as_deref(), Some("carl"));
    }

    #[test]
    fn b10_a_budget_is_told_in_words() {
        let month = budget(
            json!({"per": "application", "window": "month", "cost": "5.50", "action": "stop"}),
        );
        assert_eq!(words(&month, "EUR"), "5.5 EUR a month");
    }
}
