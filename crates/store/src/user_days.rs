//! What each end user does, summed by the day: messages, what was flagged and blocked, finds by type. Counted as
//! records come in, so that reading costs the same however many records there are. No SQL here.

use monitor_model::ApplicationId;

/// Longer names of users, in bytes, count as [`crate::OTHER_NAMES`].
pub(crate) const LONGEST_COUNTED_NAME: usize = 512;
/// Users of a day and application that are told apart; a server counts further ones as [`crate::OTHER_NAMES`].
pub(crate) const MOST_USERS: i64 = 5_000;
/// Sums of single users by day and type that one read returns at most.
pub const MOST_USER_DAYS: i64 = 20_000;

/// Which end users a page shows.
#[derive(Clone, Debug)]
pub struct UserFilter {
    /// Only those of this application.
    pub application_id: Option<ApplicationId>,
    /// Only those whose name contains this, in any case of the letters A to Z.
    pub name_part: Option<String>,
    /// The first and the last day, days since 1970.
    pub days: (i64, i64),
    /// Who comes first.
    pub order: UserOrder,
    /// Users of the pages before.
    pub skipped: u32,
    /// Users per page, from 1.
    pub limit: u32,
}

impl UserFilter {
    /// The first day of the time before, which is as long.
    pub(crate) fn first_day_before(&self) -> i64 {
        let (first, last) = self.days;
        first.saturating_sub(last.saturating_sub(first).saturating_add(1))
    }
}

/// Which users come first. Those that are alike follow by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserOrder {
    #[default]
    Flagged,
    /// The highest share of flagged messages.
    Share,
    Messages,
    /// The latest message.
    LastSeen,
}

/// The messages of a user in some days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserCounts {
    /// Records, prompts and answers together.
    pub messages: u64,
    /// Records that any check flagged.
    pub flagged: u64,
    /// Records that the application's policy blocks.
    pub blocked: u64,
}

/// An end user of one application, with the sums of some days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTotal {
    /// The same name in two applications counts as two users.
    pub application_id: ApplicationId,
    /// The client's name for the user.
    pub user_id: String,
    /// Of the days that were asked for.
    pub counts: UserCounts,
    /// Of as many days before them.
    pub before: UserCounts,
    /// The latest message of all these days, milliseconds since 1970.
    pub last_ms: i64,
}

/// Which sums of single users are read.
#[derive(Clone, Debug)]
pub struct UserDayFilter {
    /// Only those of this application.
    pub application_id: Option<ApplicationId>,
    /// The users, by name.
    pub user_ids: Vec<String>,
    /// The first and the last day, days since 1970.
    pub days: (i64, i64),
}

/// One day of a user: its messages, or the finds of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDay {
    /// Days since 1970.
    pub day: i64,
    /// The application that received the messages.
    pub application_id: ApplicationId,
    /// The client's name for the user.
    pub user_id: String,
    /// What is counted.
    pub count: UserDayCount,
    /// The latest message, milliseconds since 1970.
    pub last_ms: i64,
}

/// What a [`UserDay`] counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserDayCount {
    /// Messages, whatever was found in them.
    Messages(UserCounts),
    /// Finds of one type; of an application's own patterns [`crate::OTHER_FINDS`].
    Finds {
        /// The entity type.
        kind: String,
        /// How often it was found.
        count: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_the_limits_that_are_named_here() {
        let sql = include_str!("sqlite/records/insert_derived.sql");
        assert!(sql.contains(&format!("<= {MOST_USERS}\n")));
        assert!(sql.contains(&format!("octet_length(user_id) > {LONGEST_COUNTED_NAME} ")));
    }

    #[test]
    fn the_time_before_is_as_long() {
        let filter = UserFilter {
            application_id: None,
            name_part: None,
            days: (10, 16),
            order: UserOrder::default(),
            skipped: 0,
            limit: 1,
        };
        assert_eq!(filter.first_day_before(), 3);
    }
}
