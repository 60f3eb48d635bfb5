//! The filter of end users in the query of a URL.

use super::filters::{UUID, application, checked, days, text};
use crate::analysis::api::extract::query::Query;
use crate::analysis::{ApiError, FieldProblem};
use monitor_store::{KEPT_COST_DAYS, UserFilter, UserOrder};

/// End users on a page of the UI, and pages of them.
const USERS: u32 = 25;
pub(crate) const MOST_USER_PAGES: u32 = 400;

const ORDER: &str = "must be flagged, share, messages or last_seen";

/// The filter of a page of end users; the default is the 30 days that end with `today`.
pub(crate) fn users(mut query: Query, today: i64) -> Result<UserFilter, ApiError> {
    let application_id = query.typed("application_id", UUID, application)?;
    let name_part = text(&mut query, "name")?;
    let order = query.typed("sort", ORDER, user_order)?;
    let page = format!("must be an integer from 1 to {MOST_USER_PAGES}");
    let page = query.typed("page", &page, |text| {
        let page = text.parse::<u32>().ok();
        page.filter(|page| (1..=MOST_USER_PAGES).contains(page))
    })?;
    let (first, last) = checked(days(&mut query, today)?)?;
    query.finish()?;
    if last - first >= KEPT_COST_DAYS {
        let problem = format!("must be less than {KEPT_COST_DAYS} days before to");
        return Err(FieldProblem::new("from", problem).into());
    }
    Ok(UserFilter {
        application_id,
        name_part,
        days: (first, last),
        order: order.unwrap_or_default(),
        skipped: (page.unwrap_or(1) - 1) * USERS,
        limit: USERS,
    })
}

fn user_order(word: &str) -> Option<UserOrder> {
    match word {
        "flagged" => Some(UserOrder::Flagged),
        "share" => Some(UserOrder::Share),
        "messages" => Some(UserOrder::Messages),
        "last_seen" => Some(UserOrder::LastSeen),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Query {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Query::of(pairs.iter().map(own).collect())
    }

    #[test]
    fn users_are_of_thirty_days_by_what_is_flagged_and_of_one_page() {
        let filter = users(given(&[]), 100).unwrap();
        assert_eq!((filter.days, filter.order), ((71, 100), UserOrder::Flagged));
        assert_eq!(users(given(&[("page", "3")]), 0).unwrap().skipped, 50);
        for odd in [("page", "0"), ("page", "401"), ("sort", ""), ("user", "x")] {
            assert!(users(given(&[odd]), 0).is_err(), "{odd:?}");
        }
        assert!(users(given(&[("from", "1970-01-01")]), 999).is_err());
    }
}
