//! The memory for dead letters on their way to the disk (CONTRACT 23). A delivery worker waits for it before it makes a
//! letter, so that refused records of many megabytes are in memory one after the other, not all at once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

/// Bytes of the letters in memory, or one larger letter.
const BYTES: usize = 4 << 20;
/// How long a worker waits at most; then its letter is taken or dropped by the bounds for a disk that refuses.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The memory for dead letters of one spool.
pub(crate) struct LetterMemory {
    free_bytes: Arc<Semaphore>,
    /// The disk refused the letters of the latest round, or has not come to them for [`LONGEST_WAIT`]: nobody waits.
    is_stuck: AtomicBool,
}

/// A letter's part of the memory, given back when it is dropped.
pub(crate) struct LetterRoom {
    _bytes: OwnedSemaphorePermit,
    /// Dropped with the letter, which ends the wait for it.
    _leaves: oneshot::Sender<()>,
}

/// Resolves when a letter has left the memory.
pub(crate) struct LetterLeft(oneshot::Receiver<()>);

impl LetterMemory {
    pub(crate) fn new() -> Self {
        Self {
            free_bytes: Arc::new(Semaphore::new(BYTES)),
            is_stuck: AtomicBool::new(false),
        }
    }

    /// Waits for room for a letter of about so many bytes; a letter larger than all the room waits for all of it. None
    /// if the disk refuses letters, or takes too long.
    pub(crate) async fn take(&self, bytes: u64) -> Option<(LetterRoom, LetterLeft)> {
        let bytes = u32::try_from(bytes.min(BYTES as u64)).unwrap_or(0);
        let free = self.free_bytes.clone();
        let taken = match self.is_stuck.load(Ordering::Relaxed) {
            true => free.try_acquire_many_owned(bytes).ok(),
            false => self
                .in_time(free.acquire_many_owned(bytes))
                .await
                .and_then(Result::ok),
        };
        let (leaves, left) = oneshot::channel();
        let room = LetterRoom {
            _bytes: taken?,
            _leaves: leaves,
        };
        Some((room, LetterLeft(left)))
    }

    /// Waits until a letter has left the memory, where the disk takes letters.
    pub(crate) async fn wait_for(&self, letter: LetterLeft) {
        if !self.is_stuck.load(Ordering::Relaxed) {
            self.in_time(letter.0).await;
        }
    }

    async fn in_time<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        let done = timeout(LONGEST_WAIT, wait).await;
        if done.is_err() {
            self.set_stuck(true);
        }
        done.ok()
    }

    /// Notes whether the disk refused letters just now.
    pub(crate) fn set_stuck(&self, is_stuck: bool) {
        self.is_stuck.store(is_stuck, Ordering::Relaxed);
    }

    /// No further letter is written: whoever waits for room or waits later gets none.
    pub(crate) fn close(&self) {
        self.set_stuck(true);
        self.free_bytes.close();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::time::Instant;

    const LARGE: u64 = 3 << 20;

    #[tokio::test(start_paused = true)]
    async fn contract_23_large_letters_are_made_one_after_the_other_and_none_waits_for_a_disk_that_refuses()
     {
        let memory = LetterMemory::new();
        let (first, left) = memory.take(LARGE).await.unwrap();
        let second = timeout(LONGEST_WAIT / 2, memory.take(LARGE)).await;
        assert!(second.is_err(), "it waits");
        // A small one fits beside it.
        assert!(memory.take(1_000).await.is_some());
        drop(first);
        memory.wait_for(left).await;
        let (whole, _) = memory.take(u64::MAX).await.unwrap();
        memory.set_stuck(true);
        let before = Instant::now();
        assert!(memory.take(1).await.is_none());
        assert_eq!(before.elapsed(), Duration::ZERO);
        drop(whole);
        assert!(memory.take(1).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn contract_23_a_disk_that_hangs_is_waited_for_once_until_it_takes_letters_again() {
        let memory = LetterMemory::new();
        let (_whole, left) = memory.take(u64::MAX).await.unwrap();
        let before = Instant::now();
        assert!(memory.take(LARGE).await.is_none());
        assert_eq!(before.elapsed(), LONGEST_WAIT);
        assert!(memory.take(LARGE).await.is_none());
        memory.wait_for(left).await;
        assert_eq!(before.elapsed(), LONGEST_WAIT);
        memory.set_stuck(false);
        assert!(memory.take(LARGE).await.is_none());
        assert_eq!(before.elapsed(), 2 * LONGEST_WAIT);
        memory.set_stuck(false);
        let closed = tokio::join!(memory.take(LARGE), async { memory.close() });
        assert!(closed.0.is_none());
        assert_eq!(before.elapsed(), 2 * LONGEST_WAIT);
    }
}
