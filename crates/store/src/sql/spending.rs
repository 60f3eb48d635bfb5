//! The sums that budgets are counted by: of all calls of an application together, or of those users who have spent most.
//! The database leaves out all others, since clients choose the names of users in any number.

use super::columns::Columns;
use super::costs::{HIGH, ONE, SUMS, both, sum};
use crate::costs::{CostGroups, CostSum, SpentUnit, TopSpenders};
use crate::error::StoreError;

/// Where calls are counted: in the sums of days, or in records, for which there are no sums of a minute.
pub(crate) struct Source {
    /// The table that holds them.
    pub(crate) from: &'static str,
    /// The condition that leaves the calls of an application and a span.
    pub(crate) narrowed: &'static str,
    /// How many parameters that has.
    pub(crate) parameters: usize,
    /// The user of a row, empty for none.
    pub(crate) user: &'static str,
    /// Its currency, empty for none.
    pub(crate) currency: &'static str,
    /// What it has of one of [`SUMS`].
    pub(crate) value: fn(&str) -> String,
}

/// The words of an engine.
pub(crate) struct Words {
    /// How the number of a parameter begins.
    pub(crate) parameter: &'static str,
    /// The type of a sum.
    pub(crate) number: &'static str,
}

impl Source {
    /// The statement whose rows [`sums`] reads. With users, its last parameters are the least that they have spent, how
    /// many they are at most, and the currency if that is what counts.
    pub(crate) fn select(&self, users: Option<&TopSpenders>, words: &Words) -> String {
        let Self {
            from,
            narrowed,
            user,
            currency,
            ..
        } = self;
        let sums = SUMS.map(|column| both(column, &(self.value)(column), words.number));
        let sums = sums.join(", ");
        let Some(users) = users else {
            return format!(
                "SELECT {currency} AS currency, priced, {sums} FROM {from} WHERE {narrowed} GROUP BY 1, 2 ORDER BY 1, 2"
            );
        };
        let parameter = |behind: usize| format!("{}{}", words.parameter, self.parameters + behind);
        let (at_least, most) = (parameter(1), parameter(2));
        let spent = spent(&users.unit, &parameter(3));
        format!(
            "WITH sums AS (
                 SELECT {user} AS user_id, {currency} AS currency, priced, {sums} FROM {from}
                 WHERE {narrowed} GROUP BY 1, 2, 3)
             SELECT * FROM sums WHERE user_id IN (
                 SELECT user_id FROM sums GROUP BY 1
                 HAVING CAST({spent} AS double precision) >= {at_least} ORDER BY {spent} DESC, 1 LIMIT {most})
             ORDER BY 1, 2, 3"
        )
    }
}

/// What a user has spent, out of the two parts of each sum. SQLite rounds it; [`sums`] does not.
fn spent(unit: &SpentUnit, counted: &str) -> String {
    let whole = |column: &str| format!("{column}_high * {HIGH}.0 + {column}_low");
    match unit {
        SpentUnit::Tokens => {
            let (prompt, completion) = (whole("prompt_tokens"), whole("completion_tokens"));
            format!("sum({prompt} + {completion})")
        }
        SpentUnit::Money { .. } => {
            let (ones, part) = (whole("cost_whole"), whole("cost_part"));
            format!(
                "sum(CASE WHEN currency = {counted} THEN {ones} + ({part}) / {ONE}.0 ELSE 0 END)"
            )
        }
    }
}

/// What a record has of one of [`SUMS`]; `tokens` reads the number of tokens of a kind, NULL where nobody counted it.
pub(crate) fn of_record(column: &str, tokens: fn(&str) -> String) -> String {
    match column {
        "calls" => "1".to_owned(),
        "cost_whole" => format!("(coalesce(cost, 0) / {ONE})"),
        "cost_part" => format!("(coalesce(cost, 0) % {ONE})"),
        kind => format!("coalesce({}, 0)", tokens(kind)),
    }
}

/// The rows of that statement.
pub(crate) fn sums<R: Columns>(rows: &[R], has_users: bool) -> Result<Vec<CostSum>, StoreError> {
    let groups = CostGroups {
        user: has_users,
        ..CostGroups::default()
    };
    rows.iter().map(|row| sum(row, groups)).collect()
}
