//! The SQL of tokens (CONTRACT 30).

use super::audit;
use crate::error::StoreError;
use crate::settings::audit::AuditEntry;
use crate::settings::token_id::TokenId;
use crate::settings::tokens::{Token, TokenChange, TokenHash, TokenRotation, TokenStore};
use crate::sql::settings::token;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

const ADD: &str = "
    INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms, expires_at_ms,
                        revoked_at_ms, last_used_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (hash) DO NOTHING";

const CHANGE: &str = "
    UPDATE tokens SET name = coalesce(?2, name),
        expires_at_ms = CASE WHEN ?3 THEN ?4 ELSE expires_at_ms END,
        revoked_at_ms = coalesce(revoked_at_ms, ?5)
    WHERE id = ?1 RETURNING *";

const END: &str = "
    UPDATE tokens SET expires_at_ms = min(coalesce(expires_at_ms, ?2), ?2)
    WHERE id = ?1 AND revoked_at_ms IS NULL AND coalesce(expires_at_ms > ?3, true)";

const TOUCH: &str = "
    UPDATE tokens SET last_used_at_ms = max(coalesce(last_used_at_ms, ?2), ?2) WHERE id = ?1";

#[async_trait]
impl TokenStore for SqliteStore {
    async fn has_tokens(&self) -> Result<bool, StoreError> {
        let made = sqlx::query_scalar("SELECT tokens_made FROM settings_changes");
        Ok(made.fetch_one(&self.readers).await?)
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        let row = sqlx::query("SELECT * FROM tokens WHERE hash = ?1")
            .bind(hash.0.to_vec())
            .fetch_optional(&self.lookups)
            .await?;
        row.as_ref().map(token).transpose()
    }

    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        let row = sqlx::query("SELECT * FROM tokens WHERE id = ?1")
            .bind(id.0)
            .fetch_optional(&self.lookups)
            .await?;
        row.as_ref().map(token).transpose()
    }

    async fn tokens(
        &self,
        application: Option<ApplicationId>,
        before: Option<(i64, TokenId)>,
        limit: u32,
    ) -> Result<Vec<Token>, StoreError> {
        let mut query = page_query(application, before, limit);
        let rows = query.build().fetch_all(&self.readers).await?;
        rows.iter().map(token).collect()
    }

    async fn add_token(
        &self,
        hash: TokenHash,
        token: Token,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        self.write_setting(move |connection| Box::pin(add(connection, hash, token, audit)))
            .await
    }

    async fn change_token(
        &self,
        id: TokenId,
        change: TokenChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Token>, StoreError> {
        self.write_setting(move |connection| Box::pin(alter(connection, id, change, audit)))
            .await
    }

    async fn rotate_token(
        &self,
        rotation: TokenRotation,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        self.write_setting(move |connection| Box::pin(rotate(connection, rotation, audit)))
            .await
    }

    fn touch_token(&self, id: TokenId, used_at_ms: i64) {
        self.writer
            .write_later(move |connection| Box::pin(touch(connection, id, used_at_ms)));
    }
}

pub(in crate::sqlite) fn page_query(
    application: Option<ApplicationId>,
    before: Option<(i64, TokenId)>,
    limit: u32,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT * FROM tokens INDEXED BY ");
    query.push(match application {
        Some(_) => "tokens_by_application",
        None => "tokens_by_time",
    });
    query.push(" WHERE true");
    if let Some(id) = application {
        query.push(" AND application_id = ").push_bind(id.0);
    }
    if let Some((created_at_ms, id)) = before {
        query.push(" AND (created_at_ms, id) < (");
        query.push_bind(created_at_ms).push(", ");
        query.push_bind(id.0).push(")");
    }
    query.push(" ORDER BY created_at_ms DESC, id DESC LIMIT ");
    query.push_bind(i64::from(limit));
    query
}

async fn add(
    connection: &mut SqliteConnection,
    hash: TokenHash,
    token: Token,
    audit: Option<AuditEntry>,
) -> Result<(), StoreError> {
    let added = sqlx::query(ADD)
        .bind(token.id.0)
        .bind(token.name)
        .bind(hash.0.to_vec())
        .bind(token.scopes.bits())
        .bind(token.application_id.map(|id| id.0))
        .bind(token.created_at_ms)
        .bind(token.expires_at_ms)
        .bind(token.revoked_at_ms)
        .bind(token.last_used_at_ms)
        .execute(&mut *connection)
        .await?;
    match added.rows_affected() {
        0 => Ok(()),
        _ => audit::append(connection, audit).await,
    }
}

async fn alter(
    connection: &mut SqliteConnection,
    id: TokenId,
    change: TokenChange,
    audit: Option<AuditEntry>,
) -> Result<Option<Token>, StoreError> {
    let row = sqlx::query(CHANGE)
        .bind(id.0)
        .bind(change.name)
        .bind(change.expires_at_ms.is_some())
        .bind(change.expires_at_ms.flatten())
        .bind(change.revoked_at_ms)
        .fetch_optional(&mut *connection)
        .await?;
    if row.is_some() {
        audit::append(connection, audit).await?;
    }
    row.as_ref().map(token).transpose()
}

/// False if there is no valid token to replace.
async fn rotate(
    connection: &mut SqliteConnection,
    rotation: TokenRotation,
    audit: Option<AuditEntry>,
) -> Result<bool, StoreError> {
    let ended = sqlx::query(END)
        .bind(rotation.old.0)
        .bind(rotation.old_ends_at_ms)
        .bind(rotation.new.created_at_ms)
        .execute(&mut *connection)
        .await?;
    if ended.rows_affected() == 0 {
        return Ok(false);
    }
    add(connection, rotation.hash, rotation.new, None).await?;
    audit::append(connection, audit).await?;
    Ok(true)
}

async fn touch(
    connection: &mut SqliteConnection,
    id: TokenId,
    used_at_ms: i64,
) -> Result<(), StoreError> {
    sqlx::query(TOUCH)
        .bind(id.0)
        .bind(used_at_ms)
        .execute(connection)
        .await?;
    Ok(())
}
