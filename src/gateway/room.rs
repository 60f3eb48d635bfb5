//! How many may be in at a time: client connections of some listeners (`limits.connections`), or calls.
//! Who is beyond that waits in the kernel's queue, not here.

use super::pulse::Pulse;
use crate::observe::Metrics;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::Notify;

/// What is in, and its bound.
pub struct Room {
    taken: AtomicI64,
    limit: AtomicI64,
    left: Notify,
    /// Doors that may still let somebody in.
    doors: AtomicI64,
    /// Of the runtime behind those.
    pulse: Pulse,
    /// What the bound is called.
    bound: &'static str,
    is_measured: bool,
    metrics: Arc<Metrics>,
}

/// A place, taken until it is dropped.
pub(crate) struct Guest {
    room: Arc<Room>,
    is_seated: bool,
}

impl Guest {
    /// The connection is there.
    pub(super) fn sit(&mut self) {
        self.is_seated = true;
        if self.room.is_measured {
            self.room.metrics.limits.connections.inc();
        }
    }
}

/// A door that is open until it is dropped.
pub(super) struct OpenDoor(Arc<Room>);

impl Room {
    /// For the clients of the gateway, who are in its metrics.
    pub(super) fn of_clients(limit: i64, metrics: Arc<Metrics>) -> Arc<Self> {
        let room = Self {
            is_measured: true,
            ..Self::empty(limit, "limits.connections", metrics)
        };
        room.set_limit(limit);
        Arc::new(room)
    }

    /// For others; `bound` is what the limit is called in the log.
    pub fn new(limit: i64, bound: &'static str, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self::empty(limit, bound, metrics))
    }

    fn empty(limit: i64, bound: &'static str, metrics: Arc<Metrics>) -> Self {
        Self {
            taken: AtomicI64::new(0),
            limit: AtomicI64::new(limit),
            left: Notify::new(),
            doors: AtomicI64::new(0),
            pulse: Pulse::default(),
            bound,
            is_measured: false,
            metrics,
        }
    }

    /// Those who are connected already stay.
    pub(super) fn set_limit(&self, limit: i64) {
        self.limit.store(limit, Ordering::Relaxed);
        if self.is_measured {
            self.metrics.limits.connections_limit.set(limit);
        }
        self.left.notify_waiters();
    }

    pub(super) fn taken(&self) -> i64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Connections, and doors that may still let one in.
    pub fn expected(&self) -> i64 {
        self.doors.load(Ordering::Acquire) + self.taken()
    }

    /// Whether what is behind the doors still runs.
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// What the bound is called.
    pub(super) fn bound(&self) -> &'static str {
        self.bound
    }

    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// A door that lets people in.
    pub(super) fn open(self: &Arc<Self>) -> OpenDoor {
        self.doors.fetch_add(1, Ordering::AcqRel);
        OpenDoor(self.clone())
    }

    /// None when as many are in as may be.
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
        if self.is_seated && self.room.is_measured {
            self.room.metrics.limits.connections.dec();
        }
        let before = self.room.taken.fetch_sub(1, Ordering::AcqRel);
        if before >= self.room.limit.load(Ordering::Acquire) {
            self.room.left.notify_waiters();
        }
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.0.doors.fetch_sub(1, Ordering::AcqRel);
    }
}
