//! How many tokens or how much money an application, or each of its users, may spend in a minute, a day or a month.
//! The analysis server counts what is spent, the gateway refuses the calls.

use super::problem::PolicyProblem;
use super::words::{BudgetAction, BudgetPer, BudgetWindow, Word};
use crate::calendar::CalendarDate;
use crate::money::Amount;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The most budgets of an application.
pub const MOST_BUDGETS: usize = 8;
/// The most tokens of a budget.
pub const MOST_BUDGET_TOKENS: u64 = 1_000_000_000_000_000;
/// The share of a budget, in percent, from which on calls are warned unless it says another one.
const WARN_AT: u8 = 80;

/// Decimal places of a cost.
const PLACES: usize = 12;
/// Digits before the decimal point of a cost.
const DIGITS: usize = 12;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

const FIELDS: [&str; 6] = ["per", "window", "tokens", "cost", "action", "warn_at"];
const NO_LIST: &str = "is not a list of budgets, each {per, window, tokens or cost, action}";
const NO_BUDGET: &str =
    "is not a group of fields; allowed: per, window, tokens, cost, action, warn_at";
const NO_AMOUNT: &str = "needs tokens or cost";
const TWO_AMOUNTS: &str = "cannot be combined with tokens; allowed: one of the two";
const SAME_KIND: &str = "has the per, the window and the unit of an earlier budget; allowed: one of each, where warn_at warns before it is spent";
const NO_COST: &str = "is not an amount above 0; allowed: digits, with at most 12 before and 12 behind a decimal point";

/// One budget; exactly one of tokens and cost is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "Value")]
pub struct Budget {
    /// Whose spending is counted together.
    pub per: BudgetPer,
    /// The time after which spending begins at zero again (UTC).
    pub window: BudgetWindow,
    /// Tokens of requests and answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub tokens: Option<u64>,
    /// A decimal amount in the currency of the price table.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub cost: Option<Amount>,
    /// What calls get once it is spent.
    pub action: BudgetAction,
    /// The share of it, in percent, from which on calls are warned.
    #[schema(minimum = 1, maximum = 100)]
    pub warn_at: u8,
}

/// How much of a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = BudgetUseLevel)]
pub enum BudgetLevel {
    /// Less than the share that warns.
    Within,
    /// At least that share.
    Warned,
    /// All of it.
    Spent,
}

/// Those who have spent a budget, or so much of it that their calls are warned. An application is named by an empty
/// text, and so are its calls without a user in a budget of each user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetState {
    /// The budget, as the policy has it.
    pub budget: Budget,
    /// The end of its window, milliseconds since 1970; then nothing of it is spent.
    pub until_ms: i64,
    /// Who has spent it.
    pub spent: Vec<String>,
    /// Who has spent the share that warns, and not all.
    pub warned: Vec<String>,
}

/// What was counted of the budgets of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedBudgets {
    /// When it was counted, milliseconds since 1970.
    pub counted_ms: i64,
    /// Those that calls are warned about or refused for.
    pub states: Vec<BudgetState>,
}

impl Budget {
    /// Whether both count the same, so that only one of them could ever be reached.
    fn is_of_same_kind(&self, other: Self) -> bool {
        let kind = |budget: &Self| (budget.per, budget.window, budget.tokens.is_some());
        kind(self) == kind(&other)
    }

    /// Whether whoever has spent the other one has spent this one too: it bounds the same, and not higher.
    pub fn is_spent_with(&self, other: Self) -> bool {
        self.is_of_same_kind(other) && self.tokens <= other.tokens && self.cost <= other.cost
    }

    /// How much of it these tokens and this cost are.
    pub fn level(&self, tokens: u64, cost: Amount) -> BudgetLevel {
        let percent = i128::from(self.warn_at);
        let (spent, limit) = match (self.tokens, self.cost) {
            (Some(limit), _) => (i128::from(tokens), i128::from(limit)),
            (None, Some(limit)) => (cost.units(), limit.units()),
            (None, None) => return BudgetLevel::Within,
        };
        match spent {
            spent if spent >= limit => BudgetLevel::Spent,
            spent if spent.saturating_mul(100) >= limit.saturating_mul(percent) => {
                BudgetLevel::Warned
            }
            _ => BudgetLevel::Within,
        }
    }
}

impl BudgetWindow {
    /// The window that this moment is in: its beginning, and that of the next one, milliseconds since 1970.
    pub fn around(self, now_ms: i64) -> (i64, i64) {
        let of = |length: i64| {
            let begin = now_ms.div_euclid(length) * length;
            (begin, begin + length)
        };
        match self {
            Self::Minute => of(MINUTE_MS),
            Self::Day => of(DAY_MS),
            Self::Month => {
                let first = |day: i64| day - (CalendarDate::of_day(day).day - 1);
                let begin = first(now_ms.div_euclid(DAY_MS));
                // No month has more days.
                let next = first(begin + 31);
                (begin * DAY_MS, next * DAY_MS)
            }
        }
    }
}

