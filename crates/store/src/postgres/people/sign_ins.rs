//! The SQL of one-time links and sign-ins.

use super::accounts::account_columns;
use crate::error::StoreError;
use crate::people::accounts::{Account, AccountId};
use crate::people::sign_ins::{
    BegunSignIn, EndedSignIns, OpenSignIn, SecretHash, SignIn, SignInStore, TakenStates,
};
use crate::postgres::store::PostgresStore;
use crate::settings::audit::AuditEntry;
use crate::sql::columns::Columns as _;
use crate::sql::people::{open_sign_in, sign_in};
use async_trait::async_trait;
use sqlx::postgres::PgRow;

const ADD_LINK: &str = "
    INSERT INTO account_links (hash, account_id, ends_at_ms) VALUES ($1, $2, $3) RETURNING account_id";
const FIND: &str = concat!(
    "SELECT s.started_at_ms, s.seen_at_ms, s.by_password, s.address, s.browser, ",
    account_columns!(),
    " FROM sign_ins s JOIN accounts a ON a.id = s.account_id WHERE s.hash = $1"
);
/// The lock waits for a change of the password that is under way and looks at its outcome.
const ADD: &str = "
    WITH stale AS (DELETE FROM sign_ins WHERE seen_at_ms < $6),
        owner AS (SELECT id FROM accounts
                  WHERE id = $2 AND password IS NOT DISTINCT FROM $5 AND disabled_at_ms IS NULL FOR SHARE)
    INSERT INTO sign_ins (hash, account_id, started_at_ms, seen_at_ms, by_password, address, browser)
    SELECT $1, id, $3, $4, $7, $8, $9 FROM owner RETURNING account_id";
const OPEN: &str = "
    SELECT hash, account_id, started_at_ms, seen_at_ms, by_password, address, browser
    FROM sign_ins WHERE account_id = $1 AND seen_at_ms >= $2 ORDER BY seen_at_ms DESC, hash LIMIT $3";
const END_ONE: &str =
    "DELETE FROM sign_ins WHERE account_id = $1 AND hash = $2 RETURNING account_id";
/// With those that were begun while a new password was under way.
const END_OTHERS: &str = "
    WITH begun AS (DELETE FROM begun_sign_ins WHERE account_id = $1)
    DELETE FROM sign_ins WHERE account_id = $1 AND hash <> $2 RETURNING account_id";
const ADD_BEGUN: &str = "
    WITH gone AS (DELETE FROM begun_sign_ins WHERE ends_at_ms <= $5),
        owner AS (SELECT id FROM accounts
                  WHERE id = $2 AND password IS NOT DISTINCT FROM $4 AND disabled_at_ms IS NULL FOR SHARE)
    INSERT INTO begun_sign_ins (hash, account_id, ends_at_ms)
    SELECT $1, id, $3 FROM owner RETURNING account_id";
const TAKE_STATE: &str = "
    WITH forgotten AS (
        DELETE FROM taken_states WHERE hash IN (
            SELECT hash FROM taken_states
            WHERE at_ms < greatest($3, (SELECT at_ms FROM taken_states ORDER BY at_ms DESC OFFSET $4 - 1 LIMIT 1))
            FOR UPDATE SKIP LOCKED))
    INSERT INTO taken_states (hash, at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING at_ms";

#[async_trait]
impl SignInStore for PostgresStore {
    async fn add_link(
        &self,
        hash: SecretHash,
        account: AccountId,
        ends_at_ms: i64,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(ADD_LINK).bind(&hash.0[..]);
        let query = query.bind(account.0).bind(ends_at_ms);
        self.change(query, audit).await.map(drop)
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
        password: Option<&str>,
        stale_ms: i64,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(ADD)
            .bind(&hash.0[..])
            .bind(sign_in.account.0)
            .bind(sign_in.started_at_ms)
            .bind(sign_in.seen_at_ms)
            .bind(password)
            .bind(stale_ms)
            .bind(sign_in.by_password)
            .bind(sign_in.address)
            .bind(sign_in.browser);
        Ok(!self.all(query).await?.is_empty())
    }

    async fn sign_in(&self, hash: SecretHash) -> Result<Option<(SignIn, Account)>, StoreError> {
        let rows = self.look_up(sqlx::query(FIND).bind(&hash.0[..])).await?;
        rows.first().map(sign_in).transpose()
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

    async fn end_other_sign_ins(
        &self,
        account: AccountId,
        kept: Option<SecretHash>,
    ) -> Result<(), StoreError> {
        let ended = EndedSignIns::Others(kept);
        self.end_sign_ins(account, ended, None).await.map(drop)
    }

    async fn open_sign_ins(
        &self,
        account: AccountId,
        since_ms: i64,
        limit: u32,
    ) -> Result<Vec<OpenSignIn>, StoreError> {
        let query = sqlx::query(OPEN).bind(account.0).bind(since_ms);
        let rows = self.all(query.bind(i64::from(limit))).await?;
        rows.iter().map(open_sign_in).collect()
    }

    async fn end_sign_ins(
        &self,
        account: AccountId,
        ended: EndedSignIns,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        let (sql, hash) = match ended {
            EndedSignIns::One(hash) => (END_ONE, Some(hash)),
            EndedSignIns::Others(kept) => (END_OTHERS, kept),
        };
        let hash = hash.map(|hash| hash.0.to_vec()).unwrap_or_default();
        let query = sqlx::query(sql).bind(account.0).bind(hash);
        Ok(!self.change(query, audit).await?.is_empty())
    }

    async fn add_begun_sign_in(
        &self,
        hash: SecretHash,
        begun: BegunSignIn,
        password: Option<&str>,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(ADD_BEGUN)
            .bind(&hash.0[..])
            .bind(begun.account.0)
            .bind(begun.ends_at_ms)
            .bind(password)
            .bind(now_ms);
        Ok(!self.all(query).await?.is_empty())
    }

    async fn begun_sign_in(
        &self,
        hash: SecretHash,
        now_ms: i64,
    ) -> Result<Option<AccountId>, StoreError> {
        let query = sqlx::query(
            "SELECT account_id FROM begun_sign_ins WHERE hash = $1 AND ends_at_ms > $2",
        );
        let rows = self.all(query.bind(&hash.0[..]).bind(now_ms)).await?;
        owner(rows.first())
    }

    async fn take_begun_sign_in(&self, hash: SecretHash) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM begun_sign_ins WHERE hash = $1 RETURNING account_id");
        Ok(!self.all(query.bind(&hash.0[..])).await?.is_empty())
    }

    async fn take_state(
        &self,
        hash: SecretHash,
        now_ms: i64,
        remembered: TakenStates,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(TAKE_STATE)
            .bind(&hash.0[..])
            .bind(now_ms)
            .bind(remembered.since_ms)
            .bind(i64::from(remembered.most.max(1)));
        Ok(!self.all(query).await?.is_empty())
    }
}

/// The column `account_id`.
fn owner(row: Option<&PgRow>) -> Result<Option<AccountId>, StoreError> {
    let id = row.map(|row| row.id("account_id")).transpose()?;
    Ok(id.map(AccountId))
}
