//! The SQL of applications and tokens.

use super::SqliteStore;
use super::writer::Write;
use crate::model::{ApplicationId, Policy};
use crate::store::{Application, Scopes, SettingsStore, StoreError, Token, TokenHash, TokenId};
use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use uuid::Uuid;

#[async_trait]
impl SettingsStore for SqliteStore {
    async fn first_application(&self) -> Result<Option<Application>, StoreError> {
        let row = sqlx::query("SELECT * FROM applications ORDER BY seq LIMIT 1")
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(application).transpose()
    }

    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError> {
        let row = sqlx::query("SELECT * FROM applications WHERE id = ?1")
            .bind(bytes(id.0))
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(application).transpose()
    }

    async fn add_application(&self, application: Application) -> Result<(), StoreError> {
        self.writer
            .write(Write::Application(Box::new(application)))
            .await
            .map(drop)
    }

    async fn has_tokens(&self) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM tokens)")
            .fetch_one(&self.readers)
            .await?)
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        let row = sqlx::query("SELECT * FROM tokens WHERE hash = ?1")
            .bind(hash.0.to_vec())
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(token).transpose()
    }

    async fn add_token(&self, hash: TokenHash, token: Token) -> Result<(), StoreError> {
        self.writer
            .write(Write::Token(hash, Box::new(token)))
            .await
            .map(drop)
    }

    fn touch_token(&self, id: TokenId, used_at_ms: i64) {
        self.writer.write_later(Write::Touch(id, used_at_ms));
    }
}

pub(super) async fn insert_application(
    connection: &mut SqliteConnection,
    application: Application,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO applications (id, name, description, created_at_ms, rules_version, rules)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .bind(bytes(application.id.0))
    .bind(application.name)
    .bind(application.description)
    .bind(application.created_at_ms)
    .bind(application.version)
    .bind(application.rules.to_string())
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn insert_token(
    connection: &mut SqliteConnection,
    hash: TokenHash,
    token: Token,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms,
                             expires_at_ms, revoked_at_ms, last_used_at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (hash) DO NOTHING",
    )
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

pub(super) async fn touch(
    connection: &mut SqliteConnection,
    id: TokenId,
    used_at_ms: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE tokens SET last_used_at_ms = max(coalesce(last_used_at_ms, 0), ?2) WHERE id = ?1",
    )
    .bind(bytes(id.0))
    .bind(used_at_ms)
    .execute(connection)
    .await?;
    Ok(())
}

/// A UUID as its column holds it.
pub(super) fn bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// A UUID out of its column.
pub(super) fn uuid(bytes: &[u8]) -> Result<Uuid, StoreError> {
    Uuid::from_slice(bytes).map_err(|_| StoreError::Unreadable("identifier"))
}

fn application(row: &SqliteRow) -> Result<Application, StoreError> {
    Ok(Application {
        id: ApplicationId(uuid(row.try_get("id")?)?),
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        created_at_ms: row.try_get("created_at_ms")?,
        updated_at_ms: row.try_get("created_at_ms")?,
        version: row.try_get("rules_version")?,
        policy: row
            .try_get::<Option<&str>, _>("policy")?
            .map(Policy::from_json),
        rules: serde_json::from_str(row.try_get("rules")?)
            .map_err(|_| StoreError::Unreadable("set of rules"))?,
    })
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
