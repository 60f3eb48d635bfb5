//! Sessions and statistics: read as they were counted, whatever number of records there is.

use super::PostgresStore;
use super::row::{count, optional, stage, stage_number, text};
use super::text::{shield, text_key};
use crate::{
    DayStatistics, RecordStore as _, SessionFilter, SessionSummary, StatisticsFilter, StoreError,
    StoreFacts,
};
use monitor_model::{ApplicationId, TypeCount};
use sqlx::postgres::PgRow;
use sqlx::{QueryBuilder, Row as _};
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

const TYPES: &str = "
    SELECT day, application_id, stage, kind, sum(finds)::bigint AS finds
    FROM statistics_types
    WHERE day BETWEEN $1 AND $2 AND ($3::uuid IS NULL OR application_id = $3)
        AND (day, application_id, stage) > ($4, $5, $6)
        AND (day, application_id, stage) <= ($2, $7, $8)
    GROUP BY day, application_id, stage, kind ORDER BY day, application_id, stage, kind COLLATE \"C\"";

/// The server's own version without what its packager adds.
const FACTS: &str = "
    SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
        pg_database_size(current_database()) AS bytes,
        (SELECT max(version) FROM schema_version) AS schema";

impl PostgresStore {
    pub(super) async fn read_facts(&self) -> Result<StoreFacts, StoreError> {
        let rows = self.all(sqlx::query(FACTS)).await?;
        let row = rows.first().ok_or(StoreError::Unreadable("version"))?;
        Ok(StoreFacts {
            kind: self.kind(),
            version: row.try_get("version")?,
            schema: row.try_get("schema")?,
            bytes: count(row, "bytes")?,
        })
    }

    pub(super) async fn read_statistics(
        &self,
        filter: &StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, StoreError> {
        let after = match filter.after {
            Some((day, application, stage)) => (day, application.0, stage_number(stage)),
            None => (i64::MIN, Uuid::nil(), -1),
        };
        let ask = |sql: &'static str, last: i64| {
            let query = sqlx::query(sql).bind(filter.days.0.max(after.0)).bind(last);
            let query = query.bind(filter.application_id.map(|id| id.0));
            query.bind(after.0).bind(after.1).bind(after.2)
        };
        let days = ask(DAYS, filter.days.1).bind(i64::from(filter.limit));
        let days = self.all(days).await?;
        let mut statistics = days.iter().map(day).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = statistics.last() else {
            return Ok(statistics);
        };
        let types = ask(TYPES, last.day).bind(last.application_id.0);
        let types = self.all(types.bind(stage_number(last.stage))).await?;
        for row in &types {
            let key = (
                row.try_get("day")?,
                ApplicationId(row.try_get("application_id")?),
                stage(row)? as u8,
            );
            let of = |one: &DayStatistics| (one.day, one.application_id, one.stage as u8);
            if let Ok(index) = statistics.binary_search_by(|one| of(one).cmp(&key)) {
                statistics[index].types.push(TypeCount {
                    kind: text(row, "kind")?,
                    count: count(row, "finds")?,
                });
            }
        }
        Ok(statistics)
    }

    pub(super) async fn read_sessions(
        &self,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let mut query = QueryBuilder::new(
            "SELECT s.* FROM sessions s WHERE NOT EXISTS (SELECT FROM removed_applications gone
                 WHERE gone.application_id = s.application_id AND s.last_ms <= gone.removed_at_ms)",
        );
        if let Some(id) = filter.application_id {
            query.push(" AND s.application_id = ").push_bind(id.0);
        }
        if let Some(user) = &filter.user_id {
            let user = shield(user).into_owned();
            query.push(" AND s.user_key = ").push_bind(text_key(&user));
            query.push(" AND s.user_id = ").push_bind(user);
        }
        if let Some((last_ms, application, session)) = &filter.before {
            query.push(" AND s.last_ms <= ").push_bind(*last_ms);
            query.push(" AND (s.last_ms, s.application_id, s.session_id) < (");
            query.push_bind(*last_ms).push(", ");
            query.push_bind(application.0).push(", ");
            query.push_bind(shield(session).into_owned()).push(")");
        }
        query.push(" ORDER BY s.last_ms DESC, s.application_id DESC, s.session_id DESC LIMIT ");
        query.push_bind(i64::from(filter.limit));
        let rows = self.all(query.build().persistent(false)).await?;
        rows.iter().map(session).collect()
    }
}

fn day(row: &PgRow) -> Result<DayStatistics, StoreError> {
    Ok(DayStatistics {
        day: row.try_get("day")?,
        application_id: ApplicationId(row.try_get("application_id")?),
        stage: stage(row)?,
        messages: count(row, "messages")?,
        flagged_guardrails: count(row, "flagged_guardrails")?,
        flagged_custom_policy: count(row, "flagged_custom_policy")?,
        flagged_dataclean: count(row, "flagged_dataclean")?,
        blocked: count(row, "blocked")?,
        failed: count(row, "failed")?,
        tokens: count(row, "tokens")?,
        total_us: count(row, "total_us")?,
        max_us: count(row, "max_us")?,
        types: Vec::new(),
    })
}

fn session(row: &PgRow) -> Result<SessionSummary, StoreError> {
    Ok(SessionSummary {
        application_id: ApplicationId(row.try_get("application_id")?),
        session_id: text(row, "session_id")?,
        user_id: optional(row, "user_id")?,
        first_ms: row.try_get("first_ms")?,
        last_ms: row.try_get("last_ms")?,
        messages: count(row, "messages")?,
        flagged: count(row, "flagged")?,
        tokens: count(row, "tokens")?,
    })
}
