//! Reads statistics per day, application and stage, and traffic per hour.

use super::user_names::NEXT;
use super::{cost_sums, spending, traffic, user_sums};
use crate::costs::{CostFilter, CostSum, SpendingFilter};
use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::{escaped, stage_number};
use crate::sql::columns::{Columns as _, type_count};
use crate::sql::statistics::{day, hour, user_names};
use crate::statistics::{
    DayStatistics, HourTraffic, MOST_OWN_KINDS, OTHER_FINDS, StatisticsFilter, StatisticsStore,
    UserNames, counted_as, shared_kinds,
};
use crate::user_days::{UserDay, UserDayFilter, UserFilter, UserTotal};
use async_trait::async_trait;
use monitor_model::{ApplicationId, TypeCount};
use uuid::Uuid;

const DAYS: &str = "
    SELECT day, application_id, stage, sum(messages)::bigint AS messages,
        sum(flagged_guardrails)::bigint AS flagged_guardrails,
        sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
        sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
        sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
        sum(total_us)::bigint AS total_us, max(max_us) AS max_us
    FROM statistics
    WHERE day BETWEEN $1 AND $2 AND ($3::uuid IS NULL OR application_id = $3)
        AND (day, application_id, stage) > ($4, $5, $6)
        AND (SELECT true FROM applications WHERE id = application_id)
    GROUP BY day, application_id, stage HAVING sum(messages) > 0
    ORDER BY day, application_id, stage LIMIT $7";

/// Of an application's own names the $10 most frequent ones; $9 are the names of all.
const TYPES: &str = "
    SELECT day, application_id, stage, CASE WHEN is_shared OR place <= $10 THEN kind ELSE $11 END AS kind,
        sum(finds)::bigint AS finds
    FROM (
        SELECT day, application_id, stage, kind, sum(finds) AS finds, kind = ANY ($9::text[]) AS is_shared,
            row_number() OVER (PARTITION BY day, application_id, stage, kind = ANY ($9::text[])
                ORDER BY sum(finds) DESC, kind COLLATE \"C\") AS place
        FROM statistics_types
        WHERE day BETWEEN $1 AND $2 AND ($3::uuid IS NULL OR application_id = $3)
            AND (day, application_id, stage) > ($4, $5, $6)
            AND (day, application_id, stage) <= ($2, $7, $8)
        GROUP BY day, application_id, stage, kind) AS placed
    GROUP BY 1, 2, 3, 4";

#[async_trait]
impl StatisticsStore for PostgresStore {
    async fn statistics(
        &self,
        filter: &StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, StoreError> {
        let after = match filter.after {
            Some((day, application, stage)) => (day, application.0, stage_number(stage)),
            None => (i64::MIN, Uuid::nil(), -1),
        };
        let select = |sql: &'static str, last: i64| {
            let query = sqlx::query(sql).bind(filter.days.0.max(after.0)).bind(last);
            let query = query.bind(filter.application_id.map(|id| id.0));
            query.bind(after.0).bind(after.1).bind(after.2)
        };
        let days = select(DAYS, filter.days.1).bind(i64::from(filter.limit));
        let days = self.all(days).await?;
        let mut statistics = days.iter().map(day).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = statistics.last() else {
            return Ok(statistics);
        };
        let types = select(TYPES, last.day).bind(last.application_id.0);
        let types = types.bind(stage_number(last.stage)).bind(shared_kinds());
        let types = self
            .all(types.bind(MOST_OWN_KINDS).bind(OTHER_FINDS))
            .await?;
        for row in &types {
            let application = ApplicationId(row.id("application_id")?);
            let key = (row.number("day")?, application, row.stage()? as u8);
            let of = |one: &DayStatistics| (one.day, one.application_id, one.stage as u8);
            if let Ok(index) = statistics.binary_search_by(|one| of(one).cmp(&key)) {
                statistics[index].types.push(type_count(row)?);
            }
        }
        for day in &mut statistics {
            day.types.sort_by(|one, next| one.kind.cmp(&next.kind));
        }
        Ok(statistics)
    }

    async fn costs(&self, filter: &CostFilter) -> Result<Vec<CostSum>, StoreError> {
        cost_sums::read(self, filter).await
    }

    async fn spending(&self, filter: &SpendingFilter) -> Result<Vec<CostSum>, StoreError> {
        spending::read(self, filter).await
    }

    async fn user_names(
        &self,
        application: Option<ApplicationId>,
        after: &str,
        limit: u32,
    ) -> Result<UserNames, StoreError> {
        let query = sqlx::query(NEXT)
            .bind(escaped(after))
            .bind(application.map(|id| id.0))
            .bind(i64::from(limit));
        user_names(&self.all(query).await?, limit)
    }

    async fn users(&self, filter: &UserFilter) -> Result<Vec<UserTotal>, StoreError> {
        user_sums::totals(self, filter).await
    }

    async fn user_days(&self, filter: &UserDayFilter) -> Result<Vec<UserDay>, StoreError> {
        user_sums::days(self, filter).await
    }

    async fn traffic(
        &self,
        application: Option<ApplicationId>,
        (first, last): (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError> {
        let query = sqlx::query(traffic::HOURS).bind(counted_as(application));
        let rows = self.all(query.bind(first).bind(last)).await?;
        rows.iter().map(hour).collect()
    }

    async fn traffic_types(
        &self,
        application: Option<ApplicationId>,
        (first, last): (i64, i64),
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError> {
        let query = sqlx::query(traffic::TYPES).bind(counted_as(application));
        let query = query.bind(first).bind(last).bind(i64::from(limit));
        self.all(query).await?.iter().map(type_count).collect()
    }
}
