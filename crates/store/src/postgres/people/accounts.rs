//! The SQL of accounts and identities.

use crate::error::StoreError;
use crate::people::accounts::{Account, AccountChange, AccountId, AccountStore, Identity, Role};
use crate::postgres::store::PostgresStore;
use crate::settings::audit::AuditEntry;
use crate::sql::people::account;
use async_trait::async_trait;

/// The columns of an account, by name: a server goes on while a newer one adds columns.
macro_rules! account_columns {
    () => {
        "a.id, a.name, a.role, a.application_id, a.password, a.second_factor, a.created_at_ms, a.disabled_at_ms, \
         a.signed_in_at_ms"
    };
}
pub(super) use account_columns;

const ADD: &str = "
    INSERT INTO accounts (id, name, role, application_id, password, created_at_ms, disabled_at_ms,
                          signed_in_at_ms, second_factor)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING RETURNING id";
/// One statement, so that a disabled account never keeps a sign-in.
const CHANGE: &str = concat!(
    "
    WITH ended AS (DELETE FROM sign_ins WHERE account_id = $1 AND $4 AND $5::bigint IS NOT NULL),
        used AS (DELETE FROM account_links WHERE account_id = $1
                 AND ($3::text IS NOT NULL OR $4 AND $5::bigint IS NOT NULL)),
        begun AS (DELETE FROM begun_sign_ins WHERE account_id = $1
                  AND ($3::text IS NOT NULL OR $4 AND $5::bigint IS NOT NULL))
    UPDATE accounts a SET role = coalesce($2, role), password = coalesce($3, password),
        disabled_at_ms = CASE WHEN $4 THEN $5 ELSE disabled_at_ms END,
        signed_in_at_ms = coalesce($6, signed_in_at_ms),
        second_factor = CASE WHEN $8 THEN $9 ELSE second_factor END
    WHERE id = $1 AND ($7::text IS NULL OR password = $7)
        AND (NOT $8 OR second_factor IS NOT DISTINCT FROM $10) RETURNING ",
    account_columns!()
);
const LIST: &str = concat!(
    "SELECT ",
    account_columns!(),
    " FROM accounts a WHERE name > $1 ORDER BY name LIMIT $2"
);
const OF_ID: &str = concat!(
    "SELECT ",
    account_columns!(),
    " FROM accounts a WHERE id = $1"
);
const OF_NAME: &str = concat!(
    "SELECT ",
    account_columns!(),
    " FROM accounts a WHERE name = $1"
);
const OF_IDENTITY: &str = concat!(
    "SELECT ",
    account_columns!(),
    " FROM identities i JOIN accounts a ON a.id = i.account_id WHERE i.issuer = $1 AND i.subject = $2"
);
const ADD_IDENTITY: &str = "
    INSERT INTO identities (issuer, subject, account_id) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING RETURNING account_id";

#[async_trait]
impl AccountStore for PostgresStore {
    async fn add_account(
        &self,
        account: Account,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(ADD)
            .bind(account.id.0)
            .bind(account.name)
            .bind(account.role.as_str())
            .bind(account.application_id.map(|id| id.0))
            .bind(account.password)
            .bind(account.created_at_ms)
            .bind(account.disabled_at_ms)
            .bind(account.signed_in_at_ms)
            .bind(account.second_factor);
        Ok(!self.change(query, audit).await?.is_empty())
    }

    async fn accounts(&self, after: Option<&str>, limit: u32) -> Result<Vec<Account>, StoreError> {
        let query = sqlx::query(LIST)
            .bind(after.unwrap_or_default())
            .bind(i64::from(limit));
        self.all(query).await?.iter().map(account).collect()
    }

    async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let query = sqlx::query(OF_ID).bind(id.0);
        self.all(query).await?.first().map(account).transpose()
    }

    async fn account_named(&self, name: &str) -> Result<Option<Account>, StoreError> {
        let query = sqlx::query(OF_NAME).bind(name);
        self.all(query).await?.first().map(account).transpose()
    }

    async fn change_account(
        &self,
        id: AccountId,
        change: AccountChange,
        audit: Option<AuditEntry>,
    ) -> Result<Option<Account>, StoreError> {
        let factor = change.second_factor;
        let changes_factor = factor.is_some();
        let (replaced, new) = factor.map_or((None, None), |it| (it.replaced, it.new));
        let query = sqlx::query(CHANGE)
            .bind(id.0)
            .bind(change.role.map(Role::as_str))
            .bind(change.password)
            .bind(change.disabled_at_ms.is_some())
            .bind(change.disabled_at_ms.flatten())
            .bind(change.signed_in_at_ms)
            .bind(change.if_password)
            .bind(changes_factor)
            .bind(new)
            .bind(replaced);
        let rows = self.change(query, audit).await?;
        rows.first().map(account).transpose()
    }

    async fn account_of(&self, identity: &Identity) -> Result<Option<Account>, StoreError> {
        let query = sqlx::query(OF_IDENTITY)
            .bind(&identity.issuer)
            .bind(&identity.subject);
        self.all(query).await?.first().map(account).transpose()
    }

    async fn add_identity(
        &self,
        identity: Identity,
        account: AccountId,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(ADD_IDENTITY)
            .bind(identity.issuer)
            .bind(identity.subject)
            .bind(account.0);
        Ok(!self.all(query).await?.is_empty())
    }
}
