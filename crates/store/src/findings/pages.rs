//! Pages of findings over one state or all of them.

use super::{Finding, FindingFilter, FindingPage, FindingState};
use crate::error::StoreError;
use async_trait::async_trait;
use std::cmp::Reverse;

/// The findings of one state on a page.
#[derive(Debug, Default)]
pub(crate) struct StatePage {
    /// The newest one first.
    pub(crate) findings: Vec<Finding>,
    /// Nothing before this position was looked at; None if there is nothing.
    pub(crate) next_before: Option<i64>,
}

/// Reads the findings of one state.
#[async_trait]
pub(crate) trait ReadState {
    async fn of_state(
        &self,
        filter: &FindingFilter,
        state: FindingState,
    ) -> Result<StatePage, StoreError>;
}

/// A page over all states that a filter shows. Each has its own index.
pub(crate) async fn page(
    store: &(impl ReadState + Sync),
    filter: &FindingFilter,
) -> Result<FindingPage, StoreError> {
    let mut pages = Vec::new();
    for state in states(filter) {
        pages.push(store.of_state(filter, state).await?);
    }
    Ok(merged(pages, filter.limit as usize))
}

/// One page out of those of several states: as far as all of them reach.
fn merged(pages: Vec<StatePage>, limit: usize) -> FindingPage {
    let reached = pages.iter().filter_map(|page| page.next_before).max();
    let mut findings: Vec<Finding> = pages.into_iter().flat_map(|page| page.findings).collect();
    findings.retain(|finding| reached.is_none_or(|reached| finding.seq >= reached));
    findings.sort_by_key(|finding| Reverse(finding.seq));
    if findings.len() <= limit {
        return FindingPage {
            findings,
            next_before: reached,
        };
    }
    findings.truncate(limit);
    FindingPage {
        next_before: findings.last().map(|last| last.seq),
        findings,
    }
}

/// The states that a filter shows.
fn states(filter: &FindingFilter) -> Vec<FindingState> {
    match filter.state {
        Some(state) => vec![state],
        None => FindingState::ALL.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Alike, ClusterId};
    use super::*;
    use monitor_model::{ApplicationId, RecordId};
    use uuid::Uuid;

    fn finding(seq: i64) -> Finding {
        Finding {
            seq,
            id: RecordId(Uuid::nil()),
            application_id: ApplicationId(Uuid::nil()),
            user_id: None,
            created_at_ms: seq,
            cluster: ClusterId(Uuid::nil()),
            labels: Vec::new(),
            state: FindingState::Open,
            reason: None,
            assignee: None,
            changed_at_ms: seq,
            alike: Alike {
                count: 1,
                first_ms: seq,
                last_ms: seq,
            },
        }
    }

    fn part(seqs: &[i64], next_before: Option<i64>) -> StatePage {
        StatePage {
            findings: seqs.iter().copied().map(finding).collect(),
            next_before,
        }
    }

    fn seqs(page: &FindingPage) -> Vec<i64> {
        page.findings.iter().map(|finding| finding.seq).collect()
    }

    #[test]
    fn a_page_of_several_states_ends_where_the_first_of_them_ends() {
        let page = merged(vec![part(&[9, 7], Some(7)), part(&[8, 6, 2], None)], 3);
        assert_eq!((seqs(&page), page.next_before), (vec![9, 8, 7], Some(7)));
        let page = merged(vec![part(&[9, 7], None), part(&[8], None)], 3);
        assert_eq!((seqs(&page), page.next_before), (vec![9, 8, 7], None));
        let page = merged(vec![part(&[9, 7], None), part(&[8, 6], None)], 3);
        assert_eq!((seqs(&page), page.next_before), (vec![9, 8, 7], Some(7)));
        let page = merged(vec![part(&[], Some(5)), part(&[4], None)], 3);
        assert_eq!((seqs(&page), page.next_before), (vec![], Some(5)));
    }
}
