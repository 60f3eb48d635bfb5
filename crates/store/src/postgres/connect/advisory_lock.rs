//! Locks between servers that last longer than a statement: each is one of a transaction, which a pooler of connections
//! keeps as well, on a connection of its own. While it is held and nothing else is done there, it holds up nobody else,
//! not even an index that is built `CONCURRENTLY`.

use super::{Connector, close};
use crate::error::StoreError;
use crate::start_lock::StartLock;
use async_trait::async_trait;
use sqlx::PgConnection;

/// What a lock is for, as its number.
#[derive(Clone, Copy)]
#[repr(i64)]
pub(in crate::postgres) enum LockKey {
    /// "monstart" in ASCII.
    FirstStart = 7_885_642_914_701_865_588,
    /// "monindex" in ASCII.
    Indexes = 7_885_642_871_651_722_616,
}

/// A lock that is held until it is released or its process ends.
pub(in crate::postgres) struct AdvisoryLock(PgConnection);

impl AdvisoryLock {
    /// Waits for a minute at most.
    pub(in crate::postgres) async fn acquire(
        connector: &Connector,
        key: LockKey,
    ) -> Result<Self, StoreError> {
        let mut connection = begin(connector).await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(key as i64)
            .execute(&mut connection)
            .await?;
        Ok(Self(connection))
    }

    /// None while another server holds it.
    pub(in crate::postgres) async fn try_acquire(
        connector: &Connector,
        key: LockKey,
    ) -> Result<Option<Self>, StoreError> {
        let mut connection = begin(connector).await?;
        let is_held: bool = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)")
            .bind(key as i64)
            .fetch_one(&mut connection)
            .await?;
        match is_held {
            true => Ok(Some(Self(connection))),
            false => {
                close(connection).await;
                Ok(None)
            }
        }
    }

    /// The end of the connection ends the transaction.
    pub(in crate::postgres) async fn release(self) {
        close(self.0).await;
    }
}

/// A connection with an open transaction.
async fn begin(connector: &Connector) -> Result<PgConnection, StoreError> {
    let mut connection = connector.connect_unlimited().await?;
    sqlx::raw_sql("BEGIN").execute(&mut connection).await?;
    Ok(connection)
}

#[async_trait]
impl StartLock for AdvisoryLock {
    async fn release(self: Box<Self>) {
        AdvisoryLock::release(*self).await;
    }
}
