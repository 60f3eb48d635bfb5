//! The connection of the writer. It is replaced after a transaction that failed: SQLite rolls back by itself, on a
//! full disk for one, what the connection still takes for open, and every later transaction would be refused.
//! Until then each statement would be a transaction of its own: nothing is committed but what the writer commits.

use super::priority;
use crate::error::StoreError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// How long the writer waits after a failure; twice as long after each further one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct WritingConnection {
    options: SqliteConnectOptions,
    open: Option<SqliteConnection>,
    gate: CommitGate,
    pause: Duration,
}

/// Refuses every commit while it is closed, also that of a statement outside a transaction.
#[derive(Clone, Default)]
pub(super) struct CommitGate(Arc<AtomicBool>);

impl CommitGate {
    /// The next commit is one of the writer.
    pub(super) fn open(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn close(&self) {
        self.0.store(false, Ordering::Release);
    }

    async fn guard(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let gate = self.clone();
        let mut handle = connection.lock_handle().await?;
        handle.set_commit_hook(move || gate.0.load(Ordering::Acquire));
        Ok(())
    }
}

impl WritingConnection {
    /// A connection that is open, and how to open the next one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the connection does not work.
    pub(super) async fn new(
        mut open: SqliteConnection,
        options: SqliteConnectOptions,
    ) -> Result<Self, StoreError> {
        let gate = CommitGate::default();
        gate.guard(&mut open).await?;
        Ok(Self {
            options,
            open: Some(open),
            gate,
            pause: SHORTEST_PAUSE,
        })
    }

    /// What lets a transaction be committed.
    pub(super) fn gate(&self) -> CommitGate {
        self.gate.clone()
    }

    /// # Errors
    /// [`StoreError::Unavailable`] when there is none and the file cannot be opened.
    pub(super) async fn get(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let connection = match self.open.take() {
            Some(connection) => connection,
            None => {
                let mut connection = self.options.connect().await?;
                self.gate.guard(&mut connection).await?;
                priority::lower_writer_priority();
                connection
            }
        };
        Ok(self.open.insert(connection))
    }

    /// A transaction was committed.
    pub(super) fn note_success(&mut self) {
        self.pause = SHORTEST_PAUSE;
    }

    /// Closes the connection on which a transaction failed, and waits: the cause rarely goes away at once.
    pub(super) async fn replace(&mut self) {
        if let Some(failed) = self.open.take() {
            // What could not be rolled back is not committed either.
            let _ = failed.close().await;
        }
        sleep(self.pause).await;
        self.pause = LONGEST_PAUSE.min(self.pause * 2);
    }

    pub(super) async fn close(self) -> Result<(), StoreError> {
        match self.open {
            Some(connection) => Ok(connection.close().await?),
            None => Ok(()),
        }
    }
}
