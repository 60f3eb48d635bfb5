//! The SQL of accounts and identities.

use super::sign_ins;
use crate::error::StoreError;
use crate::people::accounts::{Account, AccountChange, AccountId, AccountStore, Identity, Role};
use crate::settings::audit::AuditEntry;
use crate::sql::people::account;
use crate::sqlite::settings::audit;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use sqlx::SqliteConnection;

const ADD: &str = "
    INSERT INTO accounts (id, name, role, application_id, password, created_at_ms, disabled_at_ms,
                          signed_in_at_ms, second_factor)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (name) DO NOTHING";
const CHANGE: &str = "
    UPDATE accounts SET role = coalesce(?2, role), password = coalesce(?3, password),
        disabled_at_ms = CASE WHEN ?4 THEN ?5 ELSE disabled_at_ms END,
        signed_in_at_ms = coalesce(?6, signed_in_at_ms),
        second_factor = CASE WHEN ?8 THEN ?9 ELSE second_factor END
    WHERE id = ?1 AND (?7 IS NULL OR password = ?7) AND (NOT ?8 OR second_factor IS ?10) RETURNING *";
const LIST: &str = "SELECT * FROM accounts WHERE name > ?1 ORDER BY name LIMIT ?2";
const OF_IDENTITY: &str = "
    SELECT a.* FROM identities i JOIN accounts a ON a.id = i.account_id
    WHERE i.issuer = ?1 AND i.subject = ?2";
const ADD_IDENTITY: &str = "
    INSERT INTO identities (issuer, subject, account_id) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM identities WHERE account_id = ?3 AND issuer = ?1)
    ON CONFLICT (issuer, subject) DO NOTHING";

#[async_trait]
impl AccountStore for SqliteStore {
    async fn add_account(
        &self,
        account: Account,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(add(connection, account, audit)))
            .await
    }

    async fn accounts(&self, after: Option<&str>, limit: u32) -> Result<Vec<Account>, StoreError> {
        let rows = sqlx::query(LIST)
            .bind(after.unwrap_or_default().to_owned())
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(account).collect()
    }

    async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let row = sqlx::query("SELECT * FROM accounts WHERE id = ?1")
            .bind(id.0)
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(account).transpose()
    }

    async fn account_named(&self, name: &str) -> Result<Option<Account>, StoreError> {
        let row = sqlx::query("SELECT * FROM accounts WHERE name = ?1")
            .bind(name.to_owned())
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(account).transpose()
    }

    async fn change_account(
        &self,
        id: AccountId,
        change: AccountChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Account>, StoreError> {
        self.writer
            .write(move |connection| Box::pin(alter(connection, id, change, audit)))
            .await
    }

    async fn account_of(&self, identity: &Identity) -> Result<Option<Account>, StoreError> {
        let row = sqlx::query(OF_IDENTITY)
            .bind(identity.issuer.clone())
            .bind(identity.subject.clone())
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(account).transpose()
    }

    async fn add_identity(
        &self,
        identity: Identity,
        account: AccountId,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(add_identity(connection, identity, account)))
            .await
    }
}

async fn add(
    connection: &mut SqliteConnection,
    account: Account,
    audit: Option<AuditEntry>,
) -> Result<bool, StoreError> {
    let added = sqlx::query(ADD)
        .bind(account.id.0)
        .bind(account.name)
        .bind(account.role.as_str())
        .bind(account.application_id.map(|id| id.0))
        .bind(account.password)
        .bind(account.created_at_ms)
        .bind(account.disabled_at_ms)
        .bind(account.signed_in_at_ms)
        .bind(account.second_factor)
        .execute(&mut *connection)
        .await?;
    let is_added = added.rows_affected() > 0;
    if is_added {
        audit::append(connection, audit).await?;
    }
    Ok(is_added)
}

async fn alter(
    connection: &mut SqliteConnection,
    id: AccountId,
    change: AccountChange,
    audit: Option<AuditEntry>,
) -> Result<Option<Account>, StoreError> {
    let disables = matches!(change.disabled_at_ms, Some(Some(_)));
    if disables {
        sign_ins::end_others(connection, id, None).await?;
    }
    if change.password.is_some() || disables {
        sign_ins::remove_links(connection, id).await?;
        sign_ins::remove_begun(connection, id).await?;
    }
    let factor = change.second_factor;
    let changes_factor = factor.is_some();
    let (replaced, new) = factor.map_or((None, None), |it| (it.replaced, it.new));
    let row = sqlx::query(CHANGE)
        .bind(id.0)
        .bind(change.role.map(Role::as_str))
        .bind(change.password)
        .bind(change.disabled_at_ms.is_some())
        .bind(change.disabled_at_ms.flatten())
        .bind(change.signed_in_at_ms)
        .bind(change.if_password)
        .bind(changes_factor)
        .bind(new)
        .bind(replaced)
        .fetch_optional(&mut *connection)
        .await?;
    if row.is_some() {
        audit::append(connection, audit).await?;
    }
    row.as_ref().map(account).transpose()
}

async fn add_identity(
    connection: &mut SqliteConnection,
    identity: Identity,
    account: AccountId,
) -> Result<bool, StoreError> {
    let added = sqlx::query(ADD_IDENTITY)
        .bind(identity.issuer)
        .bind(identity.subject)
        .bind(account.0)
        .execute(connection)
        .await?;
    Ok(added.rows_affected() > 0)
}
