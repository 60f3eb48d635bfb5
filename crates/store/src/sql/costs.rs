//! Sums of costs: how a statement groups them, and out of its columns.

use super::columns::Columns;
use super::records::from_word;
use crate::costs::{CostGroups, CostSum, TokenSums};
use crate::error::StoreError;
use monitor_model::{Amount, ApplicationId, Priced};

/// Units of one of the currency: where a column of units is carried to that of whole ones.
pub(crate) const ONE: i64 = 1_000_000_000_000;

/// A column is summed up in two parts, above and below this: rows up to the range of a column have no sum that leaves it.
pub(super) const HIGH: i64 = 1_000_000_000;

/// What is summed up.
pub(super) const SUMS: [&str; 8] = [
    "calls",
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "cost_whole",
    "cost_part",
];

/// The statement that sums up the rows which `narrowed` leaves, at most `limit`: the newest days first, then the highest
/// sums. `number` is the engine's type of a sum.
pub(crate) fn select(groups: CostGroups, narrowed: &str, limit: &str, number: &str) -> String {
    let wanted = [
        (groups.application, "application_id"),
        (groups.user, "user_id"),
        (groups.model, "model"),
        (groups.day, "day"),
    ];
    let by: Vec<&str> = wanted
        .into_iter()
        .filter_map(|(is_wanted, column)| is_wanted.then_some(column))
        .chain(["currency", "priced"])
        .collect();
    let by = by.join(", ");
    let order = if groups.day { "day DESC, " } else { "" };
    let sums = SUMS.map(|column| both(column, column, number));
    format!(
        "SELECT {by}, {} FROM costs WHERE {narrowed} GROUP BY {by}
         ORDER BY {order}sum(cost_whole + cost_part / {ONE}.0) DESC, sum(calls * 1.0) DESC, {by} LIMIT {limit}",
        sums.join(", ")
    )
}

/// The two parts of a sum of `value`, which [`total`] puts together.
pub(super) fn both(column: &str, value: &str, number: &str) -> String {
    format!(
        "CAST(sum({value} / {HIGH}) AS {number}) AS {column}_high,
         CAST(sum({value} % {HIGH}) AS {number}) AS {column}_low"
    )
}

/// The sum of a column, out of its two parts.
fn total(row: &impl Columns, column: &str) -> Result<i128, StoreError> {
    let high = row.number(&format!("{column}_high"))?;
    let low = row.number(&format!("{column}_low"))?;
    Ok(i128::from(high) * i128::from(HIGH) + i128::from(low))
}

/// A row of that statement.
pub(crate) fn sum(row: &impl Columns, groups: CostGroups) -> Result<CostSum, StoreError> {
    let name = |is_wanted: bool, column: &str| -> Result<Option<String>, StoreError> {
        let name = is_wanted.then(|| row.text(column)).transpose()?;
        Ok(name.filter(|name| !name.is_empty()))
    };
    let application = groups.application.then(|| row.id("application_id"));
    let priced: Priced = from_word(row.raw("priced")?)?;
    let count = |column: &str| -> Result<u64, StoreError> {
        Ok(u64::try_from(total(row, column)?).unwrap_or(u64::MAX))
    };
    let units = total(row, "cost_whole")?.saturating_mul(ONE.into());
    let units = units.saturating_add(total(row, "cost_part")?);
    Ok(CostSum {
        application_id: application.transpose()?.map(ApplicationId),
        user_id: name(groups.user, "user_id")?,
        model: name(groups.model, "model")?,
        day: groups.day.then(|| row.number("day")).transpose()?,
        currency: name(true, "currency")?,
        priced,
        calls: count("calls")?,
        tokens: TokenSums {
            prompt: count("prompt_tokens")?,
            cached: count("cached_tokens")?,
            cache_write: count("cache_write_tokens")?,
            completion: count("completion_tokens")?,
            reasoning: count("reasoning_tokens")?,
        },
        amount: (priced != Priced::Unpriced).then(|| Amount::of_units(units)),
    })
}
