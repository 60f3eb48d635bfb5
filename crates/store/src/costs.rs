//! What calls cost: of each record, fixed when it came in, and the sums of each day, which stay when records are removed.
//! No SQL here.

use monitor_model::{Amount, ApplicationId, CallTokens, Priced};
use serde::{Deserialize, Serialize};

/// The name that stands for all users and models which sums do not tell apart, erased users among them.
pub const OTHER_NAMES: &str = "other";
/// The most days for which the sums of single users are kept, the current one included.
pub const KEPT_DAYS: i64 = 400;
const DAY_MS: i64 = 86_400_000;

/// The tokens and the cost of a call, with the record of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// The model that answered, or that was asked.
    pub model: Option<String>,
    /// As far as somebody counted them.
    pub usage: Usage,
    /// How the cost is known; None for the repeat of a stored response: it has no cost and is in no sum.
    pub priced: Option<Priced>,
    /// By the prices of that time; None unless it is priced or estimated.
    pub amount: Option<Amount>,
    /// The currency of those prices; None without any.
    pub currency: Option<String>,
    /// The names under which sums count it.
    pub counted_as: SumNames,
}

/// Under which names sums count a call whose own ones they do not have: callers choose those, in any number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumNames {
    /// In place of its model.
    #[serde(
        rename = "counted_model",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<String>,
    /// In place of its user.
    #[serde(
        rename = "counted_user",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub user: Option<String>,
}

/// The tokens of a call, and who counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// None of a kind that nobody counted.
    #[serde(flatten)]
    pub tokens: CallTokens,
    /// The analysis server counted them in the recorded texts, since the model server reported none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl CallCost {
    /// The amount as its column holds it.
    pub(crate) fn units(&self) -> Option<i64> {
        i64::try_from(self.amount?.units()).ok()
    }
}

/// What sums are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostGroups {
    /// A sum for each application.
    pub application: bool,
    /// A sum for each user.
    pub user: bool,
    /// A sum for each model.
    pub model: bool,
    /// A sum for each day (UTC).
    pub day: bool,
}

/// Which calls are summed up; every condition has to hold.
#[derive(Clone, Debug)]
pub struct CostFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only this end user.
    pub user_id: Option<String>,
    /// Only this model.
    pub model: Option<String>,
    /// The first and the last day, days since 1970.
    pub days: (i64, i64),
    /// What has sums of its own.
    pub groups: CostGroups,
    /// The most sums.
    pub limit: u32,
}

impl CostFilter {
    /// Whether the sums of single users are read; those of all users together have fewer rows.
    pub(crate) fn is_by_user(&self) -> bool {
        self.groups.user || self.user_id.is_some()
    }
}

/// The calls of an application that a budget counts.
#[derive(Clone, Debug)]
pub struct SpendingFilter {
    /// The application that made them.
    pub application_id: ApplicationId,
    /// When they came in.
    pub span: SpendingSpan,
    /// The users who have sums of their own; None for sums of all calls together.
    pub users: Option<TopSpenders>,
}

/// A time in which calls came in.
#[derive(Clone, Copy, Debug)]
pub enum SpendingSpan {
    /// The first and the last day, days since 1970.
    Days((i64, i64)),
    /// From the first to before the last of these times, milliseconds since 1970. Reads records: for a few minutes.
    Records((i64, i64)),
}

/// The users who have spent most.
#[derive(Clone, Debug)]
pub struct TopSpenders {
    /// Whether tokens count, or money.
    pub unit: SpentUnit,
    /// Only those who have spent this, in the unit. Somebody who has spent a billionth less may be among them.
    pub at_least: f64,
    /// The most users.
    pub most: u32,
}

/// What is spent.
#[derive(Clone, Debug)]
pub enum SpentUnit {
    /// Tokens of requests and answers.
    Tokens,
    /// Money of one currency.
    Money {
        /// Costs in other currencies do not count.
        currency: String,
    },
}

/// The calls of a group with one currency and one way in which their cost is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostSum {
    /// None unless applications are groups.
    pub application_id: Option<ApplicationId>,
    /// None unless users are groups, and for calls without a user.
    pub user_id: Option<String>,
    /// None unless models are groups, and for calls without a known model.
    pub model: Option<String>,
    /// None unless days are groups; days since 1970.
    pub day: Option<i64>,
    /// None for calls of a time without prices.
    pub currency: Option<String>,
    /// How the cost of each of them is known.
    pub priced: Priced,
    /// Calls, each counted once.
    pub calls: u64,
    /// Of all of them; a kind that was never reported is 0.
    pub tokens: TokenSums,
    /// What they cost; None for [`Priced::Unpriced`].
    pub amount: Option<Amount>,
}

/// Sums of tokens by kind. Those of the cache are a part of the prompts, those of reasoning one of the completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenSums {
    /// Tokens of requests.
    pub prompt: u64,
    /// Read from a model server's cache.
    pub cached: u64,
    /// Written to a model server's cache.
    pub cache_write: u64,
    /// Tokens of answers.
    pub completion: u64,
    /// Used before the answer, and paid as a part of it.
    pub reasoning: u64,
}

/// The first day that is kept for single users at this time, milliseconds since 1970.
pub(crate) fn first_kept_day(now_ms: i64, days: Option<u32>) -> i64 {
    let days = days.map_or(KEPT_DAYS, i64::from).min(KEPT_DAYS);
    now_ms.div_euclid(DAY_MS) - days + 1
}
