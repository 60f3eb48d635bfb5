//! The memory for dead letters on their way to the disk (CONTRACT 23). A delivery worker waits for it before it makes a
//! letter, so that refused records of many megabytes are in memory one after the other, not all at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Bytes of the letters in memory, or one larger letter.
const BYTES: usize = 4 << 20;
/// How long a worker waits at most; then its letter is taken or dropped by the bounds for a disk that refuses.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The memory for dead letters of one spool.
pub(crate) struct LetterMemory {
    free_bytes: Arc<Semaphore>,
    /// The disk refused the letters of the latest round.
    refuses: AtomicBool,
}

/// A letter's part of the memory, given back when it is dropped.
pub(crate) struct LetterRoom {
    _bytes: OwnedSemaphorePermit,
}

impl LetterMemory {
    pub(crate) fn new() -> Self {
        Self {
            free_bytes: Arc::new(Semaphore::new(BYTES)),
            refuses: AtomicBool::new(false),
        }
    }

    /// Waits for room for a letter of about so many bytes; a letter larger than all the room waits for all of it. None
    /// if the disk refuses letters, or takes too long.
    pub(crate) async fn take(&self, bytes: u64) -> Option<LetterRoom> {
        let bytes = u32::try_from(bytes.min(BYTES as u64)).unwrap_or(0);
        let free = self.free_bytes.clone();
        let taken = match self.refuses.load(Ordering::Relaxed) {
            true => free.try_acquire_many_owned(bytes).ok(),
            false => timeout(LONGEST_WAIT, free.acquire_many_owned(bytes))
                .await
                .ok()
                .and_then(Result::ok),
        };
        taken.map(|bytes| LetterRoom { _bytes: bytes })
    }

    /// Notes whether the disk refused letters just now.
    pub(crate) fn set_refuses(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LARGE: u64 = 3 << 20;

    #[tokio::test(start_paused = true)]
    async fn contract_23_large_letters_are_made_one_after_the_other_and_none_waits_for_a_disk_that_refuses()
     {
        let memory = LetterMemory::new();
        let first = memory.take(LARGE).await.unwrap();
        let second = tokio::select! {
            biased;
            _ = memory.take(LARGE) => true,
            () = tokio::time::sleep(LONGEST_WAIT / 2) => false,
        };
        assert!(!second);
        // A small one fits beside it.
        assert!(memory.take(1_000).await.is_some());
        assert!(memory.take(LARGE).await.is_none());
        drop(first);
        let whole = memory.take(u64::MAX).await.unwrap();
        memory.set_refuses(true);
        let before = tokio::time::Instant::now();
        assert!(memory.take(1).await.is_none());
        assert_eq!(before.elapsed(), Duration::ZERO);
        drop(whole);
        assert!(memory.take(1).await.is_some());
    }
}
