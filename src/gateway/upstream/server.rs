//! One model server: its addresses, its kept connections, and whether it works.

use super::health::Health;
use super::pool::ConnectionPool;
use super::resolver::Resolver;
use super::tls::UpstreamTls;
use crate::config::HealthSettings;
use crate::config::UpstreamSettings;
use crate::observe::events::UpstreamHealthChanged;
use crate::observe::{Metrics, UpstreamName};
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The settings of one or all model servers, and the certificate files they name.
#[derive(Clone, Copy)]
pub(crate) struct UpstreamConfig<'a> {
    pub(crate) settings: &'a UpstreamSettings,
    pub(crate) tls: &'a UpstreamTls,
    /// The name of the entry of `upstreams`; empty for `upstream`.
    pub(crate) group: &'a str,
    pub(crate) options: &'a ConnectorOptions,
}

/// A model server.
pub(crate) struct ModelServer {
    pub(crate) resolver: Resolver,
    pub(crate) connections: ConnectionPool,
    health: Health,
    /// Whether its health is checked and shown: not that of an only server, nor of one that a reload removed.
    is_checked: AtomicBool,
    name: UpstreamName,
    metrics: Arc<Metrics>,
}

impl ModelServer {
    /// None when the settings name no URL.
    pub(super) fn new(config: UpstreamConfig<'_>, metrics: &Arc<Metrics>) -> Option<Self> {
        let connections = ConnectionPool::new(config.settings, config.options.clone());
        let resolver = Resolver::new(config.settings.clone(), config.tls.clone())?;
        let base = resolver.base();
        Some(Self {
            name: UpstreamName {
                group: config.group.to_owned(),
                address: format!("{}:{}", base.host, base.port),
            },
            resolver,
            connections,
            health: Health::new(),
            is_checked: AtomicBool::new(false),
            metrics: metrics.clone(),
        })
    }

    /// Group and address, for logs and metrics.
    pub(crate) fn name(&self) -> &UpstreamName {
        &self.name
    }

    /// How records name it: by its entry in `upstreams`, or by its address.
    pub(crate) fn provider(&self) -> String {
        match self.name.group.is_empty() {
            true => self.name.address.clone(),
            false => self.name.group.clone(),
        }
    }

    /// The longest wait for a response head, or between two parts of a body (GATEWAY_UPSTREAM_TIMEOUT).
    pub(crate) fn timeout(&self) -> Duration {
        self.resolver.timeout()
    }

    pub(super) fn is_up(&self) -> bool {
        self.health.is_up()
    }

    /// Sets whether its health is checked and shown.
    pub(super) fn set_checked(&self, is_checked: bool) {
        self.is_checked.store(is_checked, Ordering::Relaxed);
    }

    /// Reports the result of a health check or a call.
    pub(super) fn report(&self, works: bool, settings: &HealthSettings) {
        let is_checked = self.is_checked.load(Ordering::Relaxed);
        if is_checked && self.health.report(works, settings) {
            UpstreamHealthChanged {
                upstream: &self.name,
                is_up: works,
            }
            .emit(&self.metrics);
        }
    }
}
