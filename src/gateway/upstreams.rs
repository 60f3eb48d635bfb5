//! The model servers: the one that is called, and those that stand by for it. A call goes to the first
//! that is in use; to the next one only while it cannot have reached the one before (CONTRACT 22), or
//! where the settings allow more.

use super::connect::Connections;
use super::health::Health;
use super::peer::Upstream;
use super::upstream_tls::UpstreamTls;
use crate::config::UpstreamSettings;
use crate::config::{FailoverOn, HealthSettings};
use crate::observe::events::{FailedOver, UpstreamHealthChanged};
use crate::observe::{FailoverReason, Metrics};
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;
use std::time::Duration;

/// For a connection, where another model server stands by.
const CONNECT: Duration = Duration::from_secs(5);

/// All of one gateway; at least one.
pub(crate) struct Upstreams {
    targets: Vec<Arc<Target>>,
    settings: UpstreamSettings,
    metrics: Arc<Metrics>,
}

/// One of them.
pub(crate) struct Target {
    pub(crate) upstream: Upstream,
    pub(crate) connections: Connections,
    health: Health,
    /// Host and port.
    name: String,
    metrics: Arc<Metrics>,
}

/// Which of them a call has tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tried(u8);

/// One of them, for people.
pub struct UpstreamStatus {
    /// Host and port.
    pub address: String,
    /// Whether it is in use.
    pub is_up: bool,
}

impl Upstreams {
    /// Those of the settings; what is known of the ones before is kept, with their connections. None
    /// when the settings name no upstream.
    pub(super) fn new(
        (settings, tls): (&UpstreamSettings, &UpstreamTls),
        options: &ConnectorOptions,
        metrics: &Arc<Metrics>,
        before: Option<&Self>,
    ) -> Option<Self> {
        let first = settings.url.iter();
        let targets = first.chain(&settings.standby).map(|url| {
            let own = UpstreamSettings {
                url: Some(url.clone()),
                standby: Vec::new(),
                connect_timeout: connect_timeout(settings),
                ..settings.clone()
            };
            let mut known = before.iter().flat_map(|before| &before.targets);
            match known.find(|target| target.upstream.is_of(&own, tls)) {
                Some(target) => Some(target.clone()),
                None => Target::new((own, tls.clone()), options, metrics).map(Arc::new),
            }
        });
        let targets: Vec<Arc<Target>> = targets.collect::<Option<_>>()?;
        if targets.is_empty() {
            return None;
        }
        let all = Self {
            targets,
            settings: settings.clone(),
            metrics: metrics.clone(),
        };
        all.show(before);
        Some(all)
    }

    /// GATEWAY_UPSTREAM_TIMEOUT.
    pub(crate) fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// Those that have to be asked how they are.
    pub(super) fn watched(&self) -> &[Arc<Target>] {
        match self.targets.len() {
            1 => &[],
            _ => &self.targets,
        }
    }

    /// Where a call begins.
    pub(crate) fn first(&self, tried: &mut Tried) -> Option<&Arc<Target>> {
        match &*self.targets {
            [only] => Some(only),
            _ => self.next(tried),
        }
    }

    /// Where a call goes on that `failed` cannot have accepted.
    pub(crate) fn after(&self, failed: &Target, tried: &mut Tried) -> Option<&Arc<Target>> {
        if self.targets.len() == 1 {
            return None;
        }
        failed.found(false, &self.settings.health);
        self.go_on(failed, tried, FailoverReason::Connect)
    }

    /// Whether an answer of a status like 503 may still have the call sent elsewhere, for which its body
    /// is kept.
    pub(crate) fn may_repeat(&self) -> bool {
        self.targets.len() > 1 && self.settings.failover_on == FailoverOn::Unavailable
    }

    /// Where a call goes on that was answered with this status; None to take the answer.
    pub(crate) fn instead_of(
        &self,
        target: &Target,
        status: u16,
        tried: &mut Tried,
    ) -> Option<&Arc<Target>> {
        if !self.may_repeat() || !matches!(status, 502..=504) {
            return None;
        }
        self.go_on(target, tried, FailoverReason::Unavailable)
    }

    /// How they are, for people; empty where there is only one, which nobody asks.
    pub(super) fn status(&self) -> Vec<UpstreamStatus> {
        let watched = self.watched().iter();
        watched
            .map(|target| UpstreamStatus {
                address: target.name.clone(),
                is_up: target.health.is_up(),
            })
            .collect()
    }

    fn go_on(
        &self,
        from: &Target,
        tried: &mut Tried,
        reason: FailoverReason,
    ) -> Option<&Arc<Target>> {
        let next = self.next(tried)?;
        FailedOver {
            reason,
            from: &from.name,
            to: &next.name,
        }
        .emit(&self.metrics);
        Some(next)
    }

    /// The first in use, else the first at all, of those not tried.
    fn next(&self, tried: &mut Tried) -> Option<&Arc<Target>> {
        let untried = || {
            let all = self.targets.iter().enumerate();
            all.filter(|(index, _)| tried.0 & (1 << index) == 0)
        };
        let (index, next) = untried()
            .find(|(_, target)| target.health.is_up())
            .or_else(|| untried().next())?;
        tried.0 |= 1 << index;
        Some(next)
    }

    /// Only those that are watched are in the metrics.
    fn show(&self, before: Option<&Self>) {
        for gone in before.iter().flat_map(|before| before.watched()) {
            self.metrics.upstreams.gone(&gone.name);
        }
        for target in self.watched() {
            let is_up = target.health.is_up();
            self.metrics.upstreams.up(&target.name, is_up);
        }
    }
}

impl Target {
    fn new(
        (settings, tls): (UpstreamSettings, UpstreamTls),
        options: &ConnectorOptions,
        metrics: &Arc<Metrics>,
    ) -> Option<Self> {
        let connections = Connections::new(&settings, options.clone());
        let upstream = Upstream::new(settings, tls)?;
        let base = upstream.base();
        Some(Self {
            name: format!("{}:{}", base.host, base.port),
            upstream,
            connections,
            health: Health::new(),
            metrics: metrics.clone(),
        })
    }

    /// Takes a finding of a check or a call.
    pub(super) fn found(&self, works: bool, settings: &HealthSettings) {
        if self.health.found(works, settings) {
            UpstreamHealthChanged {
                upstream: &self.name,
                is_up: works,
            }
            .emit(&self.metrics);
        }
    }
}

/// A model server that says nothing must leave time for the next one.
fn connect_timeout(settings: &UpstreamSettings) -> Option<Duration> {
    let longest = match settings.standby.is_empty() {
        true => settings.timeout,
        false => CONNECT.min(settings.timeout),
    };
    Some(settings.connect_timeout.unwrap_or(longest))
}
