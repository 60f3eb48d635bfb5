//! The SQL of accounts, one-time links and sign-ins.

use super::SqliteStore;
use super::rows::{bytes, uuid};
use super::write::Write;
use super::writer::{Outcome, Written};
use crate::{
    Account, AccountChange, AccountId, AccountStore, Identity, Role, SecretHash, SignIn, StoreError,
};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

const ADD: &str = "
    INSERT INTO accounts (id, name, role, application_id, password, created_at_ms, disabled_at_ms,
                          signed_in_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (name) DO NOTHING";
const CHANGE: &str = "
    UPDATE accounts SET role = coalesce(?2, role), password = coalesce(?3, password),
        disabled_at_ms = CASE WHEN ?4 THEN ?5 ELSE disabled_at_ms END,
        signed_in_at_ms = coalesce(?6, signed_in_at_ms)
    WHERE id = ?1 RETURNING *";
const LIST: &str = "SELECT * FROM accounts WHERE name > ?1 ORDER BY name LIMIT ?2";
const SIGN_IN: &str = "
    SELECT s.started_at_ms, s.seen_at_ms, a.*
    FROM sign_ins s JOIN accounts a ON a.id = s.account_id WHERE s.hash = ?1";
const ADD_LINK: &str =
    "INSERT INTO account_links (hash, account_id, ends_at_ms) VALUES (?1, ?2, ?3)";
const ADD_SIGN_IN: &str = "
    INSERT INTO sign_ins (hash, account_id, started_at_ms, seen_at_ms) VALUES (?1, ?2, ?3, ?4)";
const TOUCH: &str = "UPDATE sign_ins SET seen_at_ms = max(seen_at_ms, ?2) WHERE hash = ?1";

const OF_IDENTITY: &str = "
    SELECT a.* FROM identities i JOIN accounts a ON a.id = i.account_id
    WHERE i.issuer = ?1 AND i.subject = ?2";
const ADD_IDENTITY: &str = "
    INSERT INTO identities (issuer, subject, account_id) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM identities WHERE account_id = ?3 AND issuer = ?1)
    ON CONFLICT (issuer, subject) DO NOTHING";

/// A change of these tables.
pub(super) enum Change {
    Add(Account),
    Alter(AccountId, AccountChange),
    AddLink(SecretHash, AccountId, i64),
    TakeLink(SecretHash, i64),
    AddSignIn(SecretHash, SignIn, i64),
    Touch(SecretHash, i64),
    AddIdentity(Identity, AccountId),
    EndSignIn(SecretHash),
    EndOthers(AccountId, Option<SecretHash>),
}

#[async_trait]
impl AccountStore for SqliteStore {
    async fn add_account(&self, account: Account) -> Result<bool, StoreError> {
        let written = self.write_account(Change::Add(account)).await?;
        Ok(matches!(written, Written::New))
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
            .bind(bytes(id.0))
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
    ) -> Result<Option<Account>, StoreError> {
        match self.write_account(Change::Alter(id, change)).await? {
            Written::Account(account) => Ok(Some(*account)),
            _ => Ok(None),
        }
    }

    async fn add_link(
        &self,
        hash: SecretHash,
        account: AccountId,
        ends_at_ms: i64,
    ) -> Result<(), StoreError> {
        let change = Change::AddLink(hash, account, ends_at_ms);
        self.write_account(change).await.map(drop)
    }

    async fn link(&self, hash: SecretHash, now_ms: i64) -> Result<Option<AccountId>, StoreError> {
        let row =
            sqlx::query("SELECT account_id FROM account_links WHERE hash = ?1 AND ends_at_ms > ?2")
                .bind(hash.0.to_vec())
                .bind(now_ms)
                .fetch_optional(&self.readers)
                .await?;
        let id = row.map(|row| uuid(row.try_get(0)?)).transpose()?;
        Ok(id.map(AccountId))
    }

