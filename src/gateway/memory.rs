//! The memory of all calls under way together (`limits.buffered_bytes`): request bodies that wait for
//! their verdict or their upstream, answers that are held or copied for the record. Where it runs short,
//! those are asked for room who take long; what is beyond it is refused. What a call holds it gives back
//! however it ends.

use crate::observe::{Exhausted, Metrics, Throttle};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// An answer's copy up to this is not accounted for: the connection's own buffers are as large.
const SMALL: i64 = 16 << 10;
/// A growing copy is accounted for in steps of this.
const STEP: i64 = 64 << 10;
/// It runs short above so many quarters of the limit: the last one is for who comes next.
const SHORT: i64 = 3;
/// Room is asked for no more often than this.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// What all calls of one gateway share.
pub(crate) struct Memory {
    used: AtomicI64,
    waiting: AtomicUsize,
    freed: Notify,
    asking: Notify,
    asked: Throttle,
    metrics: Arc<Metrics>,
}

/// What one call holds of it.
pub(crate) struct Share {
    memory: Arc<Memory>,
    bytes: i64,
}

/// There is no room.
#[derive(Debug)]
pub(crate) struct Full(pub(crate) Exhausted);

impl Memory {
    pub(crate) fn new(limit: u64, metrics: Arc<Metrics>) -> Arc<Self> {
        metrics.limits.buffered_limit.set(signed(limit));
        Arc::new(Self {
            used: AtomicI64::new(0),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
            asking: Notify::new(),
            asked: Throttle::every(ASK_EVERY),
            metrics,
        })
    }

    /// What is held already stays.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.metrics.limits.buffered_limit.set(signed(limit));
        self.freed.notify_waiters();
    }

    /// Whether those have to give way who can.
    pub(crate) fn is_short(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit() / 4 * SHORT
    }

    /// Whether so many bytes have room once nobody else holds any.
    pub(crate) fn can_ever_hold(&self, bytes: usize) -> bool {
        signed(bytes as u64) <= self.limit()
    }

    /// Resolves when room is asked for the next time.
    pub(crate) async fn asks(&self) {
        self.asking.notified().await;
    }

    /// The gauge is where it is kept: one number to be wrong.
    fn limit(&self) -> i64 {
        self.metrics.limits.buffered_limit.get()
    }

    /// Takes all or nothing: a try that fails is seen by nobody, least of all by those who wait.
    fn take(&self, bytes: i64) -> Result<(), Full> {
        let limit = self.limit();
        let more = |used: i64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let (set, read) = (Ordering::SeqCst, Ordering::SeqCst);
        let taken = self.used.fetch_update(set, read, more);
        if (taken.is_err() || self.is_short()) && self.asked.pass().is_some() {
            self.asking.notify_waiters();
        }
        taken.map_err(|_| Full(Exhausted::Memory))?;
        self.metrics.limits.buffered_bytes.add(bytes);
        Ok(())
    }

    fn give(&self, bytes: i64) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        self.metrics.limits.buffered_bytes.sub(bytes);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

impl Share {
    /// Nothing yet.
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self {
            memory: memory.clone(),
            bytes: 0,
        }
    }

    /// # Errors
    /// When there is no room for so many more.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes = signed(bytes as u64);
        self.memory.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Like [`Self::grow`], where room is waited for that long.
    ///
    /// # Errors
    /// When there is none by then, or can be none.
    pub(crate) async fn grow_within(&mut self, bytes: usize, limit: Duration) -> Result<(), Full> {
        let memory = self.memory.clone();
        if !memory.can_ever_hold(bytes) {
            return Err(Full(Exhausted::Memory));
        }
        let _waiting = Waiting::among(&memory.waiting);
        let growing = async {
            loop {
                let mut freed = std::pin::pin!(memory.freed.notified());
                freed.as_mut().enable();
                if self.grow(bytes).is_ok() {
                    return;
                }
                // Each further try asks for room again.
                let _ = timeout(ASK_EVERY, freed).await;
            }
        };
        let grown = timeout(limit, growing).await;
        grown.map_err(|_| Full(Exhausted::Memory))
    }

    /// Accounts for an answer's copy that is now so long.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(crate) fn cover(&mut self, length: usize) -> Result<(), Full> {
        let length = signed(length as u64);
        if length <= self.bytes.max(SMALL) {
            return Ok(());
        }
        let more = (length - self.bytes).div_euclid(STEP) * STEP + STEP;
        self.memory.take(more)?;
        self.bytes += more;
        Ok(())
    }

    /// Gives everything back.
    pub(crate) fn give_back(&mut self) {
        if self.bytes > 0 {
            self.memory.give(std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// One who waits; counted until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn used(memory: &Memory) -> i64 {
        memory.metrics.limits.buffered_bytes.get()
    }

    #[test]
    fn what_is_taken_is_bounded_and_given_back() {
        let memory = Memory::new(100, Arc::new(Metrics::new().unwrap()));
        let (mut one, mut two) = (Share::new(&memory), Share::new(&memory));
        one.grow(60).unwrap();
        two.grow(40).unwrap();
        assert!(one.grow(1).is_err());
        drop(one);
        two.grow(60).unwrap();
        assert_eq!(used(&memory), 100);
        two.give_back();
        assert_eq!(used(&memory), 0);
    }

    #[tokio::test]
    async fn who_finds_the_last_quarter_taken_asks_the_others_for_room() {
        let memory = Memory::new(100, Arc::new(Metrics::new().unwrap()));
        let (mut slow, mut next) = (Share::new(&memory), Share::new(&memory));
        slow.grow(80).unwrap();
        assert!(memory.is_short());
        let asked = async {
            memory.asks().await;
            slow.give_back();
        };
        let waits = next.grow_within(60, Duration::from_secs(60));
        let ((), grown) = tokio::join!(asked, waits);
        grown.unwrap();
        assert!(!memory.is_short());
        assert_eq!(used(&memory), 60);
    }

    #[test]
    fn a_copy_grows_in_steps_and_never_beyond_the_limit() {
        let memory = Memory::new(200 << 10, Arc::new(Metrics::new().unwrap()));
        let mut copy = Share::new(&memory);
        copy.cover(16 << 10).unwrap();
        assert_eq!(used(&memory), 0);
        for length in (0..190 << 10).step_by(1000) {
            copy.cover(length).unwrap();
            assert!(length <= 16 << 10 || used(&memory) >= length as i64);
        }
        assert!(copy.cover(250 << 10).is_err());
        drop(copy);
        assert_eq!(used(&memory), 0);
    }
}
