//! End users and what they do by the day, from sums that are kept as records come in. A bound caller sees its own
//! application only. `user_sums` sums up the records of a filter instead.

use super::Records;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::ApplicationId;
use monitor_store::{UserDay, UserDayFilter, UserFilter, UserTotal};

/// Days of each user that a page has at least, which end with the last one of its filter.
const DAYS: i64 = 30;

/// A page of end users.
pub(crate) struct UserPage {
    /// In the order of the filter.
    pub(crate) users: Vec<UserTotal>,
    /// What they did by the day, the newest first; among them may be users of the same name in other applications.
    pub(crate) days: Vec<UserDay>,
    /// Whether there is a next page.
    pub(crate) has_more: bool,
}

impl Records {
    /// A page of end users. Summing up takes a while where there are many: one tenant has one such request at a time.
    pub(crate) async fn users(
        &self,
        caller: &Caller,
        mut filter: UserFilter,
    ) -> Result<UserPage, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        let limit = filter.limit as usize;
        // One more than requested, to see whether there is a next page.
        filter.limit = filter.limit.saturating_add(1);
        let (first, last) = filter.days;
        let application_id = filter.application_id;
        let statistics = self.statistics.clone();
        let _only_one = self.reads.take_sum(caller).await?;
        let read = async move {
            let mut users = statistics.users(&filter).await?;
            let has_more = users.len() > limit;
            users.truncate(limit);
            let of_users = UserDayFilter {
                application_id,
                user_ids: users.iter().map(|user| user.user_id.clone()).collect(),
                days: (first.min(last - DAYS + 1), last),
            };
            let days = statistics.user_days(&of_users).await?;
            Ok(UserPage {
                users,
                days,
                has_more,
            })
        };
        self.reads.read(caller, read).await
    }

    /// What users do by the day, by somebody who may see this application.
    pub(crate) async fn user_days(
        &self,
        caller: &Caller,
        application: ApplicationId,
        mut filter: UserDayFilter,
    ) -> Result<Vec<UserDay>, ApiError> {
        caller.must_reach(application)?;
        filter.application_id = caller.narrow(filter.application_id)?;
        let statistics = self.statistics.clone();
        let read = async move { statistics.user_days(&filter).await };
        self.reads.read(caller, read).await
    }
}
