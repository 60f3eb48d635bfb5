//! One change at a time to the keys of an application, so that many at once stay within its bound.

use crate::analysis::error::ApiError;
use crate::observe::TurnRefusal;
use monitor_model::ApplicationId;
use std::array::from_fn;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

/// Applications share this many locks.
const LOCKS: usize = 64;

/// The locks, by application.
pub(crate) struct KeyLocks {
    locks: [Mutex<()>; LOCKS],
    longest_wait: Duration,
}

impl KeyLocks {
    pub(crate) fn new(longest_wait: Duration) -> Self {
        Self {
            locks: from_fn(|_| Mutex::default()),
            longest_wait,
        }
    }

    /// Held while the keys of an application are counted and changed; None for the others, which have no bound.
    ///
    /// # Errors
    /// [`ApiError::ReadsBusy`] where others hold it for too long.
    pub(super) async fn lock(
        &self,
        application: Option<ApplicationId>,
    ) -> Result<Option<MutexGuard<'_, ()>>, ApiError> {
        let Some(application) = application else {
            return Ok(None);
        };
        let [.., last] = application.0.into_bytes();
        let lock = self.locks[usize::from(last) % LOCKS].lock();
        let held = timeout(self.longest_wait, lock).await;
        held.map(Some)
            .map_err(|_| ApiError::ReadsBusy(TurnRefusal::Late))
    }
}
