//! Sums of end users: their order in a statement, and out of its columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::user_days::{UserCounts, UserDay, UserDayCount, UserOrder, UserTotal};
use monitor_model::ApplicationId;

/// By what sums are ordered, before the names.
pub(crate) fn order(order: UserOrder) -> &'static str {
    match order {
        UserOrder::Flagged => "flagged DESC, messages DESC",
        UserOrder::Share => "flagged * 1.0 / messages DESC, flagged DESC",
        UserOrder::Messages => "messages DESC, flagged DESC",
        UserOrder::LastSeen => "last_ms DESC",
    }
}

/// A row of the sums by user.
pub(crate) fn total(row: &impl Columns) -> Result<UserTotal, StoreError> {
    Ok(UserTotal {
        application_id: ApplicationId(row.id("application_id")?),
        user_id: row.text("user_id")?,
        counts: counts(row)?,
        before: UserCounts {
            messages: row.count("messages_before")?,
            flagged: row.count("flagged_before")?,
            blocked: row.count("blocked_before")?,
        },
        last_ms: row.number("last_ms")?,
    })
}

/// A row of the sums by user, day and kind.
pub(crate) fn day(row: &impl Columns) -> Result<UserDay, StoreError> {
    let kind = row.raw("kind")?;
    Ok(UserDay {
        day: row.number("day")?,
        application_id: ApplicationId(row.id("application_id")?),
        user_id: row.text("user_id")?,
        count: match kind {
            "" => UserDayCount::Messages(counts(row)?),
            kind => UserDayCount::Finds {
                kind: kind.to_owned(),
                count: row.count("finds")?,
            },
        },
        last_ms: row.number("last_ms")?,
    })
}

fn counts(row: &impl Columns) -> Result<UserCounts, StoreError> {
    Ok(UserCounts {
        messages: row.count("messages")?,
        flagged: row.count("flagged")?,
        blocked: row.count("blocked")?,
    })
}