    async fn take_link(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError> {
        match self.write_account(Change::TakeLink(hash, now_ms)).await? {
            Written::Account(account) => Ok(Some(account.id)),
            _ => Ok(None),
        }
    }

    async fn add_sign_in(
        &self,
        hash: SecretHash,
        sign_in: SignIn,
        stale_ms: i64,
    ) -> Result<(), StoreError> {
        let change = Change::AddSignIn(hash, sign_in, stale_ms);
        self.write_account(change).await.map(drop)
    }

    async fn sign_in(&self, hash: SecretHash) -> Result<Option<(SignIn, Account)>, StoreError> {
        let row = sqlx::query(SIGN_IN)
            .bind(hash.0.to_vec())
            .fetch_optional(&self.readers)
            .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let account = account(&row)?;
        let sign_in = SignIn {
            account: account.id,
            started_at_ms: row.try_get("started_at_ms")?,
            seen_at_ms: row.try_get("seen_at_ms")?,
        };
        Ok(Some((sign_in, account)))
    }

    async fn touch_sign_in(&self, hash: SecretHash, seen_at_ms: i64) -> Result<(), StoreError> {
        let change = Change::Touch(hash, seen_at_ms);
        self.write_account(change).await.map(drop)
    }

    async fn end_sign_in(&self, hash: SecretHash) -> Result<(), StoreError> {
        self.write_account(Change::EndSignIn(hash)).await.map(drop)
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
        let change = Change::AddIdentity(identity, account);
        let written = self.write_account(change).await?;
        Ok(matches!(written, Written::New))
    }

    async fn end_other_sign_ins(
        &self,
        account: AccountId,
        kept: Option<SecretHash>,
    ) -> Result<(), StoreError> {
        let change = Change::EndOthers(account, kept);
        self.write_account(change).await.map(drop)
    }
}

impl SqliteStore {
    async fn write_account(&self, change: Change) -> Outcome {
        self.writer.write(Write::Account(Box::new(change))).await
    }
}

/// Makes one change, within the writer's transaction.
pub(super) async fn carry_out(connection: &mut SqliteConnection, change: Change) -> Outcome {
    match change {
        Change::Add(account) => return add(connection, account).await,
        Change::Alter(id, change) => return alter(connection, id, change).await,
        Change::TakeLink(hash, now_ms) => return take_link(connection, hash, now_ms).await,
        Change::AddLink(hash, account, ends_at_ms) => {
            let query = sqlx::query(ADD_LINK).bind(hash.0.to_vec());
            let query = query.bind(bytes(account.0)).bind(ends_at_ms);
            query.execute(connection).await?;
        }
        Change::AddSignIn(hash, sign_in, stale_ms) => {
            add_sign_in(connection, hash, (sign_in, stale_ms)).await?
        }
        Change::Touch(hash, seen_at_ms) => {
            let query = sqlx::query(TOUCH).bind(hash.0.to_vec()).bind(seen_at_ms);
            query.execute(connection).await?;
        }
        Change::AddIdentity(identity, account) => {
            let query = sqlx::query(ADD_IDENTITY).bind(identity.issuer);
            let query = query.bind(identity.subject).bind(bytes(account.0));
            if query.execute(connection).await?.rows_affected() == 0 {
                return Ok(Written::Nothing);
            }
        }
        Change::EndSignIn(hash) => {
            let query = sqlx::query("DELETE FROM sign_ins WHERE hash = ?1").bind(hash.0.to_vec());
            query.execute(connection).await?;
        }
        Change::EndOthers(account, kept) => end_sign_ins(connection, account, kept).await?,
    }
    Ok(Written::New)
}

async fn add_sign_in(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    (sign_in, stale_ms): (SignIn, i64),
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sign_ins WHERE seen_at_ms < ?1")
        .bind(stale_ms)
        .execute(&mut *connection)
        .await?;
    sqlx::query(ADD_SIGN_IN)
        .bind(hash.0.to_vec())
        .bind(bytes(sign_in.account.0))
        .bind(sign_in.started_at_ms)
        .bind(sign_in.seen_at_ms)
        .execute(connection)
        .await?;
    Ok(())
}

async fn add(connection: &mut SqliteConnection, account: Account) -> Outcome {
    let added = sqlx::query(ADD)
        .bind(bytes(account.id.0))
        .bind(account.name)
        .bind(account.role.as_str())
        .bind(account.application_id.map(|id| bytes(id.0)))
        .bind(account.password)
        .bind(account.created_at_ms)
        .bind(account.disabled_at_ms)
        .bind(account.signed_in_at_ms)
        .execute(connection)
        .await?;
    Ok(match added.rows_affected() {
        0 => Written::Nothing,
        _ => Written::New,
    })
}

async fn alter(connection: &mut SqliteConnection, id: AccountId, change: AccountChange) -> Outcome {
    if matches!(change.disabled_at_ms, Some(Some(_))) {
        end_sign_ins(connection, id, None).await?;
    }
    if change.password.is_some() || matches!(change.disabled_at_ms, Some(Some(_))) {
        sqlx::query("DELETE FROM account_links WHERE account_id = ?1")
            .bind(bytes(id.0))
            .execute(&mut *connection)
            .await?;
    }
    let row = sqlx::query(CHANGE)
        .bind(bytes(id.0))
        .bind(change.role.map(Role::as_str))
        .bind(change.password)
        .bind(change.disabled_at_ms.is_some())
        .bind(change.disabled_at_ms.flatten())
        .bind(change.signed_in_at_ms)
        .fetch_optional(connection)
        .await?;
    match row {
        Some(row) => Ok(Written::Account(Box::new(account(&row)?))),
        None => Ok(Written::Nothing),
    }
}

async fn take_link(connection: &mut SqliteConnection, hash: SecretHash, now_ms: i64) -> Outcome {
    let taken = sqlx::query(
        "DELETE FROM account_links WHERE hash = ?1 AND ends_at_ms > ?2 RETURNING account_id",
    )
    .bind(hash.0.to_vec())
    .bind(now_ms)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(taken) = taken else {
        return Ok(Written::Nothing);
    };
    let id: Vec<u8> = taken.try_get(0)?;
    let row = sqlx::query("SELECT * FROM accounts WHERE id = ?1")
        .bind(id)
        .fetch_one(connection)
        .await?;
    Ok(Written::Account(Box::new(account(&row)?)))
}

async fn end_sign_ins(
    connection: &mut SqliteConnection,
    account: AccountId,
    kept: Option<SecretHash>,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sign_ins WHERE account_id = ?1 AND hash <> ?2")
        .bind(bytes(account.0))
        .bind(kept.map(|hash| hash.0.to_vec()).unwrap_or_default())
        .execute(connection)
        .await?;
    Ok(())
}

fn account(row: &SqliteRow) -> Result<Account, StoreError> {
    let application: Option<&[u8]> = row.try_get("application_id")?;
    let role: &str = row.try_get("role")?;
    Ok(Account {
        id: AccountId(uuid(row.try_get("id")?)?),
        name: row.try_get("name")?,
        role: Role::from_name(role).ok_or(StoreError::Unreadable("role"))?,
        application_id: application.map(uuid).transpose()?.map(ApplicationId),
        password: row.try_get("password")?,
        created_at_ms: row.try_get("created_at_ms")?,
        disabled_at_ms: row.try_get("disabled_at_ms")?,
        signed_in_at_ms: row.try_get("signed_in_at_ms")?,
    })
}
