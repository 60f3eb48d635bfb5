//! Room on the disk for the files that are being uploaded (`attachments.uploading_bytes`): each claims its bytes before
//! the first one is written, until it is stored or refused. A tenant takes at most an equal share while others upload
//! too. One file of each tenant always has room, so that others keep nobody out however slowly they send: the bytes
//! exceed the limit by at most one file of each further tenant. `file_room` is the room in the store.

use crate::analysis::error::ApiError;
use crate::fair_queue::Tenant;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// A file that has waited for so long is refused.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The files that are being uploaded, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadFigures {
    pub(crate) bytes: u64,
    pub(crate) limit_bytes: u64,
    /// Access keys that upload.
    pub(crate) holders: usize,
}

/// Who uploads how much.
pub(crate) struct UploadRoom {
    limit: u64,
    /// Claimed bytes by access key.
    claimed: watch::Sender<HashMap<u64, u64>>,
}

/// The room of one file, until it is dropped.
pub(crate) struct UploadPlace {
    room: Arc<UploadRoom>,
    holder: u64,
    bytes: u64,
}

impl UploadRoom {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            claimed: watch::Sender::default(),
        })
    }

    /// Room for a file of at most this size, at once or when others have ended.
    ///
    /// # Errors
    /// [`ApiError::UploadsFull`] where they have not in time.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        tenant: Tenant,
        bytes: u64,
    ) -> Result<UploadPlace, ApiError> {
        let (holder, mut changes) = (tenant.holder, self.claimed.subscribe());
        let taking = async {
            while !self.take(holder, bytes) {
                // Cannot fail: the sender is here.
                let _ = changes.changed().await;
            }
        };
        let taken = timeout(LONGEST_WAIT, taking).await;
        taken.map_err(|_| ApiError::UploadsFull)?;
        let room = self.clone();
        Ok(UploadPlace {
            room,
            holder,
            bytes,
        })
    }

    fn take(&self, holder: u64, bytes: u64) -> bool {
        self.claimed.send_if_modified(|claimed| {
            let used: u64 = claimed.values().sum();
            let part = self.limit / claimed.len().max(1) as u64;
            let has_room = match claimed.get(&holder) {
                None => true,
                Some(own) => own + bytes <= part && used + bytes <= self.limit,
            };
            if has_room {
                *claimed.entry(holder).or_default() += bytes;
            }
            has_room
        })
    }

    pub(crate) fn figures(&self) -> UploadFigures {
        let claimed = self.claimed.borrow();
        UploadFigures {
            bytes: claimed.values().sum(),
            limit_bytes: self.limit,
            holders: claimed.len(),
        }
    }
}

impl Drop for UploadPlace {
    fn drop(&mut self) {
        self.room.claimed.send_modify(|claimed| {
            if let Some(own) = claimed.get_mut(&self.holder) {
                *own -= self.bytes;
            }
            claimed.retain(|_, bytes| *bytes > 0);
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(&name, &())
    }

    #[tokio::test]
    async fn one_tenant_has_all_of_it_alone_and_an_equal_share_beside_another() {
        let room = UploadRoom::new(100);
        let claim = |name, bytes| room.claim(tenant(name), bytes).now_or_never();
        let mut own: Vec<_> = (0..10).map(|_| claim("a", 10).unwrap().unwrap()).collect();
        assert!(claim("a", 10).is_none());
        let other = claim("b", 10).unwrap().unwrap();
        assert!(claim("b", 10).is_none(), "it is full, and one is there");
        own.truncate(5);
        assert!(claim("a", 10).is_none(), "more than half");
        let second = claim("b", 40).unwrap().unwrap();
        drop((other, second));
        assert!(claim("a", 10).is_some());
        drop(own);
        assert_eq!(room.figures().holders, 0);
    }

    #[tokio::test]
    async fn who_waits_goes_on_once_there_is_room() {
        let room = UploadRoom::new(100);
        let first = room.claim(tenant("a"), 100).await.unwrap();
        let mut second = Box::pin(room.claim(tenant("a"), 1));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_too_long_is_refused() {
        let room = UploadRoom::new(100);
        let _first = room.claim(tenant("a"), 100).await.unwrap();
        let refused = room.claim(tenant("a"), 1).await.err();
        assert_eq!(refused, Some(ApiError::UploadsFull));
    }
}
