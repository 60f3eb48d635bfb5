//! The SQL of one-time links and sign-ins.

use crate::error::StoreError;
use crate::people::accounts::{Account, AccountId};
use crate::people::sign_ins::{
    BegunSignIn, EndedSignIns, OpenSignIn, SecretHash, SignIn, SignInStore, TakenStates,
};
use crate::settings::audit::AuditEntry;
use crate::sql::people::{open_sign_in, sign_in};
use crate::sqlite::settings::audit;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use sqlx::SqliteConnection;
use uuid::Uuid;

const FIND: &str = "
    SELECT s.started_at_ms, s.seen_at_ms, s.by_password, s.address, s.browser, a.*
    FROM sign_ins s JOIN accounts a ON a.id = s.account_id WHERE s.hash = ?1";
const ADD_LINK: &str =
    "INSERT INTO account_links (hash, account_id, ends_at_ms) VALUES (?1, ?2, ?3)";
const LINK: &str = "SELECT account_id FROM account_links WHERE hash = ?1 AND ends_at_ms > ?2";
const TAKE_LINK: &str =
    "DELETE FROM account_links WHERE hash = ?1 AND ends_at_ms > ?2 RETURNING account_id";
const ADD: &str = "
    INSERT INTO sign_ins (hash, account_id, started_at_ms, seen_at_ms, by_password, address, browser)
    SELECT ?1, id, ?3, ?4, ?6, ?7, ?8 FROM accounts
    WHERE id = ?2 AND password IS ?5 AND disabled_at_ms IS NULL";
const OPEN: &str = "
    SELECT * FROM sign_ins WHERE account_id = ?1 AND seen_at_ms >= ?2 ORDER BY seen_at_ms DESC, hash LIMIT ?3";
const END_ONE: &str = "DELETE FROM sign_ins WHERE account_id = ?1 AND hash = ?2";
const END_OTHERS: &str = "DELETE FROM sign_ins WHERE account_id = ?1 AND hash <> ?2";
const ADD_BEGUN: &str = "
    INSERT INTO begun_sign_ins (hash, account_id, ends_at_ms)
    SELECT ?1, id, ?3 FROM accounts WHERE id = ?2 AND password IS ?4 AND disabled_at_ms IS NULL";
const BEGUN: &str = "SELECT account_id FROM begun_sign_ins WHERE hash = ?1 AND ends_at_ms > ?2";
const TOUCH: &str = "UPDATE sign_ins SET seen_at_ms = max(seen_at_ms, ?2) WHERE hash = ?1";
const FORGET_STATES: &str = "
    DELETE FROM taken_states WHERE at_ms < max(?1, coalesce(
        (SELECT at_ms FROM taken_states ORDER BY at_ms DESC LIMIT 1 OFFSET ?2 - 1), ?1))";
const TAKE_STATE: &str =
    "INSERT INTO taken_states (hash, at_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

#[async_trait]
impl SignInStore for SqliteStore {
    async fn add_link(
        &self,
        hash: SecretHash,
        account: AccountId,
        ends_at_ms: i64,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    add_link(connection, hash, account, ends_at_ms).await?;
                    audit::append(connection, audit).await
                })
            })
            .await
    }

    async fn link(&self, hash: SecretHash, now_ms: i64) -> Result<Option<AccountId>, StoreError> {
        let id: Option<Uuid> = sqlx::query_scalar(LINK)
            .bind(hash.0.to_vec())
            .bind(now_ms)
            .fetch_optional(&self.readers)
            .await?;
        Ok(id.map(AccountId))
    }

    async fn take_link(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError> {
        self.writer
            .write(move |connection| Box::pin(take_link(connection, hash, now_ms)))
            .await
    }

    async fn add_sign_in(
        &self,
        hash: SecretHash,
        sign_in: SignIn,
        password: Option<&str>,
        stale_ms: i64,
    ) -> Result<bool, StoreError> {
        let password = password.map(str::to_owned);
        self.writer
            .write(move |connection| Box::pin(remove_stale(connection, stale_ms)))
            .await?;
        self.writer
            .write(move |connection| Box::pin(add(connection, hash, sign_in, password)))
            .await
    }

    async fn sign_in(&self, hash: SecretHash) -> Result<Option<(SignIn, Account)>, StoreError> {
        let row = sqlx::query(FIND)
            .bind(hash.0.to_vec())
            .fetch_optional(&self.lookups)
            .await?;
        row.as_ref().map(sign_in).transpose()
    }

    async fn touch_sign_in(&self, hash: SecretHash, seen_at_ms: i64) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(touch(connection, hash, seen_at_ms)))
            .await
    }

    async fn end_sign_in(&self, hash: SecretHash) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(end(connection, hash)))
            .await
    }

    async fn end_other_sign_ins(
        &self,
        account: AccountId,
        kept: Option<SecretHash>,
    ) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(end_others(connection, account, kept)))
            .await
    }

    async fn open_sign_ins(
        &self,
        account: AccountId,
        since_ms: i64,
        limit: u32,
    ) -> Result<Vec<OpenSignIn>, StoreError> {
        let rows = sqlx::query(OPEN)
            .bind(account.0)
            .bind(since_ms)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(open_sign_in).collect()
    }

    async fn end_sign_ins(
        &self,
        account: AccountId,
        ended: EndedSignIns,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let has_ended = end_some(connection, account, ended).await?;
                    if has_ended {
                        audit::append(connection, audit).await?;
                    }
                    Ok(has_ended)
                })
            })
            .await
    }

    async fn add_begun_sign_in(
        &self,
        hash: SecretHash,
        begun: BegunSignIn,
        password: Option<&str>,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let password = password.map(str::to_owned);
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    forget_begun(connection, now_ms).await?;
                    add_begun(connection, hash, begun, password).await
                })
            })
            .await
    }

    async fn begun_sign_in(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError> {
        let id: Option<Uuid> = sqlx::query_scalar(BEGUN)
            .bind(hash.0.to_vec())
            .bind(now_ms)
            .fetch_optional(&self.readers)
            .await?;
        Ok(id.map(AccountId))
    }

    async fn take_begun_sign_in(&self, hash: SecretHash) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(take_begun(connection, hash)))
            .await
    }

    async fn take_state(
        &self,
        hash: SecretHash,
        now_ms: i64,
        remembered: TakenStates,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(take_state(connection, hash, now_ms, remembered)))
            .await
    }
}

