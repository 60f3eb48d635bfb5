//! The SQL of tokens (CONTRACT 30).

use super::audit;
use crate::error::StoreError;
use crate::postgres::pool::with_timeout;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::escaped;
use crate::settings::audit::AuditEntry;
use crate::settings::token_id::TokenId;
use crate::settings::tokens::{Token, TokenChange, TokenHash, TokenRotation, TokenStore};
use crate::sql::settings::token;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Connection as _, Postgres, QueryBuilder};

const ANY: &str = "SELECT FROM tokens UNION ALL SELECT FROM tokens_removed LIMIT 1";
const ADD: &str = "
    INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms, expires_at_ms,
                        revoked_at_ms, last_used_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO NOTHING RETURNING id";
const CHANGE: &str = "
    UPDATE tokens SET name = coalesce($2, name),
        expires_at_ms = CASE WHEN $3 THEN $4 ELSE expires_at_ms END,
        revoked_at_ms = coalesce(revoked_at_ms, $5)
    WHERE id = $1 RETURNING *";

const END: &str = "
    UPDATE tokens SET expires_at_ms = least(expires_at_ms, $2)
    WHERE id = $1 AND revoked_at_ms IS NULL AND coalesce(expires_at_ms > $3, true)";

#[async_trait]
impl TokenStore for PostgresStore {
    async fn has_tokens(&self) -> Result<bool, StoreError> {
        Ok(!self.all(sqlx::query(ANY)).await?.is_empty())
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        let query = sqlx::query("SELECT * FROM tokens WHERE hash = $1").bind(&hash.0[..]);
        self.look_up(query).await?.first().map(token).transpose()
    }

    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        let query = sqlx::query("SELECT * FROM tokens WHERE id = $1").bind(id.0);
        self.look_up(query).await?.first().map(token).transpose()
    }

    async fn tokens(
        &self,
        application: Option<ApplicationId>,
        before: Option<(i64, TokenId)>,
        limit: u32,
    ) -> Result<Vec<Token>, StoreError> {
        let mut query = QueryBuilder::new("SELECT * FROM tokens WHERE true");
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
        let rows = self.all(query.build()).await?;
        rows.iter().map(token).collect()
    }

    async fn add_token(
        &self,
        hash: TokenHash,
        token: Token,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        self.change(add(&hash, &token), audit).await.map(drop)
    }

    async fn change_token(
        &self,
        id: TokenId,
        change: TokenChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Token>, StoreError> {
        let rows = self.change(alter(id, &change), audit).await?;
        rows.first().map(token).transpose()
    }

    async fn rotate_token(
        &self,
        rotation: TokenRotation,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let is_done = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let ended = sqlx::query(END)
                .bind(rotation.old.0)
                .bind(rotation.old_ends_at_ms)
                .bind(rotation.new.created_at_ms)
                .execute(&mut *transaction)
                .await?;
            let is_valid = ended.rows_affected() > 0;
            if is_valid {
                let new = add(&rotation.hash, &rotation.new);
                new.execute(&mut *transaction).await?;
                audit::append(&mut transaction, audit).await?;
            }
            transaction.commit().await?;
            Ok(is_valid)
        })
        .await?;
        pooled.release();
        Ok(is_done)
    }

    fn touch_token(&self, id: TokenId, used_at_ms: i64) {
        self.writer.touch(id, used_at_ms);
    }
}

fn add<'q>(hash: &'q TokenHash, token: &'q Token) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(ADD)
        .bind(token.id.0)
        .bind(escaped(&token.name))
        .bind(&hash.0[..])
        .bind(token.scopes.bits())
        .bind(token.application_id.map(|id| id.0))
        .bind(token.created_at_ms)
        .bind(token.expires_at_ms)
        .bind(token.revoked_at_ms)
        .bind(token.last_used_at_ms)
}

fn alter(id: TokenId, change: &TokenChange) -> Query<'_, Postgres, PgArguments> {
    sqlx::query(CHANGE)
        .bind(id.0)
        .bind(change.name.as_deref().map(escaped))
        .bind(change.expires_at_ms.is_some())
        .bind(change.expires_at_ms.flatten())
        .bind(change.revoked_at_ms)
}
