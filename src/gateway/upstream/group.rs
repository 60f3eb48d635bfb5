//! A group of model servers: the primary and its standbys. A call goes to the first server that is
//! up. It fails over to the next one only while the one before cannot have received it (CONTRACT 22), or
//! where the settings allow more (`upstream.failover_on`).

use super::server::{ModelServer, UpstreamConfig};
use crate::config::{FailoverOn, HealthSettings, UpstreamSettings};
use crate::observe::events::{FailedOver, UpstreamRetried};
use crate::observe::{FailoverReason, Metrics, UpstreamName};
use std::sync::Arc;
use std::time::Duration;

/// The connect timeout where a standby exists and none is configured.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The model servers of `upstream` or of an entry of `upstreams`, the primary first; at least one.
pub(crate) struct UpstreamGroup {
    /// The name of the entry; empty for `upstream`.
    name: String,
    servers: Vec<Arc<ModelServer>>,
    settings: UpstreamSettings,
    metrics: Arc<Metrics>,
}

/// The servers that a call has tried, one bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TriedServers(u8);

/// The state of one model server, for status pages.
pub struct UpstreamStatus {
    /// Group and address.
    pub name: UpstreamName,
    /// Whether calls go to it; None for an only server, whose health is not checked.
    pub is_up: Option<bool>,
}

impl UpstreamGroup {
    /// The servers of the settings. A server that `previous` has with the same settings keeps its state
    /// and its connections. None when the settings name no upstream.
    pub(crate) fn new(
        config: UpstreamConfig<'_>,
        metrics: &Arc<Metrics>,
        previous: Option<&Self>,
    ) -> Option<Self> {
        let settings = config.settings;
        let first = settings.url.iter();
        let servers = first.chain(&settings.standby).map(|url| {
            let own = UpstreamSettings {
                url: Some(url.clone()),
                standby: Vec::new(),
                connect_timeout: connect_timeout(settings),
                ..settings.clone()
            };
            let mut known = previous.iter().flat_map(|previous| &previous.servers);
            match known.find(|server| server.resolver.has_config(&own, config.tls)) {
                Some(server) => Some(server.clone()),
                None => {
                    let own = UpstreamConfig {
                        settings: &own,
                        ..config
                    };
                    ModelServer::new(own, metrics).map(Arc::new)
                }
            }
        });
        let servers: Vec<Arc<ModelServer>> = servers.collect::<Option<_>>()?;
        if servers.is_empty() {
            return None;
        }
        let group = Self {
            servers,
            name: config.group.to_owned(),
            settings: settings.clone(),
            metrics: metrics.clone(),
        };
        group.publish(previous);
        Some(group)
    }

    /// The name of its entry in `upstreams`; empty for `upstream`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Counts a call that is tried again at the same server.
    pub(super) fn count_retry(&self) {
        UpstreamRetried.emit(&self.metrics);
    }

    /// How its servers are checked.
    pub(super) fn health(&self) -> &HealthSettings {
        &self.settings.health
    }

    /// The longest wait for a response head, or between two parts of a body (GATEWAY_UPSTREAM_TIMEOUT).
    pub(crate) fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// The servers whose health is checked: all, or none where there is only one.
    pub(super) fn checked(&self) -> &[Arc<ModelServer>] {
        match self.servers.len() {
            1 => &[],
            _ => &self.servers,
        }
    }

    /// The server that a call starts with.
    pub(crate) fn first(&self, tried: &mut TriedServers) -> Option<&Arc<ModelServer>> {
        match &*self.servers {
            [only] => Some(only),
            _ => self.next(tried),
        }
    }

    /// The server for a call that `failed` cannot have received.
    pub(crate) fn after_connect_failure(
        &self,
        failed: &ModelServer,
        tried: &mut TriedServers,
    ) -> Option<&Arc<ModelServer>> {
        if self.servers.len() == 1 {
            return None;
        }
        failed.report(false, &self.settings.health);
        self.fail_over(failed, tried, FailoverReason::Connect)
    }

    /// Whether a status like 503 may send a call to another server, so that its body must be kept.
    pub(crate) fn may_repeat(&self) -> bool {
        self.servers.len() > 1 && self.settings.failover_on == FailoverOn::Unavailable
    }

    /// The server for a call that `server` answered with `status`; None to relay that answer.
    pub(crate) fn after_status(
        &self,
        server: &ModelServer,
        status: u16,
        tried: &mut TriedServers,
    ) -> Option<&Arc<ModelServer>> {
        if !self.may_repeat() || !matches!(status, 502..=504) {
            return None;
        }
        self.fail_over(server, tried, FailoverReason::Unavailable)
    }

    /// The state of each server.
    pub(super) fn status(&self) -> impl Iterator<Item = UpstreamStatus> {
        let is_checked = !self.checked().is_empty();
        let servers = self.servers.iter();
        servers.map(move |server| UpstreamStatus {
            name: server.name().clone(),
            is_up: is_checked.then(|| server.is_up()),
        })
    }

    fn fail_over(
        &self,
        from: &ModelServer,
        tried: &mut TriedServers,
        reason: FailoverReason,
    ) -> Option<&Arc<ModelServer>> {
        let next = self.next(tried)?;
        FailedOver {
            reason,
            from: from.name(),
            to: next.name(),
        }
        .emit(&self.metrics);
        Some(next)
    }

    /// The first untried server that is up, else the first untried one.
    fn next(&self, tried: &mut TriedServers) -> Option<&Arc<ModelServer>> {
        let untried = || {
            let all = self.servers.iter().enumerate();
            all.filter(|(index, _)| tried.0 & (1 << index) == 0)
        };
        let (index, next) = untried()
            .find(|(_, server)| server.is_up())
            .or_else(|| untried().next())?;
        tried.0 |= 1 << index;
        Some(next)
    }

    /// Updates the metrics, which show only servers whose health is checked.
    fn publish(&self, previous: Option<&Self>) {
        if let Some(previous) = previous {
            previous.hide();
        }
        self.metrics.upstreams.add_group(&self.name);
        for server in self.checked() {
            server.set_checked(true);
            self.metrics.upstreams.up(server.name(), server.is_up());
        }
    }

    /// Removes its servers from the metrics. A check that is under way does not bring them back.
    fn hide(&self) {
        for server in self.checked() {
            server.set_checked(false);
            self.metrics.upstreams.gone(server.name());
        }
    }

    /// A reload has removed the group; calls in progress go on.
    pub(super) fn remove(&self) {
        self.hide();
        self.metrics.upstreams.remove_group(&self.name);
    }
}

/// A server that does not respond must leave time for the next one.
fn connect_timeout(settings: &UpstreamSettings) -> Option<Duration> {
    let longest = match settings.standby.is_empty() {
        true => settings.timeout,
        false => CONNECT_TIMEOUT.min(settings.timeout),
    };
    Some(settings.connect_timeout.unwrap_or(longest))
}
