//! The filter of a list of findings in the query of a URL.

use super::filters::{INTEGER, LATE, TIME, UUID, application, text, time};
use crate::analysis::api::extract::query::Query;
use crate::analysis::records::findings::{ClusterId, FindingFilter, FindingQuery, FindingState};
use crate::analysis::{ApiError, FieldProblem};
use monitor_store::AssigneeFilter;

const STATE: &str = "must be open, confirmed, false_alarm, resolved or all";

/// The filter of `GET /findings`; without a state it shows open ones.
pub(crate) fn findings(mut query: Query) -> Result<FindingQuery, ApiError> {
    let is_true = |text: &str| (text == "true").then_some(());
    let state = query.typed("state", STATE, state)?;
    let unassigned = query.typed("unassigned", "must be true", is_true)?;
    let newest = query.typed("newest", "must be true", is_true)?;
    let cluster = |text: &str| text.parse().ok().map(ClusterId);
    let filter = FindingFilter {
        application_id: query.typed("application_id", UUID, application)?,
        user_id: text(&mut query, "user_id")?,
        state: state.unwrap_or(Some(FindingState::Open)),
        assignee: unassigned.map(|()| AssigneeFilter::Nobody),
        cluster: query.typed("cluster", UUID, cluster)?,
        label: text(&mut query, "type")?,
        from_ms: query.typed("from", TIME, time)?,
        to_ms: query.typed("to", TIME, time)?,
        only_newest: newest.is_some(),
        before: query.typed("before", INTEGER, |text| text.parse().ok())?,
        limit: query.limit()?,
    };
    let assignee = text(&mut query, "assignee")?;
    query.finish()?;
    if assignee.is_some() && unassigned.is_some() {
        return Err(FieldProblem::new("unassigned", "cannot be combined with assignee").into());
    }
    // Where the newest one is beyond the end, none of its cluster would be shown.
    if filter.only_newest && filter.to_ms.is_some() {
        return Err(FieldProblem::new("newest", "cannot be combined with to").into());
    }
    match (filter.from_ms, filter.to_ms) {
        (Some(from), Some(to)) if from > to => Err(FieldProblem::new("from", LATE).into()),
        _ => Ok(FindingQuery { filter, assignee }),
    }
}

/// None inside for all states.
fn state(word: &str) -> Option<Option<FindingState>> {
    match word {
        "all" => Some(None),
        word => FindingState::from_name(word).map(Some),
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
    fn without_a_state_a_list_shows_open_findings() {
        let state = |pairs: &[(&str, &str)]| findings(given(pairs)).unwrap().filter.state;
        assert_eq!(state(&[]), Some(FindingState::Open));
        assert_eq!(state(&[("state", "all")]), None);
        let closed = Some(FindingState::FalseAlarm);
        assert_eq!(state(&[("state", "false_alarm")]), closed);
        for odd in [
            &[("state", "closed")][..],
            &[("newest", "true"), ("to", "5")],
            &[("assignee", "anna"), ("unassigned", "true")],
            &[("unassigned", "no")],
            &[("user", "x")],
        ] {
            assert!(findings(given(odd)).is_err(), "{odd:?}");
        }
    }
}
