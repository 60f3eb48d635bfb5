//! The memory of all calls together (`limits.buffered_bytes`): request bodies that wait for their verdict
//! or their upstream, and answers that are held or copied for the record. When it runs short, slow calls
//! are asked to move their bodies to disk; a call beyond the limit is refused. When it runs short and several
//! access keys hold or want some, a key with more than an equal part gets no more; a little of it each may have,
//! however many they are. A reservation is released however its call ends.

use crate::observe::{Exhausted, Metrics, Throttle};
use prometheus::IntGauge;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// An answer's copy up to this size is not counted: the connection's own buffers are as large.
const SMALL: i64 = 16 << 10;
/// A growing copy is counted in steps of this size.
const STEP: i64 = 64 << 10;
/// Memory is short above this many quarters of the limit: the last one is left for new calls.
const SHORT_QUARTERS: i64 = 3;
/// One of so many parts of the limit belongs to no equal part: it is left for keys that want some meanwhile.
const LEFT_PARTS: i64 = 8;
/// A key that has at most one of so many parts of the limit has little, however many keys there are.
const LITTLE_PARTS: i64 = 64;
/// Slow calls are asked to free memory at most this often.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The memory that all calls of one gateway share.
pub(crate) struct MemoryBudget {
    used: AtomicI64,
    /// Calls that wait in [`MemoryReservation::grow_within`].
    waiting: AtomicUsize,
    /// Access keys that hold memory, or wait for some.
    holders: Mutex<HashMap<u64, Holder>>,
    freed: Notify,
    requested: Notify,
    requests: Throttle,
    limit: AtomicI64,
    /// None where nobody measures it.
    gauges: Option<Gauges>,
}

/// Bytes in use and their limit, as metrics.
struct Gauges {
    used: IntGauge,
    limit: IntGauge,
}

/// What one access key has of the memory.
#[derive(Default)]
struct Holder {
    bytes: i64,
    /// Its calls that wait.
    waiting: usize,
}

/// The bytes that one call holds, released when it is dropped.
pub(crate) struct MemoryReservation {
    budget: Arc<MemoryBudget>,
    /// The access key of the call.
    holder: u64,
    bytes: i64,
}

/// The resource that a reservation found exhausted.
#[derive(Debug)]
pub(crate) struct Full(pub(crate) Exhausted);

impl MemoryBudget {
    /// For the calls of a gateway.
    pub(crate) fn new(limit: u64, metrics: &Metrics) -> Arc<Self> {
        let gauges = Gauges {
            used: metrics.limits.buffered_bytes.clone(),
            limit: metrics.limits.buffered_limit.clone(),
        };
        Self::with(limit, Some(gauges))
    }

    /// For the requests of the analysis API and the web UI.
    pub(crate) fn of_api(limit: u64, metrics: &Metrics) -> Arc<Self> {
        let gauges = Gauges {
            used: metrics.limits.api_buffered_bytes.clone(),
            limit: metrics.limits.api_buffered_limit.clone(),
        };
        Self::with(limit, Some(gauges))
    }

    /// For requests that nobody measures: those of the operations listener.
    pub(crate) fn unmeasured(limit: u64) -> Arc<Self> {
        Self::with(limit, None)
    }

    fn with(limit: u64, gauges: Option<Gauges>) -> Arc<Self> {
        let budget = Self {
            used: AtomicI64::new(0),
            waiting: AtomicUsize::new(0),
            holders: Mutex::default(),
            freed: Notify::new(),
            requested: Notify::new(),
            requests: Throttle::every(ASK_EVERY),
            limit: AtomicI64::new(0),
            gauges,
        };
        budget.set_limit(limit);
        Arc::new(budget)
    }

