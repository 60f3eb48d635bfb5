//! Keeps what is remembered of applications and tokens fresh: the store tells of every change, also
//! one that another process made (CONTRACT 16, 30). What is remembered stands in `cache`.

use super::applications::Applications;
use super::tokens::Tokens;
use monitor_store::Store;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Changes that come within this time are doubted once; it also bounds the work that a store which
/// tells of changes without end can cause.
const SETTLES: Duration = Duration::from_millis(20);

/// The task that waits for changes; it ends with [`Freshness::stop`].
pub(super) struct Freshness(Mutex<Option<JoinHandle<()>>>);

impl Freshness {
    /// Starts the task on the calling runtime.
    pub(super) fn start(
        store: Arc<dyn Store>,
        applications: Arc<Applications>,
        tokens: Arc<Tokens>,
    ) -> Self {
        let task = tokio::spawn(async move {
            loop {
                store.settings_changed().await;
                applications.doubt();
                tokens.doubt();
                tokio::time::sleep(SETTLES).await;
            }
        });
        Self(Mutex::new(Some(task)))
    }

    /// Ends the task and waits for its end.
    pub(super) async fn stop(&self) {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // It was told to end; that it did is all there is to know.
            let _ = task.await;
        }
    }
}
