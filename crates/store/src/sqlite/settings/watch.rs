//! Notices changes of applications and tokens, made by this process or by another one: the file counts them,
//! and whoever waits reads the counter after every write of this process and periodically.

use crate::error::StoreError;
use sqlx::sqlite::SqlitePool;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// A change by another process is noticed within this time.
const POLL: Duration = Duration::from_millis(500);

pub(in crate::sqlite) struct SettingsWatch {
    written: watch::Sender<()>,
    /// The last reported value of the counter; negative before the first read, which therefore always
    /// reports a change.
    reported: AtomicI64,
}

impl SettingsWatch {
    pub(in crate::sqlite) fn new() -> Self {
        Self {
            written: watch::Sender::new(()),
            reported: AtomicI64::new(-1),
        }
    }

    /// This process has changed a setting.
    pub(super) fn notify(&self) {
        self.written.send_replace(());
    }

    /// Waits until the counter differs from the value reported last. While the file cannot be read there is
    /// nothing to report; once the store is closed there never is.
    pub(super) async fn changed(&self, readers: &SqlitePool) {
        let mut written = self.written.subscribe();
        let reported = self.reported.load(Ordering::Relaxed);
        loop {
            match count(readers).await {
                Ok(count) if count != reported => {
                    self.reported.fetch_max(count, Ordering::Relaxed);
                    return;
                }
                Ok(_) => {}
                Err(StoreError::Closed) => return std::future::pending().await,
                Err(_) => {}
            }
            // A write ends the wait early; after a timeout the counter is read in any case.
            let _ = tokio::time::timeout(POLL, written.changed()).await;
        }
    }
}

async fn count(readers: &SqlitePool) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count FROM settings_changes")
        .fetch_one(readers)
        .await?)
}
