//! The SQL of tokens (CONTRACT 30).

use super::rows::{bytes, uuid};
use crate::{Scopes, StoreError, Token, TokenChange, TokenHash, TokenId};
use monitor_model::ApplicationId;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};

const ADD: &str = "
    INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms, expires_at_ms,
                        revoked_at_ms, last_used_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (hash) DO NOTHING";

const CHANGE: &str = "
    UPDATE tokens SET name = coalesce(?2, name),
        expires_at_ms = CASE WHEN ?3 THEN ?4 ELSE expires_at_ms END,
        revoked_at_ms = coalesce(revoked_at_ms, ?5)
    WHERE id = ?1 RETURNING *";

const TOUCH: &str = "
    UPDATE tokens SET last_used_at_ms = max(coalesce(last_used_at_ms, ?2), ?2) WHERE id = ?1";

pub(super) async fn any_made(readers: &SqlitePool) -> Result<bool, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT tokens_made FROM settings_changes")
            .fetch_one(readers)
            .await?,
    )
}

pub(super) async fn by_hash(
    readers: &SqlitePool,
    hash: &TokenHash,
) -> Result<Option<Token>, StoreError> {
    let row = sqlx::query("SELECT * FROM tokens WHERE hash = ?1")
        .bind(hash.0.to_vec())
        .fetch_optional(readers)
        .await?;
    row.as_ref().map(token).transpose()
}

pub(super) async fn by_id(readers: &SqlitePool, id: TokenId) -> Result<Option<Token>, StoreError> {
    let row = sqlx::query("SELECT * FROM tokens WHERE id = ?1")
        .bind(bytes(id.0))
        .fetch_optional(readers)
        .await?;
    row.as_ref().map(token).transpose()
}

pub(super) async fn page(
    readers: &SqlitePool,
    application: Option<ApplicationId>,
    before: Option<(i64, TokenId)>,
    limit: u32,
) -> Result<Vec<Token>, StoreError> {
    let mut query = page_query(application, before, limit);
    let rows = query.build().fetch_all(readers).await?;
    rows.iter().map(token).collect()
}

pub(super) fn page_query(
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
        query.push(" AND application_id = ").push_bind(bytes(id.0));
    }
    if let Some((created_at_ms, id)) = before {
        query.push(" AND (created_at_ms, id) < (");
        query.push_bind(created_at_ms).push(", ");
        query.push_bind(bytes(id.0)).push(")");
    }
    query.push(" ORDER BY created_at_ms DESC, id DESC LIMIT ");
    query.push_bind(i64::from(limit));
    query
}

pub(super) async fn add(
    connection: &mut SqliteConnection,
    hash: TokenHash,
    token: Token,
) -> Result<(), StoreError> {
    sqlx::query(ADD)
        .bind(bytes(token.id.0))
        .bind(token.name)
        .bind(hash.0.to_vec())
        .bind(token.scopes.bits())
        .bind(token.application_id.map(|id| bytes(id.0)))
        .bind(token.created_at_ms)
        .bind(token.expires_at_ms)
        .bind(token.revoked_at_ms)
        .bind(token.last_used_at_ms)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn change(
    connection: &mut SqliteConnection,
    id: TokenId,
    change: TokenChange,
) -> Result<Option<Token>, StoreError> {
    let row = sqlx::query(CHANGE)
        .bind(bytes(id.0))
        .bind(change.name)
        .bind(change.expires_at_ms.is_some())
        .bind(change.expires_at_ms.flatten())
        .bind(change.revoked_at_ms)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(token).transpose()
}

pub(super) async fn touch(
    connection: &mut SqliteConnection,
    id: TokenId,
    used_at_ms: i64,
) -> Result<(), StoreError> {
    sqlx::query(TOUCH)
        .bind(bytes(id.0))
        .bind(used_at_ms)
        .execute(connection)
        .await?;
    Ok(())
}

fn token(row: &SqliteRow) -> Result<Token, StoreError> {
    let application: Option<&[u8]> = row.try_get("application_id")?;
    Ok(Token {
        id: TokenId(uuid(row.try_get("id")?)?),
        name: row.try_get("name")?,
        scopes: Scopes::from_bits(row.try_get("scopes")?),
        application_id: application.map(uuid).transpose()?.map(ApplicationId),
        created_at_ms: row.try_get("created_at_ms")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
        revoked_at_ms: row.try_get("revoked_at_ms")?,
        last_used_at_ms: row.try_get("last_used_at_ms")?,
    })
}
