//! How many clients may be connected (`limits.connections`). Who is beyond that waits in the kernel's
//! queue, not here.

use crate::observe::Metrics;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::Notify;

/// Client connections and their bound.
pub(super) struct Room {
    taken: AtomicI64,
    limit: AtomicI64,
    left: Notify,
    metrics: Arc<Metrics>,
}

/// A place for a client connection, taken until it is dropped.
pub(super) struct Guest {
    room: Arc<Room>,
    is_seated: bool,
}

impl Guest {
    /// The connection is there.
    pub(super) fn sit(&mut self) {
        self.is_seated = true;
        self.room.metrics.limits.connections.inc();
    }
}

impl Room {
    pub(super) fn new(limit: i64, metrics: Arc<Metrics>) -> Arc<Self> {
        let room = Self {
            taken: AtomicI64::new(0),
            limit: AtomicI64::new(0),
            left: Notify::new(),
            metrics,
        };
        room.set_limit(limit);
        Arc::new(room)
    }

    /// Those who are connected already stay.
    pub(super) fn set_limit(&self, limit: i64) {
        self.limit.store(limit, Ordering::Relaxed);
        self.metrics.limits.connections_limit.set(limit);
        self.left.notify_waiters();
    }

    pub(super) fn taken(&self) -> i64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// None when as many are connected as may be.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Guest> {
        let before = self.taken.fetch_add(1, Ordering::AcqRel);
        let guest = Guest {
            room: self.clone(),
            is_seated: false,
        };
        (before < self.limit.load(Ordering::Acquire)).then_some(guest)
    }

    /// Resolves when one more may come.
    pub(super) async fn has_place(&self) {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            if self.taken() < self.limit.load(Ordering::Acquire) {
                return;
            }
            left.await;
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.is_seated {
            self.room.metrics.limits.connections.dec();
        }
        let before = self.room.taken.fetch_sub(1, Ordering::AcqRel);
        if before >= self.room.limit.load(Ordering::Acquire) {
            self.room.left.notify_waiters();
        }
    }
}
