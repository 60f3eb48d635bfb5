//! The SQL of tokens and of the audit log (CONTRACT 30 and 38).

use super::PostgresStore;
use super::row::text;
use super::text::shield;
use crate::{AuditEntry, AuditFilter, Scopes, StoreError, Token, TokenChange, TokenHash, TokenId};
use monitor_model::ApplicationId;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, QueryBuilder, Row as _};
use uuid::Uuid;

const CHANGE: &str = "
    UPDATE tokens SET name = coalesce($2, name),
        expires_at_ms = CASE WHEN $3 THEN $4 ELSE expires_at_ms END,
        revoked_at_ms = coalesce(revoked_at_ms, $5)
    WHERE id = $1 RETURNING *";

const USES: &str = "
    UPDATE tokens t SET last_used_at_ms = greatest(coalesce(t.last_used_at_ms, 0), u.used_at_ms)
    FROM unnest($1::uuid[], $2::bigint[]) AS u (id, used_at_ms) WHERE t.id = u.id";

impl PostgresStore {
    pub(super) async fn find_token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        let query = sqlx::query("SELECT * FROM tokens WHERE hash = $1").bind(&hash.0[..]);
        self.all(query).await?.first().map(token).transpose()
    }

    pub(super) async fn token_of_id(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        let query = sqlx::query("SELECT * FROM tokens WHERE id = $1").bind(id.0);
        self.all(query).await?.first().map(token).transpose()
    }

    pub(super) async fn insert_token(
        &self,
        hash: TokenHash,
        token: Token,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms,
                                 expires_at_ms, revoked_at_ms, last_used_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO NOTHING",
        );
        let query = query
            .bind(token.id.0)
            .bind(shield(&token.name))
            .bind(&hash.0[..])
            .bind(token.scopes.bits())
            .bind(token.application_id.map(|id| id.0))
            .bind(token.created_at_ms)
            .bind(token.expires_at_ms)
            .bind(token.revoked_at_ms)
            .bind(token.last_used_at_ms);
        self.all(query).await.map(drop)
    }

    pub(super) async fn list_tokens(
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

    pub(super) async fn alter_token(
        &self,
        id: TokenId,
        change: TokenChange,
    ) -> Result<Option<Token>, StoreError> {
        let query = sqlx::query(CHANGE)
            .bind(id.0)
            .bind(change.name.as_deref().map(shield))
            .bind(change.expires_at_ms.is_some())
            .bind(change.expires_at_ms.flatten())
            .bind(change.revoked_at_ms);
        self.all(query).await?.first().map(token).transpose()
    }

    pub(super) async fn insert_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO audit_log (at_ms, actor, token_id, action, target, application_id, details)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        );
        let query = query
            .bind(entry.at_ms)
            .bind(shield(&entry.actor))
            .bind(entry.token_id.map(|id| id.0))
            .bind(shield(&entry.action))
            .bind(shield(&entry.target))
            .bind(entry.application_id.map(|id| id.0))
            .bind(entry.details.to_string());
        self.all(query).await.map(drop)
    }

    pub(super) async fn list_audit(
        &self,
        filter: &AuditFilter,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let mut query = QueryBuilder::new("SELECT * FROM audit_log WHERE true");
        if let Some(id) = filter.application_id {
            query.push(" AND application_id = ").push_bind(id.0);
        }
        if let Some(actor) = &filter.actor {
            let actor = shield(actor).into_owned();
            query.push(" AND actor = ").push_bind(actor);
        }
        if let Some(action) = &filter.action {
            let action = shield(action).into_owned();
            query.push(" AND action = ").push_bind(action);
        }
        if let Some(before) = filter.before {
            query.push(" AND seq < ").push_bind(before);
        }
        query.push(" ORDER BY seq DESC LIMIT ");
        query.push_bind(i64::from(filter.limit));
        let rows = self.all(query.build()).await?;
        rows.iter().map(entry).collect()
    }
}

/// Notes when tokens were used.
pub(super) async fn note_uses(
    connection: &mut PgConnection,
    uses: &[(Uuid, i64)],
) -> Result<(), sqlx::Error> {
    sqlx::query(USES)
        .bind(uses.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(uses.iter().map(|(_, at)| *at).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(drop)
}

fn token(row: &PgRow) -> Result<Token, StoreError> {
    Ok(Token {
        id: TokenId(row.try_get("id")?),
        name: text(row, "name")?,
        scopes: Scopes::from_bits(row.try_get("scopes")?),
        application_id: row
            .try_get::<Option<Uuid>, _>("application_id")?
            .map(ApplicationId),
        created_at_ms: row.try_get("created_at_ms")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
        revoked_at_ms: row.try_get("revoked_at_ms")?,
        last_used_at_ms: row.try_get("last_used_at_ms")?,
    })
}

fn entry(row: &PgRow) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        seq: row.try_get("seq")?,
        at_ms: row.try_get("at_ms")?,
        actor: text(row, "actor")?,
        token_id: row.try_get::<Option<Uuid>, _>("token_id")?.map(TokenId),
        action: text(row, "action")?,
        target: text(row, "target")?,
        application_id: row
            .try_get::<Option<Uuid>, _>("application_id")?
            .map(ApplicationId),
        details: serde_json::from_str(row.try_get("details")?)
            .map_err(|_| StoreError::Unreadable("entry of the audit log"))?,
    })
}
