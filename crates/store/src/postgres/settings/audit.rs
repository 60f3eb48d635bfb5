//! The SQL of the audit log.

use crate::audit::{AuditEntry, AuditFilter, AuditStore};
use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::escaped;
use crate::sql::settings::audit_entry;
use async_trait::async_trait;
use sqlx::QueryBuilder;

const ADD: &str = "
    INSERT INTO audit_log (at_ms, actor, token_id, action, target, application_id, details)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

#[async_trait]
impl AuditStore for PostgresStore {
    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        let query = sqlx::query(ADD)
            .bind(entry.at_ms)
            .bind(escaped(&entry.actor))
            .bind(entry.token_id.map(|id| id.0))
            .bind(escaped(&entry.action))
            .bind(escaped(&entry.target))
            .bind(entry.application_id.map(|id| id.0))
            .bind(entry.details.to_string());
        self.all(query).await.map(drop)
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
        if let Some(before) = filter.before {
            query.push(" AND seq < ").push_bind(before);
        }
        query.push(" ORDER BY seq DESC LIMIT ");
        query.push_bind(i64::from(filter.limit));
        let rows = self.all(query.build()).await?;
        rows.iter().map(audit_entry).collect()
    }
}
