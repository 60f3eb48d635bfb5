//! Statistics per day and traffic per hour, from the tables that the writer keeps up to date as records come
//! in.

pub(super) mod costs;
pub(super) mod days;
mod spending;
pub(super) mod traffic;
pub(super) mod user_days;
mod user_names;

use super::store::SqliteStore;
use crate::costs::{CostFilter, CostSum, SpendingFilter};
use crate::error::StoreError;
use crate::statistics::{DayStatistics, HourTraffic, StatisticsFilter, StatisticsStore, UserNames};
use crate::user_days::{UserDay, UserDayFilter, UserFilter, UserTotal};
use async_trait::async_trait;
use monitor_model::{ApplicationId, TypeCount};

#[async_trait]
impl StatisticsStore for SqliteStore {
    async fn statistics(
        &self,
        filter: &StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, StoreError> {
        days::page(&self.readers, filter).await
    }

    async fn costs(&self, filter: &CostFilter) -> Result<Vec<CostSum>, StoreError> {
        costs::sums(&self.readers, filter).await
    }

    async fn spending(&self, filter: &SpendingFilter) -> Result<Vec<CostSum>, StoreError> {
        spending::sums(&self.readers, filter).await
    }

    async fn user_names(
        &self,
        application: Option<ApplicationId>,
        after: &str,
        limit: u32,
    ) -> Result<UserNames, StoreError> {
        let rows = sqlx::query(user_names::NEXT)
            .bind(after)
            .bind(application.map(|id| id.0))
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        crate::sql::statistics::user_names(&rows, limit)
    }

    async fn users(&self, filter: &UserFilter) -> Result<Vec<UserTotal>, StoreError> {
        user_days::totals(&self.readers, filter).await
    }

    async fn user_days(&self, filter: &UserDayFilter) -> Result<Vec<UserDay>, StoreError> {
        user_days::days(&self.readers, filter).await
    }

    async fn traffic(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError> {
        traffic::hours(&self.readers, application, hours).await
    }

    async fn traffic_types(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError> {
        traffic::types(&self.readers, application, hours, limit).await
    }
}