impl TryFrom<Value> for Budget {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let mut problems = Vec::new();
        let budget = budget(&value, "budget", &mut problems);
        let wrong = || {
            let all = problems.iter().map(ToString::to_string);
            all.collect::<Vec<_>>().join("; ")
        };
        budget.ok_or_else(wrong)
    }
}

/// Reads the list `budgets` of a policy. Problems name their field.
pub(super) fn read(value: &Value) -> Result<Vec<Budget>, Vec<PolicyProblem>> {
    let refused = |text: String| Err(vec![PolicyProblem::new("budgets", text)]);
    let Value::Array(items) = value else {
        return refused(NO_LIST.to_owned());
    };
    if items.len() > MOST_BUDGETS {
        let count = items.len();
        return refused(format!(
            "has {count} elements; allowed: at most {MOST_BUDGETS}"
        ));
    }
    let mut problems = Vec::new();
    let mut found: Vec<Budget> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let key = format!("budgets[{index}]");
        match budget(item, &key, &mut problems) {
            Some(new) if found.iter().any(|earlier| earlier.is_of_same_kind(new)) => {
                problems.push(PolicyProblem::new(key, SAME_KIND));
            }
            Some(new) => found.push(new),
            None => {}
        }
    }
    match problems.is_empty() {
        true => Ok(found),
        false => Err(problems),
    }
}

fn budget(value: &Value, key: &str, problems: &mut Vec<PolicyProblem>) -> Option<Budget> {
    let Value::Object(map) = value else {
        problems.push(PolicyProblem::new(key, NO_BUDGET));
        return None;
    };
    let before = problems.len();
    let mut fields = Fields { map, key, problems };
    fields.refuse_unknown();
    let (per, window) = (fields.required("per"), fields.required("window"));
    let action = fields.required("action");
    let tokens = fields.number("tokens", MOST_BUDGET_TOKENS);
    let cost = fields.cost();
    let warn_at = fields.number("warn_at", 100);
    match (fields.get("tokens").is_some(), fields.get("cost").is_some()) {
        (false, false) => fields.refuse("tokens", NO_AMOUNT),
        (true, true) => fields.refuse("cost", TWO_AMOUNTS),
        _ => {}
    }
    let warn_at = warn_at.and_then(|percent| u8::try_from(percent).ok());
    let is_right = problems.len() == before;
    let budget = Budget {
        per: per?,
        window: window?,
        tokens,
        cost,
        action: action?,
        warn_at: warn_at.unwrap_or(WARN_AT),
    };
    is_right.then_some(budget)
}

/// The fields of one budget.
struct Fields<'v, 'p> {
    map: &'v Map<String, Value>,
    key: &'p str,
    problems: &'p mut Vec<PolicyProblem>,
}

impl<'v> Fields<'v, '_> {
    fn get(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    fn refuse(&mut self, name: &str, text: impl Into<String>) {
        let key = format!("{}.{name}", self.key);
        self.problems.push(PolicyProblem::new(key, text));
    }

    fn refuse_unknown(&mut self) {
        for name in self.map.keys() {
            if !FIELDS.contains(&name.as_str()) {
                let short: String = name.chars().take(40).collect();
                let allowed = FIELDS.join(", ");
                self.refuse(&short, format!("is an unknown field; allowed: {allowed}"));
            }
        }
    }

    fn required<T: Word>(&mut self, name: &str) -> Option<T> {
        let given = self.get(name).and_then(Value::as_str);
        let found = T::ALL.iter().find(|word| given == Some(word.word()));
        if found.is_none() {
            let words: Vec<_> = T::ALL.iter().map(|word| word.word()).collect();
            self.refuse(
                name,
                format!("is not one of the words; allowed: {}", words.join(", ")),
            );
        }
        found.copied()
    }

    fn number(&mut self, name: &str, most: u64) -> Option<u64> {
        let value = self.get(name)?;
        let number = value.as_u64().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            self.refuse(name, format!("must be a whole number from 1 to {most}"));
        }
        number
    }

    fn cost(&mut self) -> Option<Amount> {
        let cost = match self.get("cost")? {
            Value::String(text) => amount(text),
            // As a file may have it.
            Value::Number(number) => amount(&number.to_string()),
            _ => None,
        };
        if cost.is_none() {
            self.refuse("cost", NO_COST);
        }
        cost
    }
}

/// A decimal amount above 0.
fn amount(text: &str) -> Option<Amount> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() > DIGITS || places.len() > PLACES {
        return None;
    }
    Amount::of_decimal(text).filter(|amount| *amount > Amount::default())
}

#[cfg(test)]
mod tests;
