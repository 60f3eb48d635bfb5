//! The connection of the writer. It is replaced after a transaction that failed: SQLite rolls back by itself, on a
//! full disk for one, what the connection still takes for open, and every later transaction would be refused.

use super::priority;
use crate::error::StoreError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::time::Duration;
use tokio::time::sleep;

/// How long the writer waits after a failure; twice as long after each further one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct WritingConnection {
    options: SqliteConnectOptions,
    open: Option<SqliteConnection>,
    pause: Duration,
}

impl WritingConnection {
    /// A connection that is open, and how to open the next one.
    pub(super) fn new(open: SqliteConnection, options: SqliteConnectOptions) -> Self {
        Self {
            options,
            open: Some(open),
            pause: SHORTEST_PAUSE,
        }
    }

    /// # Errors
    /// [`StoreError::Unavailable`] when there is none and the file cannot be opened.
    pub(super) async fn get(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let connection = match self.open.take() {
            Some(connection) => connection,
            None => {
                let connection = self.options.connect().await?;
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
