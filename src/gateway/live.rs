//! What all calls of one gateway share, as it is now: a reload puts another in its place, and a call
//! keeps the one it began with (CONTRACT 35).

use super::{Shared, UpstreamTls};
use crate::config::GatewaySettings;
use crate::observe::Metrics;
use arc_swap::ArcSwap;
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The gateway in force.
pub struct Live {
    shared: ArcSwap<Shared>,
    options: ConnectorOptions,
    metrics: Arc<Metrics>,
    draining: AtomicBool,
    /// Another process serves: who is connected here may finish in peace.
    handed_over: AtomicBool,
    connections: AtomicI64,
}

/// A client connection; counted until it is dropped.
pub(super) struct Connected<'a>(&'a AtomicI64);

impl Live {
    /// `options` are those of the connections to the upstream.
    pub fn new(shared: Shared, options: ConnectorOptions) -> Self {
        Self {
            metrics: shared.metrics.clone(),
            shared: ArcSwap::from_pointee(shared),
            options,
            draining: AtomicBool::new(false),
            handed_over: AtomicBool::new(false),
            connections: AtomicI64::new(0),
        }
    }

    /// What a call that begins now has to do with, to its end.
    pub(super) fn now(&self) -> Arc<Shared> {
        self.shared.load_full()
    }

    /// The metrics, which no reload changes.
    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Puts other settings in force. Settings without an upstream change nothing.
    pub fn replace(&self, settings: GatewaySettings, tls: UpstreamTls) {
        if let Some(next) = self.now().with((settings, tls), &self.options) {
            self.shared.store(Arc::new(next));
        }
    }

    /// From now on no connection is kept for another request.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.metrics.draining.set(1);
    }

    /// The same, where another process accepts in this one's place: connections that are open may
    /// bring one more request.
    pub fn hand_over(&self) {
        self.handed_over.store(true, Ordering::Relaxed);
        self.drain();
    }

    /// Client connections.
    pub fn connections(&self) -> i64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Relaxed)
    }

    pub(super) fn connected(&self) -> Connected<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected(&self.connections)
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
