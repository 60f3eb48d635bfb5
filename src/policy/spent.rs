//! Budgets that are spent, or nearly: the analysis server counts, and a call asks here. What a call spends is counted
//! behind its answer, so that calls in progress together may overshoot.

use monitor_model::{ApplicationId, Budget, BudgetAction, BudgetPer, BudgetState, Policy};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The budgets of applications that calls are warned about or refused for.
pub type SpentBudgets = HashMap<ApplicationId, Vec<BudgetState>>;

/// The oldest count among the applications that have budgets. Of two counts of the same budgets the greater one is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetCount {
    /// None of them has any.
    #[default]
    NoBudgets,
    /// Those of an application were never counted, or nobody knows.
    Never,
    /// When it was, milliseconds since 1970.
    At(i64),
}

impl BudgetCount {
    /// The oldest of the counts of all applications that have budgets; None where one was never counted.
    pub fn oldest(counts: impl Iterator<Item = Option<i64>>) -> Self {
        // None is the least.
        match counts.min() {
            None => Self::NoBudgets,
            Some(oldest) => oldest.map_or(Self::Never, Self::At),
        }
    }

    /// How old it is, in seconds; infinite if there is none, and zero without budgets.
    pub fn age_seconds(self, now: SystemTime) -> f64 {
        match self {
            Self::NoBudgets => 0.0,
            Self::Never => f64::INFINITY,
            Self::At(ms) => {
                let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or_default());
                // The clock of another machine may be ahead.
                now.duration_since(at).unwrap_or_default().as_secs_f64()
            }
        }
    }
}

/// What the budgets of its application mean for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetVerdict {
    /// It goes on, and its answer says so.
    Warn(Budget),
    /// It is refused.
    Refuse {
        /// The budget that is spent.
        budget: Budget,
        /// When nothing of it is spent any more, milliseconds since 1970.
        until_ms: i64,
    },
}

/// A call that a budget of its application says something of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgeted {
    /// The application of the call.
    pub id: ApplicationId,
    /// What it says.
    pub verdict: BudgetVerdict,
}

/// Whose budgets a call is looked up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetsOf {
    /// Those of the application and of this user, empty for none.
    All(String),
    /// Those of the application: who the user is will be known later.
    Application,
    /// Those of this user, empty for none: the application's were looked up before.
    User(String),
}

impl BudgetsOf {
    /// The name that budgets count it by; None where those are not looked up.
    fn name(&self, per: BudgetPer) -> Option<&str> {
        match (per, self) {
            (BudgetPer::Application, Self::All(_) | Self::Application) => Some(""),
            (BudgetPer::User, Self::All(user) | Self::User(user)) => Some(user),
            (BudgetPer::Application, Self::User(_)) | (BudgetPer::User, Self::Application) => None,
        }
    }
}

/// The verdict on a call. A state counts until its window ends: whoever has spent a budget
/// has spent it as long as the policy does not have a higher one in its place, and warnings are for the same budget. Of
/// several that are spent the one which lasts longest is named, and of those that warn the first.
pub(super) fn verdict(
    policy: &Policy,
    states: &[BudgetState],
    whose: &BudgetsOf,
    now_ms: i64,
) -> Option<BudgetVerdict> {
    let mut warned = None;
    let mut refused: Option<(Budget, i64)> = None;
    for state in states.iter().filter(|state| state.until_ms > now_ms) {
        let mut own = policy.budgets.iter();
        let Some(own) = own.find(|own| own.is_spent_with(state.budget)) else {
            continue;
        };
        let Some(who) = whose.name(own.per) else {
            continue;
        };
        let is_spent = is_among(&state.spent, who);
        let is_warned = *own == state.budget && is_among(&state.warned, who);
        if is_spent && own.action == BudgetAction::Stop {
            if refused.is_none_or(|(_, until_ms)| state.until_ms > until_ms) {
                refused = Some((*own, state.until_ms));
            }
        } else if is_spent || is_warned {
            warned = warned.or(Some(*own));
        }
    }
    let refuse = |(budget, until_ms)| BudgetVerdict::Refuse { budget, until_ms };
    refused.map(refuse).or(warned.map(BudgetVerdict::Warn))
}

