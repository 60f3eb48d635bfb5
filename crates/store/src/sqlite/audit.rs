//! The SQL of the audit log.

use super::rows::{bytes, uuid};
use crate::{AuditEntry, AuditFilter, StoreError, TokenId};
use monitor_model::ApplicationId;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};

const ADD: &str = "
    INSERT INTO audit (at_ms, actor, token_id, action, target, application_id, details)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(super) async fn add(
    connection: &mut SqliteConnection,
    entry: AuditEntry,
) -> Result<(), StoreError> {
    sqlx::query(ADD)
        .bind(entry.at_ms)
        .bind(entry.actor)
        .bind(entry.token_id.map(|id| bytes(id.0)))
        .bind(entry.action)
        .bind(entry.target)
        .bind(entry.application_id.map(|id| bytes(id.0)))
        .bind(entry.details.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn page(
    readers: &SqlitePool,
    filter: &AuditFilter,
) -> Result<Vec<AuditEntry>, StoreError> {
    let rows = query(filter).build().fetch_all(readers).await?;
    rows.iter().map(entry).collect()
}

pub(super) fn query(filter: &AuditFilter) -> QueryBuilder<Sqlite> {
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
        query.push(" AND application_id = ").push_bind(bytes(id.0));
    }
    if let Some(actor) = &filter.actor {
        query.push(" AND actor = ").push_bind(actor.clone());
    }
    if let Some(action) = &filter.action {
        query.push(" AND action = ").push_bind(action.clone());
    }
    if let Some(before) = filter.before {
        query.push(" AND seq < ").push_bind(before);
    }
    query.push(" ORDER BY seq DESC LIMIT ");
    query.push_bind(i64::from(filter.limit));
    query
}

fn entry(row: &SqliteRow) -> Result<AuditEntry, StoreError> {
    let token: Option<&[u8]> = row.try_get("token_id")?;
    let application: Option<&[u8]> = row.try_get("application_id")?;
    Ok(AuditEntry {
        seq: row.try_get("seq")?,
        at_ms: row.try_get("at_ms")?,
        actor: row.try_get("actor")?,
        token_id: token.map(uuid).transpose()?.map(TokenId),
        action: row.try_get("action")?,
        target: row.try_get("target")?,
        application_id: application.map(uuid).transpose()?.map(ApplicationId),
        details: serde_json::from_str(row.try_get("details")?)
            .map_err(|_| StoreError::Unreadable("line of the audit log"))?,
    })
}
