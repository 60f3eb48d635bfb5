//! Reads records, sessions and statistics. A bound caller sees its own application only, and nobody sees originals:
//! those are in `originals`.
//! `api::records::filters` reads filters from a URL.

use super::masking::{CleanedPage, CleanedRecord, cleaned, must_search};
use super::{BudgetUse, Records};
use crate::analysis::access::caller::Caller;
use crate::analysis::access::read_turns::ReadTurns;
use crate::analysis::budgets::spending::{self, Terms, Users};
use crate::analysis::error::ApiError;
use monitor_model::{ApplicationId, Budget, CHAIN_PARAMETER, RecordId, TypeCount};
use monitor_store::{
    CostFilter, CostSum, DayStatistics, GatewaySeen, HourTraffic, RecordFilter, RecordPage,
    RecordStore, SessionFilter, SessionPage, StatisticsFilter, StoreFacts, StoredRecord,
};
use std::sync::Arc;

/// Users that are suggested for a part of a name, and how many names are looked at for them.
const MOST_USERS: usize = 20;
const USERS_OF_PAGE: u32 = 2_000;
const PAGES_OF_USERS: usize = 10;

/// The record of an identifier, if the caller may see it.
pub(crate) async fn find_record(
    store: &Arc<dyn RecordStore>,
    reads: &ReadTurns,
    caller: &Caller,
    id: RecordId,
) -> Result<StoredRecord, ApiError> {
    let store = store.clone();
    let record = reads
        .read(caller, async move { store.record(id).await })
        .await?;
    let mut record = record
        .filter(|record| caller.sees(Some(record.summary.application_id)))
        .ok_or(ApiError::NotFound)?;
    hide_chain(caller, &mut record);
    Ok(record)
}

/// A gateway's numbers count the records of all applications (CONTRACT 5), and its id is all that it takes to send a
/// record under one of them. Callers that are bound to an application do not learn it.
pub(super) fn hide_chain(caller: &Caller, record: &mut StoredRecord) {
    if caller.is_bound() {
        record.additional_parameters.remove(CHAIN_PARAMETER);
    }
}

/// The budgets of an application.
pub(crate) struct ApplicationBudgets {
    /// Whose they are.
    pub(crate) application: ApplicationId,
    /// Those of its policy.
    pub(crate) budgets: Vec<Budget>,
}

impl Records {
    /// A page of the list.
    pub(crate) async fn page(
        &self,
        caller: &Caller,
        mut filter: RecordFilter,
    ) -> Result<RecordPage, ApiError> {
        must_search(caller, &filter)?;
        filter.application_id = caller.narrow(filter.application_id)?;
        let records = self.records.clone();
        let read = async move { records.page(&filter).await };
        self.reads.read(caller, read).await
    }

    /// Whether there are records that the caller may read.
    pub(crate) async fn has_records(&self, caller: &Caller) -> Result<bool, ApiError> {
        let filter = RecordFilter {
            limit: 1,
            ..RecordFilter::default()
        };
        Ok(!self.page(caller, filter).await?.records.is_empty())
    }

    /// A page of whole records without their originals.
    pub(crate) async fn whole_page(
        &self,
        caller: &Caller,
        mut filter: RecordFilter,
    ) -> Result<CleanedPage, ApiError> {
        must_search(caller, &filter)?;
        filter.application_id = caller.narrow(filter.application_id)?;
        let records = self.records.clone();
        let read = async move { records.whole_page(&filter).await };
        let page = self.reads.read(caller, read).await?;
        let records = page.records.into_iter().map(|mut record| {
            hide_chain(caller, &mut record);
            cleaned(caller, record)
        });
        Ok(CleanedPage {
            records: records.collect(),
            next_before: page.next_before,
        })
    }

    /// A record that the caller can see, without its original.
    pub(crate) async fn record(
        &self,
        caller: &Caller,
        id: RecordId,
    ) -> Result<CleanedRecord, ApiError> {
        let record = find_record(&self.records, &self.reads, caller, id).await?;
        Ok(cleaned(caller, record))
    }

