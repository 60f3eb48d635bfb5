//! The memory of all calls together (`limits.buffered_bytes`): request bodies that wait for their verdict
//! or their upstream, and answers that are held or copied for the record. When it runs short, slow calls
//! are asked to move their bodies to disk; a call beyond the limit is refused. When it runs short and several
//! access keys hold or want some, a key with more than an equal part gets no more; a little of it each may have,
//! however many they are. Calls of an address whose access keys no backend has accepted have a part of it together
//! (`limits.client_bytes`). A reservation is released however its call ends.

mod holder;
mod reservation;

pub(crate) use reservation::MemoryReservation;

use crate::observe::{Exhausted, Metrics, Throttle};
use holder::{Asking, Holder};
use prometheus::IntGauge;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

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
    /// As above, of the calls of one address that has used up its part.
    crowded: Notify,
    /// The holder of the address that has used up its part.
    crowded_by: AtomicU64,
    crowd_requests: Throttle,
    requests: Throttle,
    limit: AtomicI64,
    /// Of one client address without an accepted access key.
    client_limit: AtomicI64,
    /// None where nobody measures it.
    gauges: Option<Gauges>,
}

/// Bytes in use and their limit, as metrics.
struct Gauges {
    used: IntGauge,
    limit: IntGauge,
}

/// What the memory is used for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryFigures {
    pub(crate) bytes: i64,
    pub(crate) limit_bytes: i64,
    /// Access keys, or addresses without an accepted one, that hold some.
    pub(crate) holders: usize,
    /// What the one with the most of it holds.
    pub(crate) largest_bytes: i64,
    /// Calls that wait for some.
    pub(crate) waiting: usize,
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
            crowded: Notify::new(),
            crowded_by: AtomicU64::new(0),
            crowd_requests: Throttle::every(ASK_EVERY),
            requests: Throttle::every(ASK_EVERY),
            limit: AtomicI64::new(0),
            client_limit: AtomicI64::new(i64::MAX),
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

    /// Changes what one client address may have without an accepted access key; None for all of it.
    pub(crate) fn set_client_limit(&self, limit: Option<u64>) {
        let limit = limit.map_or(i64::MAX, signed);
        self.client_limit.store(limit, Ordering::SeqCst);
        self.freed.notify_waiters();
    }

    /// Whether clients without an accepted access key have a part of it; without a backend they have not.
    pub(crate) fn has_client_limit(&self) -> bool {
        self.client_limit.load(Ordering::SeqCst) < i64::MAX
    }

    /// What it is used for now.
    pub(crate) fn figures(&self) -> MemoryFigures {
        let holders = self.holders();
        MemoryFigures {
            bytes: self.used.load(Ordering::SeqCst),
            limit_bytes: self.limit(),
            holders: holders.values().filter(|own| own.bytes > 0).count(),
            largest_bytes: holders.values().map(|own| own.bytes).max().unwrap_or(0),
            waiting: self.waiting.load(Ordering::SeqCst),
        }
    }

    /// Whether slow calls have to free memory.
    pub(crate) fn is_short(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit() / 4 * SHORT_QUARTERS
    }

    /// Whether `bytes` fit into the limit when no other call holds any.
    pub(crate) fn can_ever_hold(&self, bytes: usize) -> bool {
        signed(bytes as u64) <= self.limit()
    }

    /// Resolves when a call asks the others to free memory, or those of this holder.
    pub(crate) async fn requested(&self, holder: u64) {
        let of_holder = async {
            loop {
                self.crowded.notified().await;
                if self.crowded_by.load(Ordering::Relaxed) == holder {
                    return;
                }
            }
        };
        tokio::select! {
            () = self.requested.notified() => {}
            () = of_holder => {}
        }
    }

    /// Asks the calls of an address to free memory. It is asked again with each further attempt, so that one request
    /// may be lost.
    fn ask_holder(&self, holder: u64) {
        if self.crowd_requests.pass().is_some() {
            self.crowded_by.store(holder, Ordering::Relaxed);
            self.crowded.notify_waiters();
        }
    }

    /// Its limit in bytes.
    pub(crate) fn limit_bytes(&self) -> usize {
        usize::try_from(self.limit()).unwrap_or(usize::MAX)
    }

    fn limit(&self) -> i64 {
        self.limit.load(Ordering::SeqCst)
    }

    /// Reserves all or nothing. A failed attempt changes no counter, so it cannot fail other calls. Gives whether the
    /// reservation is now the one that the part of its address does not count.
    fn take(&self, asking: Asking, bytes: i64) -> Result<bool, Full> {
        let limit = self.limit();
        let mut holders = self.holders();
        let keys = holders.len();
        let entry = holders.entry(asking.holder);
        let own = match &entry {
            Entry::Occupied(own) => Some(*own.get()),
            Entry::Vacant(_) => None,
        };
        if self.is_over_share(keys, own, bytes) {
            return Err(Full(Exhausted::Memory));
        }
        let own = own.unwrap_or_default();
        let client_limit = self.client_limit.load(Ordering::SeqCst);
        let is_large = own.admits(asking, bytes, client_limit);
        if matches!(is_large, Err(Full(Exhausted::ClientMemory))) {
            self.ask_holder(asking.holder);
        }
        let is_large = is_large?;
        let of_all = asking.of_all(bytes);
        let more = |used: i64| used.checked_add(of_all).filter(|sum| *sum <= limit);
        let (set, read) = (Ordering::SeqCst, Ordering::SeqCst);
        let taken = self.used.fetch_update(set, read, more);
        if (taken.is_err() || self.is_short()) && self.requests.pass().is_some() {
            self.requested.notify_waiters();
        }
        taken.map_err(|_| Full(Exhausted::Memory))?;
        let own = entry.or_default();
        own.bytes += bytes;
        if is_large {
            own.large = asking.bytes.saturating_add(bytes);
        }
        if asking.is_beside {
            own.beside += bytes;
        }
        self.measure(of_all);
        Ok(is_large)
    }

    fn measure(&self, change: i64) {
        if let Some(gauges) = &self.gauges {
            gauges.used.add(change);
        }
    }

    /// Whether a key would have more than little, and more than an equal part of memory that is short. So many `keys`
    /// have some or wait for it; `own` is what this one has, if it is one of them.
    fn is_over_share(&self, keys: usize, own: Option<Holder>, bytes: i64) -> bool {
        let keys = keys + usize::from(own.is_none());
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
        match self.holders().entry(holder) {
            Entry::Occupied(mut own) => {
                change(own.get_mut());
                if own.get().is_idle() {
                    own.remove();
                }
            }
            Entry::Vacant(place) => {
                let mut own = Holder::default();
                change(&mut own);
                if !own.is_idle() {
                    place.insert(own);
                }
            }
        }
    }

    /// Counts bytes that are taken for another holder; false where that would have more than its share.
    fn pass(&self, from: Asking, to: u64) -> bool {
        let holders = self.holders();
        let own = holders.get(&to).copied();
        let is_over_share = self.is_over_share(holders.len(), own, from.bytes);
        drop(holders);
        if !is_over_share {
            self.change(to, |own| own.bytes += from.bytes);
            self.change(from.holder, |own| own.give(from, from.bytes));
        }
        !is_over_share
    }

    fn release(&self, from: Asking, bytes: i64) {
        self.change(from.holder, |own| own.give(from, bytes));
        let of_all = from.of_all(bytes);
        self.used.fetch_sub(of_all, Ordering::SeqCst);
        self.measure(-of_all);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
