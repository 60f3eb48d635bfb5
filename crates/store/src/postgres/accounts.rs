//! The SQL of accounts, one-time links and sign-ins.

use super::PostgresStore;
use crate::{
    Account, AccountChange, AccountId, AccountStore, Identity, Role, SecretHash, SignIn, StoreError,
};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

const ADD: &str = "
    INSERT INTO accounts (id, name, role, application_id, password, created_at_ms, disabled_at_ms,
                          signed_in_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (name) DO NOTHING RETURNING id";
/// One statement, so that a disabled account never has a sign-in left.
const CHANGE: &str = "
    WITH ended AS (DELETE FROM sign_ins WHERE account_id = $1 AND $4 AND $5::bigint IS NOT NULL),
        used AS (DELETE FROM account_links WHERE account_id = $1
                 AND ($3::text IS NOT NULL OR $4 AND $5::bigint IS NOT NULL))
    UPDATE accounts SET role = coalesce($2, role), password = coalesce($3, password),
        disabled_at_ms = CASE WHEN $4 THEN $5 ELSE disabled_at_ms END,
        signed_in_at_ms = coalesce($6, signed_in_at_ms)
    WHERE id = $1 RETURNING *";
const LIST: &str = "SELECT * FROM accounts WHERE name > $1 ORDER BY name LIMIT $2";
const SIGN_IN: &str = "
    SELECT s.started_at_ms, s.seen_at_ms, a.*
    FROM sign_ins s JOIN accounts a ON a.id = s.account_id WHERE s.hash = $1";
const ADD_SIGN_IN: &str = "
    WITH stale AS (DELETE FROM sign_ins WHERE seen_at_ms < $5)
    INSERT INTO sign_ins (hash, account_id, started_at_ms, seen_at_ms) VALUES ($1, $2, $3, $4)";

const OF_IDENTITY: &str = "
    SELECT a.* FROM identities i JOIN accounts a ON a.id = i.account_id
    WHERE i.issuer = $1 AND i.subject = $2";
const ADD_IDENTITY: &str = "
    INSERT INTO identities (issuer, subject, account_id) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING RETURNING account_id";

#[async_trait]
impl AccountStore for PostgresStore {
    async fn add_account(&self, account: Account) -> Result<bool, StoreError> {
        let query = sqlx::query(ADD)
            .bind(account.id.0)
            .bind(account.name)
            .bind(account.role.as_str())
            .bind(account.application_id.map(|id| id.0))
            .bind(account.password)
            .bind(account.created_at_ms)
            .bind(account.disabled_at_ms)
            .bind(account.signed_in_at_ms);
        Ok(!self.all(query).await?.is_empty())
    }

    async fn accounts(&self, after: Option<&str>, limit: u32) -> Result<Vec<Account>, StoreError> {
        let query = sqlx::query(LIST)
            .bind(after.unwrap_or_default())
            .bind(i64::from(limit));
        self.all(query).await?.iter().map(account).collect()
    }

    async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let query = sqlx::query("SELECT * FROM accounts WHERE id = $1").bind(id.0);
        self.all(query).await?.first().map(account).transpose()
    }

    async fn account_named(&self, name: &str) -> Result<Option<Account>, StoreError> {
        let query = sqlx::query("SELECT * FROM accounts WHERE name = $1").bind(name);
        self.all(query).await?.first().map(account).transpose()
    }

    async fn change_account(
        &self,
        id: AccountId,
        change: AccountChange,
    ) -> Result<Option<Account>, StoreError> {
        let query = sqlx::query(CHANGE)
            .bind(id.0)
            .bind(change.role.map(Role::as_str))
            .bind(change.password)
            .bind(change.disabled_at_ms.is_some())
            .bind(change.disabled_at_ms.flatten())
            .bind(change.signed_in_at_ms);
        self.all(query).await?.first().map(account).transpose()
    }

    async fn add_link(
        &self,
        hash: SecretHash,
        account: AccountId,
        ends_at_ms: i64,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO account_links (hash, account_id, ends_at_ms) VALUES ($1, $2, $3)",
        );
        let query = query.bind(&hash.0[..]).bind(account.0).bind(ends_at_ms);
        self.all(query).await.map(drop)
    }

    async fn link(&self, hash: SecretHash, now_ms: i64) -> Result<Option<AccountId>, StoreError> {
        let query =
            sqlx::query("SELECT account_id FROM account_links WHERE hash = $1 AND ends_at_ms > $2");
        let rows = self.all(query.bind(&hash.0[..]).bind(now_ms)).await?;
        owner(rows.first())
    }

    async fn take_link(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError> {
        let query = sqlx::query(
            "DELETE FROM account_links WHERE hash = $1 AND ends_at_ms > $2 RETURNING account_id",
        );
        let rows = self.all(query.bind(&hash.0[..]).bind(now_ms)).await?;
        owner(rows.first())
    }

    async fn add_sign_in(
        &self,
        hash: SecretHash,
        sign_in: SignIn,
        stale_ms: i64,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(ADD_SIGN_IN)
            .bind(&hash.0[..])
            .bind(sign_in.account.0)
            .bind(sign_in.started_at_ms)
            .bind(sign_in.seen_at_ms)
            .bind(stale_ms);
        self.all(query).await.map(drop)
    }

    async fn sign_in(&self, hash: SecretHash) -> Result<Option<(SignIn, Account)>, StoreError> {
        let rows = self.all(sqlx::query(SIGN_IN).bind(&hash.0[..])).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let account = account(row)?;
        let sign_in = SignIn {
            account: account.id,
            started_at_ms: row.try_get("started_at_ms")?,
            seen_at_ms: row.try_get("seen_at_ms")?,
        };
        Ok(Some((sign_in, account)))
    }

    async fn touch_sign_in(&self, hash: SecretHash, seen_at_ms: i64) -> Result<(), StoreError> {
        let query = sqlx::query(
            "UPDATE sign_ins SET seen_at_ms = greatest(seen_at_ms, $2) WHERE hash = $1",
        );
        let query = query.bind(&hash.0[..]).bind(seen_at_ms);
        self.all(query).await.map(drop)
    }

    async fn end_sign_in(&self, hash: SecretHash) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM sign_ins WHERE hash = $1").bind(&hash.0[..]);
        self.all(query).await.map(drop)
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

    async fn end_other_sign_ins(
        &self,
        account: AccountId,
        kept: Option<SecretHash>,
    ) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM sign_ins WHERE account_id = $1 AND hash <> $2");
        let kept = kept.map(|hash| hash.0.to_vec()).unwrap_or_default();
        self.all(query.bind(account.0).bind(kept)).await.map(drop)
    }
}

fn owner(row: Option<&PgRow>) -> Result<Option<AccountId>, StoreError> {
    Ok(row.map(|row| row.try_get(0)).transpose()?.map(AccountId))
}

fn account(row: &PgRow) -> Result<Account, StoreError> {
    let role: &str = row.try_get("role")?;
    Ok(Account {
        id: AccountId(row.try_get("id")?),
        name: row.try_get("name")?,
        role: Role::from_name(role).ok_or(StoreError::Unreadable("role"))?,
        application_id: row
            .try_get::<Option<Uuid>, _>("application_id")?
            .map(ApplicationId),
        password: row.try_get("password")?,
        created_at_ms: row.try_get("created_at_ms")?,
        disabled_at_ms: row.try_get("disabled_at_ms")?,
        signed_in_at_ms: row.try_get("signed_in_at_ms")?,
    })
}
