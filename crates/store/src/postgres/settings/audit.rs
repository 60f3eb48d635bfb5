//! The SQL of the audit log.

use crate::error::StoreError;
use crate::postgres::pool::with_timeout;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::escaped;
use crate::settings::audit::{AuditEntry, AuditFilter, AuditStore};
use crate::sql::settings::audit_entry;
use async_trait::async_trait;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Connection as _, PgConnection, Postgres, QueryBuilder};

const ADD: &str = "
    INSERT INTO audit_log (at_ms, actor, token_id, action, target, application_id, details)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

#[async_trait]
impl AuditStore for PostgresStore {
    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.all(insert(&entry)).await.map(drop)
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        let mut query = QueryBuilder::new("SELECT * FROM audit_log WHERE true");
        if let Some(id) = filter.application_id {
            query.push(" AND application_id = ").push_bind(id.0);
        }
        if let Some(actor) = &filter.actor {
            let actor = escaped(actor).into_owned();
            query.push(" AND actor = ").push_bind(actor);
        }
        if let Some(action) = &filter.action {
            let action = escaped(action).into_owned();
            query.push(" AND action = ").push_bind(action);
        }
        if let Some(from) = filter.from_ms {
            query.push(" AND at_ms >= ").push_bind(from);
        }
        if let Some(to) = filter.to_ms {
            query.push(" AND at_ms < ").push_bind(to);
        }
        if let Some(before) = filter.before {
            query.push(" AND seq < ").push_bind(before);
        }
        if let Some(after) = filter.after {
            query.push(" AND seq > ").push_bind(after);
        }
        query.push(" ORDER BY seq DESC LIMIT ");
        query.push_bind(i64::from(filter.limit));
        let rows = self.all(query.build()).await?;
        rows.iter().map(audit_entry).collect()
    }
}

impl PostgresStore {
    /// Makes a change and writes its entry, in one transaction. Returns the rows that the change has; where it has
    /// none, there is no entry.
    pub(in crate::postgres) async fn change(
        &self,
        query: Query<'_, Postgres, PgArguments>,
        audit: Option<AuditEntry>,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let rows = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let rows = query.fetch_all(&mut *transaction).await?;
            if !rows.is_empty() {
                append(&mut transaction, audit).await?;
            }
            transaction.commit().await?;
            Ok(rows)
        })
        .await?;
        pooled.release();
        Ok(rows)
    }
}

/// Writes the entry of a change into its transaction.
pub(in crate::postgres) async fn append(
    connection: &mut PgConnection,
    entry: Option<AuditEntry>,
) -> Result<(), sqlx::Error> {
    if let Some(entry) = entry {
        insert(&entry).execute(connection).await?;
    }
    Ok(())
}

fn insert(entry: &AuditEntry) -> Query<'_, Postgres, PgArguments> {
    sqlx::query(ADD)
        .bind(entry.at_ms)
        .bind(escaped(&entry.actor))
        .bind(entry.token_id.map(|id| id.0))
        .bind(escaped(&entry.action))
        .bind(escaped(&entry.target))
        .bind(entry.application_id.map(|id| id.0))
        .bind(entry.details.to_string())
}