    /// `SQLite` or `PostgreSQL`.
    pub(crate) fn store_kind(&self) -> &'static str {
        self.engine.kind()
    }

    /// What the store is; measuring its size may take a while.
    pub(crate) async fn store_facts(&self) -> Result<StoreFacts, ApiError> {
        Ok(self.engine.facts().await?)
    }

    /// The gateways whose numbered records were received, the latest first.
    pub(crate) async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, ApiError> {
        Ok(self.chain.gateways(limit).await?)
    }

    /// A page of sessions, the one with the latest record first.
    pub(crate) async fn sessions(
        &self,
        caller: &Caller,
        mut filter: SessionFilter,
    ) -> Result<SessionPage, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        let limit = filter.limit;
        // One more than requested, to see whether there is a next page.
        filter.limit = limit.saturating_add(1);
        let records = self.records.clone();
        let read = async move { records.sessions(&filter).await };
        Ok(SessionPage::cut(
            self.reads.read(caller, read).await?,
            limit,
        ))
    }

    /// Traffic of a range of hours since 1970, with the most frequent types of finds.
    pub(crate) async fn traffic(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
        hours: (i64, i64),
        most_types: u32,
    ) -> Result<(Vec<HourTraffic>, Vec<TypeCount>), ApiError> {
        let application = caller.narrow(application)?;
        let statistics = self.statistics.clone();
        let read = async move {
            let traffic = statistics.traffic(application, hours).await?;
            let found = statistics.traffic_types(application, hours, most_types);
            Ok((traffic, found.await?))
        };
        self.reads.read(caller, read).await
    }

    /// Users whose names contain this text, in any letter case: the first ones of a bounded number of those whom the
    /// sums of costs name.
    pub(crate) async fn users_like(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
        part: &str,
    ) -> Result<Vec<String>, ApiError> {
        let application = caller.narrow(application)?;
        let part = part.to_lowercase();
        let (mut found, mut after) = (Vec::new(), String::new());
        for _ in 0..PAGES_OF_USERS {
            let statistics = self.statistics.clone();
            let read = async move {
                let page = statistics.user_names(application, &after, USERS_OF_PAGE);
                page.await
            };
            let page = self.reads.read(caller, read).await?;
            let names = page.names.into_iter();
            found.extend(names.filter(|name| name.to_lowercase().contains(&part)));
            match page.next_after.filter(|_| found.len() < MOST_USERS) {
                Some(next) => after = next,
                None => break,
            }
        }
        found.truncate(MOST_USERS);
        Ok(found)
    }

    /// What calls cost, and whether there are more sums than the filter's limit.
    pub(crate) async fn costs(
        &self,
        caller: &Caller,
        mut filter: CostFilter,
    ) -> Result<(Vec<CostSum>, bool), ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        let limit = filter.limit as usize;
        // One more than requested, to see whether there are more.
        filter.limit = filter.limit.saturating_add(1);
        let statistics = self.statistics.clone();
        let read = async move { statistics.costs(&filter).await };
        let mut sums = self.reads.read(caller, read).await?;
        let truncated = sums.len() > limit;
        sums.truncate(limit);
        Ok((sums, truncated))
    }

    /// What is spent of an application's budgets, in the windows of now; in those of each user, by the `most` users who
    /// have spent most.
    pub(crate) async fn budget_uses(
        &self,
        caller: &Caller,
        of: ApplicationBudgets,
        most: u32,
    ) -> Result<Vec<BudgetUse>, ApiError> {
        let ApplicationBudgets {
            application,
            budgets,
        } = of;
        caller.must_reach(application)?;
        let statistics = self.statistics.clone();
        let terms = Terms {
            users: Users::Highest(most),
            ..self.budgets.terms()
        };
        let read = async move { spending::uses(&*statistics, application, &budgets, &terms).await };
        self.reads.read(caller, read).await
    }

    /// The same where anybody may ask for it again and again: one tenant has one such request at a time.
    pub(crate) async fn budget_uses_in_turn(
        &self,
        caller: &Caller,
        of: ApplicationBudgets,
        most: u32,
    ) -> Result<Vec<BudgetUse>, ApiError> {
        let _only_one = self.reads.take_sum(caller).await?;
        self.budget_uses(caller, of, most).await
    }

    /// A page of statistics.
    pub(crate) async fn statistics(
        &self,
        caller: &Caller,
        mut filter: StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        let statistics = self.statistics.clone();
        let read = async move { statistics.statistics(&filter).await };
        self.reads.read(caller, read).await
    }
}
