//! Bounds how many connections (`limits.connections`) or calls are open at a time. Further connections
//! wait in the kernel's accept queue, not here.

use super::runtime_probe::RuntimeProbe;
use crate::observe::Metrics;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::Notify;

/// The number of open connections (or calls) and its limit.
pub struct ConnectionLimit {
    in_use: AtomicI64,
    limit: AtomicI64,
    freed: Notify,
    /// Listeners that may still accept a connection.
    open_listeners: AtomicI64,
    /// Probes the runtime that serves these connections.
    runtime_probe: RuntimeProbe,
    /// The limit's name in the log, such as `limits.connections`.
    name: &'static str,
    is_measured: bool,
    metrics: Arc<Metrics>,
}

/// The right to keep one connection or call open, released when it is dropped.
pub(crate) struct Permit {
    limit: Arc<ConnectionLimit>,
    is_connected: bool,
}

impl Permit {
    /// Counts an accepted connection in the metrics.
    pub(super) fn mark_connected(&mut self) {
        self.is_connected = true;
        if self.limit.is_measured {
            self.limit.metrics.limits.connections.inc();
        }
    }
}

/// A listener that is counted as open until this is dropped.
pub(super) struct OpenListener(Arc<ConnectionLimit>);

impl ConnectionLimit {
    /// Limits the gateway's clients, whose number is a metric.
    pub(crate) fn for_clients(limit: i64, metrics: Arc<Metrics>) -> Arc<Self> {
        let connections = Self {
            is_measured: true,
            ..Self::empty(limit, "limits.connections", metrics)
        };
        connections.set_limit(limit);
        Arc::new(connections)
    }

    /// Limits anything else; `name` is the limit's name in the log.
    pub fn new(limit: i64, name: &'static str, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self::empty(limit, name, metrics))
    }

    fn empty(limit: i64, name: &'static str, metrics: Arc<Metrics>) -> Self {
        Self {
            in_use: AtomicI64::new(0),
            limit: AtomicI64::new(limit),
            freed: Notify::new(),
            open_listeners: AtomicI64::new(0),
            runtime_probe: RuntimeProbe::default(),
            name,
            is_measured: false,
            metrics,
        }
    }

    /// Changes the limit. Connections beyond a lower one stay open.
    pub(crate) fn set_limit(&self, limit: i64) {
        self.limit.store(limit, Ordering::Relaxed);
        if self.is_measured {
            self.metrics.limits.connections_limit.set(limit);
        }
        self.freed.notify_waiters();
    }

    pub(crate) fn limit(&self) -> i64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn in_use(&self) -> i64 {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Open connections plus listeners that may still accept one; zero once nothing can be served.
    pub fn in_use_or_expected(&self) -> i64 {
        self.open_listeners.load(Ordering::Acquire) + self.in_use()
    }

    /// Probes the runtime that serves these connections.
    pub fn runtime_probe(&self) -> &RuntimeProbe {
        &self.runtime_probe
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Counts one more listener as open.
    pub(super) fn open_listener(self: &Arc<Self>) -> OpenListener {
        self.open_listeners.fetch_add(1, Ordering::AcqRel);
        OpenListener(self.clone())
    }

    /// None when the limit is reached.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<Permit> {
        let before = self.in_use.fetch_add(1, Ordering::AcqRel);
        let permit = Permit {
            limit: self.clone(),
            is_connected: false,
        };
        (before < self.limit.load(Ordering::Acquire)).then_some(permit)
    }

    /// Resolves when fewer connections are open than the limit allows.
    pub(super) async fn wait_below_limit(&self) {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if self.in_use() < self.limit.load(Ordering::Acquire) {
                return;
            }
            freed.await;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_connected && self.limit.is_measured {
            self.limit.metrics.limits.connections.dec();
        }
        let before = self.limit.in_use.fetch_sub(1, Ordering::AcqRel);
        if before >= self.limit.limit.load(Ordering::Acquire) {
            self.limit.freed.notify_waiters();
        }
    }
}

impl Drop for OpenListener {
    fn drop(&mut self) {
        self.0.open_listeners.fetch_sub(1, Ordering::AcqRel);
    }
}
