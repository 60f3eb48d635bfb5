//! Empties the caches of applications and tokens whenever the store reports a change, also one by another
//! process (CONTRACT 16, 30). The cache itself is `cache`.

use super::application_cache::ApplicationCache;
use crate::analysis::access::token_cache::TokenCache;
use monitor_store::ApplicationStore;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Changes within this time invalidate the caches once. It also limits the work that a store which reports
/// changes without end can cause.
const DEBOUNCE: Duration = Duration::from_millis(20);

/// The task that waits for changes; it ends with [`CacheInvalidation::stop`].
pub(crate) struct CacheInvalidation(Mutex<Option<JoinHandle<()>>>);

impl CacheInvalidation {
    /// Starts the task on the calling runtime.
    pub(crate) fn start(
        store: Arc<dyn ApplicationStore>,
        applications: Arc<ApplicationCache>,
        tokens: Arc<TokenCache>,
    ) -> Self {
        let task = tokio::spawn(async move {
            loop {
                store.settings_changed().await;
                applications.invalidate_all();
                tokens.invalidate_all();
                tokio::time::sleep(DEBOUNCE).await;
            }
        });
        Self(Mutex::new(Some(task)))
    }

    /// Ends the task and waits for its end.
    pub(crate) async fn stop(&self) {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // Its only outcome is that it was aborted.
            let _ = task.await;
        }
    }
}
