//! Reading what is kept: records, sessions, statistics. A bound token sees its own application only;
//! that rule stands here once. How a filter is written in an address is `http`'s business.

use super::Service;
use super::error::{ApiError, Resource};
use crate::model::{ApplicationId, RecordId};
use crate::store::{
    DayStatistics, RecordFilter, RecordPage, SessionFilter, SessionSummary, StoredRecord, Token,
    WholePage,
};

impl Service {
    /// A page of the list.
    pub(super) async fn page(
        &self,
        token: &Token,
        mut filter: RecordFilter,
    ) -> Result<RecordPage, ApiError> {
        filter.application_id = visible(token, filter.application_id)?;
        Ok(self.store().page(&filter).await?)
    }

    /// A page of whole records.
    pub(super) async fn whole_page(
        &self,
        token: &Token,
        mut filter: RecordFilter,
    ) -> Result<WholePage, ApiError> {
        filter.application_id = visible(token, filter.application_id)?;
        Ok(self.store().whole_page(&filter).await?)
    }

    /// One record.
    pub(super) async fn record(
        &self,
        token: &Token,
        id: RecordId,
    ) -> Result<StoredRecord, ApiError> {
        let record = self.store().record(id).await?.ok_or(ApiError::NotFound)?;
        match token.application_id {
            Some(bound) if bound != record.summary.application_id => {
                Err(ApiError::OtherApplication(Resource::Record))
            }
            _ => Ok(record),
        }
    }

    /// A page of sessions, the one with the latest record first.
    pub(super) async fn sessions(
        &self,
        token: &Token,
        mut filter: SessionFilter,
    ) -> Result<Vec<SessionSummary>, ApiError> {
        filter.application_id = visible(token, filter.application_id)?;
        Ok(self.store().sessions(&filter).await?)
    }

    /// Statistics of the days from `first` to `last`, days since 1970.
    pub(super) async fn statistics(
        &self,
        token: &Token,
        application: Option<ApplicationId>,
        (first, last): (i64, i64),
    ) -> Result<Vec<DayStatistics>, ApiError> {
        let application = visible(token, application)?;
        Ok(self.store().statistics(application, first, last).await?)
    }
}

/// The application that a list is narrowed to.
fn visible(token: &Token, asked: Option<ApplicationId>) -> Result<Option<ApplicationId>, ApiError> {
    match (token.application_id, asked) {
        (Some(bound), Some(asked)) if asked != bound => {
            Err(ApiError::OtherApplication(Resource::Application))
        }
        (Some(bound), _) => Ok(Some(bound)),
        (None, asked) => Ok(asked),
    }
}
