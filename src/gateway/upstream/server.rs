//! One model server: its addresses, its kept connections, and whether it works.

use super::health::Health;
use super::pool::ConnectionPool;
use super::resolver::Resolver;
use super::tls::UpstreamTls;
use crate::config::HealthSettings;
use crate::config::UpstreamSettings;
use crate::observe::Metrics;
use crate::observe::events::UpstreamHealthChanged;
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;

/// The settings of one or all model servers, and the certificate files they name.
#[derive(Clone, Copy)]
pub(crate) struct UpstreamConfig<'a> {
    pub(crate) settings: &'a UpstreamSettings,
    pub(crate) tls: &'a UpstreamTls,
    pub(crate) options: &'a ConnectorOptions,
}

/// A model server.
pub(crate) struct ModelServer {
    pub(crate) resolver: Resolver,
    pub(crate) connections: ConnectionPool,
    health: Health,
    /// `host:port`, for logs and metrics.
    name: String,
    metrics: Arc<Metrics>,
}

impl ModelServer {
    /// None when the settings name no URL.
    pub(super) fn new(config: UpstreamConfig<'_>, metrics: &Arc<Metrics>) -> Option<Self> {
        let connections = ConnectionPool::new(config.settings, config.options.clone());
        let resolver = Resolver::new(config.settings.clone(), config.tls.clone())?;
        let base = resolver.base();
        Some(Self {
            name: format!("{}:{}", base.host, base.port),
            resolver,
            connections,
            health: Health::new(),
            metrics: metrics.clone(),
        })
    }

    /// The address as `host:port`, for logs and metrics.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_up(&self) -> bool {
        self.health.is_up()
    }

    /// Reports the result of a health check or a call.
    pub(super) fn report(&self, works: bool, settings: &HealthSettings) {
        if self.health.report(works, settings) {
            UpstreamHealthChanged {
                upstream: &self.name,
                is_up: works,
            }
            .emit(&self.metrics);
        }
    }
}
