//! Changes of applications and tokens, made here or by another process: the file counts them, and
//! whoever waits looks at the count after every write of this process and now and then.

use crate::StoreError;
use sqlx::sqlite::SqlitePool;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// A change by another process is known of in this time.
const LOOK: Duration = Duration::from_millis(500);

pub(super) struct Changes {
    written: watch::Sender<()>,
    /// The count that was last told of; negative before the first look, which therefore always tells.
    told: AtomicI64,
}

impl Changes {
    pub(super) fn new() -> Self {
        Self {
            written: watch::Sender::new(()),
            told: AtomicI64::new(-1),
        }
    }

    /// This process has changed something.
    pub(super) fn written(&self) {
        self.written.send_replace(());
    }

    /// Waits until the count is another one than was told of last. A file that cannot be read has
    /// no changes to tell of; a closed one never again.
    pub(super) async fn wait(&self, readers: &SqlitePool) {
        let mut written = self.written.subscribe();
        let told = self.told.load(Ordering::Relaxed);
        loop {
            match count(readers).await {
                Ok(count) if count != told => {
                    self.told.fetch_max(count, Ordering::Relaxed);
                    return;
                }
                Ok(_) => {}
                Err(StoreError::Closed) => return std::future::pending().await,
                Err(_) => {}
            }
            // Over early by a write; a timeout is a look of its own.
            let _ = tokio::time::timeout(LOOK, written.changed()).await;
        }
    }
}

async fn count(readers: &SqlitePool) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count FROM settings_changes")
        .fetch_one(readers)
        .await?)
}
