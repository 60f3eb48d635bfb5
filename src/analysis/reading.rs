//! Reading what is kept: records, sessions, statistics. A bound caller sees its own application
//! only. How a filter is written in an address is `http`'s business.

use super::Service;
use super::authority::Caller;
use super::error::ApiError;
use monitor_model::{ApplicationId, RecordId, TypeCount};
use monitor_store::{
    DayStatistics, HourTraffic, RecordFilter, RecordPage, SessionFilter, SessionSummary,
    StatisticsFilter, StoredRecord, WholePage,
};

impl Service {
    /// A page of the list.
    pub(super) async fn page(
        &self,
        caller: &Caller,
        mut filter: RecordFilter,
    ) -> Result<RecordPage, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        Ok(self.store().page(&filter).await?)
    }

    /// Whether there is anything that the caller may read.
    pub(super) async fn has_records(&self, caller: &Caller) -> Result<bool, ApiError> {
        let filter = RecordFilter {
            limit: 1,
            ..RecordFilter::default()
        };
        Ok(!self.page(caller, filter).await?.records.is_empty())
    }

    /// A page of whole records.
    pub(super) async fn whole_page(
        &self,
        caller: &Caller,
        mut filter: RecordFilter,
    ) -> Result<WholePage, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        Ok(self.store().whole_page(&filter).await?)
    }

    /// One record.
    pub(super) async fn record(
        &self,
        caller: &Caller,
        id: RecordId,
    ) -> Result<StoredRecord, ApiError> {
        let record = self.store().record(id).await?;
        record
            .filter(|record| caller.sees(Some(record.summary.application_id)))
            .ok_or(ApiError::NotFound)
    }

    /// A page of sessions, the one with the latest record first.
    pub(super) async fn sessions(
        &self,
        caller: &Caller,
        mut filter: SessionFilter,
    ) -> Result<Vec<SessionSummary>, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        Ok(self.store().sessions(&filter).await?)
    }

    /// Traffic of the hours from the first to the last one, since 1970, with what was found most.
    pub(super) async fn traffic(
        &self,
        caller: &Caller,
        application: Option<ApplicationId>,
        (hours, types): ((i64, i64), u32),
    ) -> Result<(Vec<HourTraffic>, Vec<TypeCount>), ApiError> {
        let application = caller.narrow(application)?;
        let traffic = self.store().traffic(application, hours).await?;
        let found = self.store().traffic_types(application, hours, types);
        Ok((traffic, found.await?))
    }

    /// A page of statistics.
    pub(super) async fn statistics(
        &self,
        caller: &Caller,
        mut filter: StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        Ok(self.store().statistics(&filter).await?)
    }
}
