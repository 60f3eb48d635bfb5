//! Statistics per day and traffic per hour from their columns.

use super::columns::Columns;
use crate::costs::OTHER_NAMES;
use crate::error::StoreError;
use crate::statistics::{DayStatistics, HourTraffic, UserNames};
use monitor_model::ApplicationId;

/// One row of `statistics`, without its entity types.
pub(crate) fn day(row: &impl Columns) -> Result<DayStatistics, StoreError> {
    Ok(DayStatistics {
        day: row.number("day")?,
        application_id: ApplicationId(row.id("application_id")?),
        stage: row.stage()?,
        messages: row.count("messages")?,
        flagged_guardrails: row.count("flagged_guardrails")?,
        flagged_custom_policy: row.count("flagged_custom_policy")?,
        flagged_dataclean: row.count("flagged_dataclean")?,
        blocked: row.count("blocked")?,
        failed: row.count("failed")?,
        tokens: row.count("tokens")?,
        total_us: row.count("total_us")?,
        max_us: row.count("max_us")?,
        types: Vec::new(),
    })
}

/// One row of `traffic`.
pub(crate) fn hour(row: &impl Columns) -> Result<HourTraffic, StoreError> {
    Ok(HourTraffic {
        hour: row.number("hour")?,
        prompts: row.count("prompts")?,
        answers: row.count("answers")?,
        flagged_guardrails: row.count("flagged_guardrails")?,
        flagged_custom_policy: row.count("flagged_custom_policy")?,
        flagged_dataclean: row.count("flagged_dataclean")?,
        blocked: row.count("blocked")?,
        failed: row.count("failed")?,
        unchecked: row.count("unchecked")?,
        tokens: row.count("tokens")?,
        total_us: row.count("total_us")?,
        max_us: row.count("max_us")?,
    })
}

/// A page of users, from rows that say whether each is one of the application.
pub(crate) fn user_names<R: Columns>(rows: &[R], limit: u32) -> Result<UserNames, StoreError> {
    let mut names = Vec::new();
    for row in rows {
        let name = row.text("user_id")?;
        if row.flag("is_own")? && name != OTHER_NAMES {
            names.push(name);
        }
    }
    let last = rows.last().filter(|_| rows.len() >= limit as usize);
    Ok(UserNames {
        names,
        next_after: last.map(|row| row.text("user_id")).transpose()?,
    })
}
