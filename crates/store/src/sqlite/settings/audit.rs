//! The SQL of the audit log.

use crate::error::StoreError;
use crate::settings::audit::{AuditEntry, AuditFilter, AuditStore};
use crate::sql::settings::audit_entry;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

const ADD: &str = "
    INSERT INTO audit (at_ms, actor, token_id, action, target, application_id, details)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

#[async_trait]
impl AuditStore for SqliteStore {
    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(append(connection, Some(entry))))
            .await
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        let rows = query(filter).build().fetch_all(&self.readers).await?;
        rows.iter().map(audit_entry).collect()
    }
}

/// Writes the entry of a change into its transaction.
pub(in crate::sqlite) async fn append(
    connection: &mut SqliteConnection,
    entry: Option<AuditEntry>,
) -> Result<(), StoreError> {
    let Some(entry) = entry else {
        return Ok(());
    };
    sqlx::query(ADD)
        .bind(entry.at_ms)
        .bind(entry.actor)
        .bind(entry.token_id.map(|id| id.0))
        .bind(entry.action)
        .bind(entry.target)
        .bind(entry.application_id.map(|id| id.0))
        .bind(entry.details.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(in crate::sqlite) fn query(filter: &AuditFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT * FROM audit ");
    query.push(
        match (filter.application_id, &filter.actor, &filter.action) {
            (Some(_), ..) => "INDEXED BY audit_by_application",
            (None, Some(_), _) => "INDEXED BY audit_by_actor",
            (None, None, Some(_)) => "INDEXED BY audit_by_action",
            (None, None, None) => "NOT INDEXED",
        },
    );
    query.push(" WHERE true");
    if let Some(id) = filter.application_id {
        query.push(" AND application_id = ").push_bind(id.0);
    }
    if let Some(actor) = &filter.actor {
        query.push(" AND actor = ").push_bind(actor.clone());
    }
    if let Some(action) = &filter.action {
        query.push(" AND action = ").push_bind(action.clone());
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
    query
}