/// Whether the sorted list has this name.
fn is_among(names: &[String], name: &str) -> bool {
    names.binary_search_by(|one| one.as_str().cmp(name)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::{AppMode, BudgetWindow};

    fn verdict(
        policy: &Policy,
        states: &[BudgetState],
        user: &str,
        now_ms: i64,
    ) -> Option<BudgetVerdict> {
        super::verdict(policy, states, &BudgetsOf::All(user.to_owned()), now_ms)
    }

    fn budget(per: BudgetPer, action: BudgetAction) -> Budget {
        Budget {
            per,
            window: BudgetWindow::Minute,
            tokens: Some(100),
            cost: None,
            action,
            warn_at: 80,
        }
    }

    fn state(budget: Budget, spent: &[&str], warned: &[&str]) -> BudgetState {
        let names =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        BudgetState {
            budget,
            until_ms: 60_000,
            spent: names(spent),
            warned: names(warned),
        }
    }

    fn policy(budgets: &[Budget]) -> Policy {
        Policy {
            budgets: budgets.to_vec(),
            ..Policy::new(AppMode::Async, "")
        }
    }

    #[test]
    fn the_oldest_count_says_how_old_what_is_known_of_budgets_is() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        for (counts, expected) in [
            (vec![], 0.0),
            (vec![Some(99_000)], 1.0),
            (vec![Some(99_000), Some(40_500)], 59.5),
            (vec![Some(99_000), None], f64::INFINITY),
            // Of a clock that is ahead.
            (vec![Some(101_000)], 0.0),
        ] {
            let age = BudgetCount::oldest(counts.iter().copied()).age_seconds(now);
            assert_eq!(age.to_bits(), f64::to_bits(expected), "{counts:?}");
        }
        let newer = BudgetCount::At(2).max(BudgetCount::At(1));
        assert_eq!(newer.max(BudgetCount::Never), BudgetCount::At(2));
        assert_eq!(
            BudgetCount::Never.max(BudgetCount::NoBudgets),
            BudgetCount::Never
        );
    }

    #[test]
    fn the_next_window_lets_calls_pass_and_so_does_a_raised_budget() {
        let stop = budget(BudgetPer::Application, BudgetAction::Stop);
        let states = [state(stop, &[""], &[])];
        let refused = Some(BudgetVerdict::Refuse {
            budget: stop,
            until_ms: 60_000,
        });
        let own = policy(&[stop]);
        assert_eq!(verdict(&own, &states, "anna", 59_999), refused);
        assert_eq!(verdict(&own, &states, "anna", 60_000), None);
        let raised = Budget {
            tokens: Some(200),
            ..stop
        };
        assert_eq!(verdict(&policy(&[raised]), &states, "anna", 0), None);
        // Whoever has spent more has spent less, and no warning is due before the next count says so.
        let lowered = Budget {
            tokens: Some(50),
            warn_at: 1,
            ..stop
        };
        let refused = Some(BudgetVerdict::Refuse {
            budget: lowered,
            until_ms: 60_000,
        });
        assert_eq!(verdict(&policy(&[lowered]), &states, "anna", 0), refused);
        let nearly = [state(stop, &[], &[""])];
        assert_eq!(verdict(&policy(&[lowered]), &nearly, "anna", 0), None);
        assert_eq!(verdict(&own, &[], "anna", 0), None);
    }

    #[test]
    fn users_are_told_apart_and_those_without_a_name_are_one() {
        let stop = budget(BudgetPer::User, BudgetAction::Stop);
        let own = policy(&[stop]);
        let states = [state(stop, &["", "anna", "boris"], &["vera"])];
        let verdict_on = |user| verdict(&own, &states, user, 0);
        for spent in ["", "anna", "boris"] {
            assert!(matches!(
                verdict_on(spent),
                Some(BudgetVerdict::Refuse { .. })
            ));
        }
        assert_eq!(verdict_on("vera"), Some(BudgetVerdict::Warn(stop)));
        assert_eq!(verdict_on("ann"), None);
    }

    #[test]
    fn the_budgets_of_an_application_and_of_a_user_can_be_looked_up_one_after_the_other() {
        let [of_application, of_user] =
            [BudgetPer::Application, BudgetPer::User].map(|per| budget(per, BudgetAction::Stop));
        let own = policy(&[of_application, of_user]);
        for (states, first, second) in [
            ([state(of_application, &[""], &[])], true, false),
            ([state(of_user, &["anna"], &[])], false, true),
        ] {
            let is_refused = |whose: BudgetsOf| super::verdict(&own, &states, &whose, 0).is_some();
            assert_eq!(is_refused(BudgetsOf::Application), first);
            assert_eq!(is_refused(BudgetsOf::User("anna".to_owned())), second);
            assert!(is_refused(BudgetsOf::All("anna".to_owned())));
        }
    }

    #[test]
    fn a_budget_that_warns_refuses_nobody_and_of_two_that_stop_the_longer_one_is_named() {
        let warn = budget(BudgetPer::Application, BudgetAction::Warn);
        let spent = [state(warn, &[""], &[])];
        assert_eq!(
            verdict(&policy(&[warn]), &spent, "", 0),
            Some(BudgetVerdict::Warn(warn))
        );
        let minute = budget(BudgetPer::Application, BudgetAction::Stop);
        let day = Budget {
            window: BudgetWindow::Day,
            ..minute
        };
        let longer = BudgetState {
            until_ms: 86_400_000,
            ..state(day, &[""], &[])
        };
        let both = [longer, state(minute, &[""], &[])];
        let refused = verdict(&policy(&[minute, day]), &both, "", 0);
        assert!(matches!(refused, Some(BudgetVerdict::Refuse { budget, .. }) if budget == day));
    }
}
