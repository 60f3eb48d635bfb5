//! What all calls of one gateway share, as it is now: a reload puts another in its place, and a call
//! keeps the one it began with (CONTRACT 35).

use super::room::Room;
use super::upstreams::UpstreamStatus;
use super::{Shared, UpstreamTls};
use crate::config::GatewaySettings;
use crate::observe::Metrics;
use arc_swap::ArcSwap;
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The gateway in force.
pub struct Live {
    shared: ArcSwap<Shared>,
    options: ConnectorOptions,
    metrics: Arc<Metrics>,
    draining: AtomicBool,
    /// Another process serves: who is connected here may finish in peace.
    handed_over: AtomicBool,
    room: Arc<Room>,
    /// Places of calls: clients over HTTP/2 have many on one connection, and each takes a descriptor.
    calls: Arc<Room>,
    /// As many connections as the process has descriptors for.
    most: i64,
}

impl Live {
    /// `options` are those of the connections to the upstream; the process has descriptors for `most`
    /// clients.
    pub fn new(shared: Shared, options: ConnectorOptions, most: usize) -> Self {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let limit = connections(&shared.settings, most);
        Self {
            room: Room::of_clients(limit, shared.metrics.clone()),
            calls: Room::new(most, "descriptors", shared.metrics.clone()),
            most,
            metrics: shared.metrics.clone(),
            shared: ArcSwap::from_pointee(shared),
            options,
            draining: AtomicBool::new(false),
            handed_over: AtomicBool::new(false),
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
            self.room.set_limit(connections(&next.settings, self.most));
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

    /// The model servers, where there is more than one.
    pub fn upstreams(&self) -> Vec<UpstreamStatus> {
        self.now().upstream.status()
    }

    /// Client connections.
    pub(super) fn connections(&self) -> i64 {
        self.room.taken()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Relaxed)
    }

    /// The places of calls under way.
    pub(super) fn calls(&self) -> &Arc<Room> {
        &self.calls
    }

    /// The places of client connections.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }
}

fn connections(settings: &GatewaySettings, most: i64) -> i64 {
    let limit = i64::try_from(settings.limits.connections).unwrap_or(i64::MAX);
    limit.min(most)
}