async fn add_link(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    account: AccountId,
    ends_at_ms: i64,
) -> Result<(), StoreError> {
    let query = sqlx::query(ADD_LINK).bind(hash.0.to_vec());
    let query = query.bind(account.0).bind(ends_at_ms);
    query.execute(connection).await?;
    Ok(())
}

async fn take_link(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    now_ms: i64,
) -> Result<Option<AccountId>, StoreError> {
    let id: Option<Uuid> = sqlx::query_scalar(TAKE_LINK)
        .bind(hash.0.to_vec())
        .bind(now_ms)
        .fetch_optional(connection)
        .await?;
    Ok(id.map(AccountId))
}

/// Removes the one-time links of an account.
pub(super) async fn remove_links(
    connection: &mut SqliteConnection,
    account: AccountId,
) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM account_links WHERE account_id = ?1").bind(account.0);
    query.execute(connection).await?;
    Ok(())
}

async fn remove_stale(connection: &mut SqliteConnection, stale_ms: i64) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM sign_ins WHERE seen_at_ms < ?1").bind(stale_ms);
    query.execute(connection).await?;
    Ok(())
}

async fn add(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    sign_in: SignIn,
    password: Option<String>,
) -> Result<bool, StoreError> {
    let added = sqlx::query(ADD)
        .bind(hash.0.to_vec())
        .bind(sign_in.account.0)
        .bind(sign_in.started_at_ms)
        .bind(sign_in.seen_at_ms)
        .bind(password)
        .bind(sign_in.by_password)
        .bind(sign_in.address)
        .bind(sign_in.browser)
        .execute(connection)
        .await?;
    Ok(added.rows_affected() > 0)
}

async fn touch(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    seen_at_ms: i64,
) -> Result<(), StoreError> {
    let query = sqlx::query(TOUCH).bind(hash.0.to_vec()).bind(seen_at_ms);
    query.execute(connection).await?;
    Ok(())
}

async fn end(connection: &mut SqliteConnection, hash: SecretHash) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM sign_ins WHERE hash = ?1").bind(hash.0.to_vec());
    query.execute(connection).await?;
    Ok(())
}

/// Ends the sign-ins of an account except `kept`.
pub(super) async fn end_others(
    connection: &mut SqliteConnection,
    account: AccountId,
    kept: Option<SecretHash>,
) -> Result<(), StoreError> {
    end_some(connection, account, EndedSignIns::Others(kept))
        .await
        .map(drop)
}

async fn end_some(
    connection: &mut SqliteConnection,
    account: AccountId,
    ended: EndedSignIns,
) -> Result<bool, StoreError> {
    let (sql, hash) = match ended {
        EndedSignIns::One(hash) => (END_ONE, Some(hash)),
        EndedSignIns::Others(kept) => (END_OTHERS, kept),
    };
    if matches!(ended, EndedSignIns::Others(_)) {
        remove_begun(connection, account).await?;
    }
    let hash = hash.map(|hash| hash.0.to_vec()).unwrap_or_default();
    let query = sqlx::query(sql).bind(account.0).bind(hash);
    Ok(query.execute(connection).await?.rows_affected() > 0)
}

async fn forget_begun(connection: &mut SqliteConnection, now_ms: i64) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM begun_sign_ins WHERE ends_at_ms <= ?1").bind(now_ms);
    query.execute(connection).await?;
    Ok(())
}

async fn add_begun(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    begun: BegunSignIn,
    password: Option<String>,
) -> Result<bool, StoreError> {
    let added = sqlx::query(ADD_BEGUN)
        .bind(hash.0.to_vec())
        .bind(begun.account.0)
        .bind(begun.ends_at_ms)
        .bind(password)
        .execute(connection)
        .await?;
    Ok(added.rows_affected() > 0)
}

async fn take_begun(
    connection: &mut SqliteConnection,
    hash: SecretHash,
) -> Result<bool, StoreError> {
    let query = sqlx::query("DELETE FROM begun_sign_ins WHERE hash = ?1").bind(hash.0.to_vec());
    Ok(query.execute(connection).await?.rows_affected() > 0)
}

/// Removes the begun sign-ins of an account.
pub(super) async fn remove_begun(
    connection: &mut SqliteConnection,
    account: AccountId,
) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM begun_sign_ins WHERE account_id = ?1").bind(account.0);
    query.execute(connection).await?;
    Ok(())
}

async fn take_state(
    connection: &mut SqliteConnection,
    hash: SecretHash,
    now_ms: i64,
    remembered: TakenStates,
) -> Result<bool, StoreError> {
    sqlx::query(FORGET_STATES)
        .bind(remembered.since_ms)
        .bind(i64::from(remembered.most.max(1)))
        .execute(&mut *connection)
        .await?;
    let take = sqlx::query(TAKE_STATE).bind(hash.0.to_vec()).bind(now_ms);
    Ok(take.execute(connection).await?.rows_affected() > 0)
}