    /// Changes the limit. Calls keep what they hold beyond a lower one.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.limit.store(signed(limit), Ordering::SeqCst);
        if let Some(gauges) = &self.gauges {
            gauges.limit.set(signed(limit));
        }
        self.freed.notify_waiters();
    }

    /// Whether slow calls have to free memory.
    pub(crate) fn is_short(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit() / 4 * SHORT_QUARTERS
    }

    /// Whether `bytes` fit into the limit when no other call holds any.
    pub(crate) fn can_ever_hold(&self, bytes: usize) -> bool {
        signed(bytes as u64) <= self.limit()
    }

    /// Resolves when a call asks the others to free memory.
    pub(crate) async fn requested(&self) {
        self.requested.notified().await;
    }

    /// Its limit in bytes.
    pub(crate) fn limit_bytes(&self) -> usize {
        usize::try_from(self.limit()).unwrap_or(usize::MAX)
    }

    fn limit(&self) -> i64 {
        self.limit.load(Ordering::SeqCst)
    }

    /// Reserves all or nothing. A failed attempt changes no counter, so it cannot fail other calls.
    fn take(&self, holder: u64, bytes: i64) -> Result<(), Full> {
        let limit = self.limit();
        let mut holders = self.holders();
        if self.is_over_share(&holders, holder, bytes) {
            return Err(Full(Exhausted::Memory));
        }
        let more = |used: i64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let (set, read) = (Ordering::SeqCst, Ordering::SeqCst);
        let taken = self.used.fetch_update(set, read, more);
        if (taken.is_err() || self.is_short()) && self.requests.pass().is_some() {
            self.requested.notify_waiters();
        }
        taken.map_err(|_| Full(Exhausted::Memory))?;
        holders.entry(holder).or_default().bytes += bytes;
        self.measure(bytes);
        Ok(())
    }

    fn measure(&self, change: i64) {
        if let Some(gauges) = &self.gauges {
            gauges.used.add(change);
        }
    }

    /// Whether a key would have more than little, and more than an equal part of memory that is short.
    fn is_over_share(&self, holders: &HashMap<u64, Holder>, holder: u64, bytes: i64) -> bool {
        let own = holders.get(&holder);
        let keys = holders.len() + usize::from(own.is_none());
        let after = own.map_or(0, |own| own.bytes).saturating_add(bytes);
        let limit = self.limit();
        let used = self.used.load(Ordering::SeqCst).saturating_add(bytes);
        let part = (limit - limit / LEFT_PARTS) / signed(keys as u64);
        let is_short = used > limit / 4 * SHORT_QUARTERS;
        keys > 1 && is_short && after > part.max(limit / LITTLE_PARTS)
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<u64, Holder>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what a key has, and forgets it when that is nothing.
    fn change(&self, holder: u64, change: impl FnOnce(&mut Holder)) {
        let mut holders = self.holders();
        let own = holders.entry(holder).or_default();
        change(own);
        if own.bytes == 0 && own.waiting == 0 {
            holders.remove(&holder);
        }
    }

    /// Counts bytes that are taken for another holder; false where that would have more than its share.
    fn pass(&self, from: u64, to: u64, bytes: i64) -> bool {
        let is_over_share = self.is_over_share(&self.holders(), to, bytes);
        if !is_over_share {
            self.change(to, |own| own.bytes += bytes);
            self.change(from, |own| own.bytes -= bytes);
        }
        !is_over_share
    }

    fn release(&self, holder: u64, bytes: i64) {
        self.change(holder, |own| own.bytes -= bytes);
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        self.measure(-bytes);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

impl MemoryReservation {
    /// Reserves nothing yet; `holder` is the access key of the call.
    pub(crate) fn new(budget: &Arc<MemoryBudget>, holder: u64) -> Self {
        Self {
            budget: budget.clone(),
            holder,
            bytes: 0,
        }
    }

    /// The access key of the call.
    pub(crate) fn holder(&self) -> u64 {
        self.holder
    }

    /// Counts what is reserved for another holder; false where that would have more than its share.
    pub(crate) fn count_for(&mut self, holder: u64) -> bool {
        let passed = self.budget.pass(self.holder, holder, self.bytes);
        if passed {
            self.holder = holder;
        }
        passed
    }

    /// Reserves `bytes` more.
    ///
    /// # Errors
    /// When they do not fit at the moment.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes = signed(bytes as u64);
        self.budget.take(self.holder, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Like [`Self::grow`], waiting for other calls to release memory for at most `limit`.
    ///
    /// # Errors
    /// When the bytes do not fit by then, or never can.
    pub(crate) async fn grow_within(&mut self, bytes: usize, limit: Duration) -> Result<(), Full> {
        let budget = self.budget.clone();
        if !budget.can_ever_hold(bytes) {
            return Err(Full(Exhausted::Memory));
        }
        let _waiting = Waiting::count_in(&budget, self.holder);
        let growing = async {
            loop {
                let mut freed = std::pin::pin!(budget.freed.notified());
                freed.as_mut().enable();
                if self.grow(bytes).is_ok() {
                    return;
                }
                // Each further attempt asks the slow calls again.
                let _ = timeout(ASK_EVERY, freed).await;
            }
        };
        let grown = timeout(limit, growing).await;
        grown.map_err(|_| Full(Exhausted::Memory))
    }

    /// Grows the reservation to cover an answer's copy of `length` bytes.
    ///
    /// # Errors
    /// When it does not fit.
    pub(crate) fn cover(&mut self, length: usize) -> Result<(), Full> {
        let length = signed(length as u64);
        if length <= self.bytes.max(SMALL) {
            return Ok(());
        }
        let more = (length - self.bytes).div_euclid(STEP) * STEP + STEP;
        self.budget.take(self.holder, more)?;
        self.bytes += more;
        Ok(())
    }

    /// Releases all bytes of the reservation.
    pub(crate) fn release(&mut self) {
        if self.bytes > 0 {
            self.budget
                .release(self.holder, std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.release();
    }
}

/// Counts a waiting call until it is dropped.
struct Waiting<'a> {
    budget: &'a MemoryBudget,
    holder: u64,
}

impl<'a> Waiting<'a> {
    fn count_in(budget: &'a MemoryBudget, holder: u64) -> Self {
        budget.waiting.fetch_add(1, Ordering::SeqCst);
        budget.change(holder, |own| own.waiting += 1);
        Self { budget, holder }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.budget.change(self.holder, |own| own.waiting -= 1);
        self.budget.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
