//! Which secrets travel in clear text off this machine, by the settings: those of the settings themselves and
//! those of clients. Logged once for each target at the start and at each reload. It is allowed: there are
//! networks of trusted machines only, and proxies that terminate TLS.

use crate::config::{
    BaseUrl, DestinationKind, JudgePlace, Listener, Role, Settings, StoreSettings, StoreSsl,
};
use crate::observe::Metrics;
use crate::observe::events::{ClearTextSecret, ClearTextTarget};
use std::net::IpAddr;

/// Warns about every target that the role calls.
pub(crate) fn warn(settings: &Settings, role: Role, metrics: &Metrics) {
    for target in targets(settings, role) {
        ClearTextSecret { target, entry: "" }.emit(metrics);
    }
    for entry in named_upstreams(settings, role) {
        let target = ClearTextTarget::Upstream;
        ClearTextSecret { target, entry }.emit(metrics);
    }
}

/// The entries of `upstreams` that get the keys of clients in clear text.
fn named_upstreams(settings: &Settings, role: Role) -> impl Iterator<Item = &str> {
    let called = role != Role::Analysis;
    let entries = settings.gateway.upstreams.iter();
    let exposed =
        entries.filter(move |entry| called && entry.servers.url.as_ref().is_some_and(leaves));
    exposed.map(|entry| entry.name.as_str())
}

fn targets(settings: &Settings, role: Role) -> Vec<ClearTextTarget> {
    let mut exposed = called(settings, role);
    let (gateway, analysis) = (&settings.gateway, &settings.analysis);
    if role != Role::Analysis && is_open(&gateway.listen) {
        exposed.push(ClearTextTarget::Listen);
    }
    if role != Role::Gateway && is_open(&analysis.listen) {
        exposed.push(ClearTextTarget::AnalysisListen);
    }
    let store = match role {
        Role::Gateway => &gateway.store,
        Role::All | Role::Analysis => &analysis.store,
    };
    if store.as_ref().is_some_and(is_unchecked) {
        exposed.push(ClearTextTarget::Store);
    }
    exposed
}

/// Servers that the role calls.
fn called(settings: &Settings, role: Role) -> Vec<ClearTextTarget> {
    let (gateway, analysis) = (&settings.gateway, &settings.analysis);
    let mut called: Vec<(ClearTextTarget, Option<&BaseUrl>)> = Vec::new();
    if role != Role::Analysis {
        let trace = gateway.trace.as_ref();
        let trace = trace.filter(|trace| trace.authorization.is_some());
        called.extend([
            // The keys sent there are those of the clients.
            (ClearTextTarget::Upstream, gateway.upstream.url.as_ref()),
            (ClearTextTarget::Monitor, gateway.monitor.url.as_ref()),
            (ClearTextTarget::Trace, trace.map(|trace| &trace.endpoint)),
        ]);
    }
    if role != Role::Gateway {
        let judge = analysis.judge.as_ref();
        let judge = judge.filter(|judge| judge.api_key.is_some());
        let judge = judge.and_then(|judge| match &judge.place {
            JudgePlace::Url(url) => Some(url),
            JudgePlace::Upstream => gateway.upstream.url.as_ref(),
        });
        let guard = analysis.checks.guard.as_ref();
        let guard = guard.filter(|guard| guard.api_key.is_some());
        let collectors = analysis.siem.destinations.iter();
        let mut collectors =
            collectors.filter(|it| matches!(it.kind, DestinationKind::SplunkHec(_)));
        let collector = collectors.find(|it| leaves(&it.url));
        called.extend([
            (ClearTextTarget::Judge, judge),
            (ClearTextTarget::Guard, guard.map(|guard| &guard.url)),
            (ClearTextTarget::Siem, collector.map(|it| &it.url)),
        ]);
    }
    let exposed = called
        .into_iter()
        .filter(|(_, url)| url.is_some_and(leaves));
    exposed.map(|(target, _)| target).collect()
}

/// Whether what is sent there can be read in transit.
fn leaves(url: &BaseUrl) -> bool {
    !url.tls && !is_here(&url.host)
}

/// Whether what is sent to the database can be read in transit, by whoever listens or answers in its place. A
/// path is that of a Unix socket.
fn is_unchecked(store: &StoreSettings) -> bool {
    store.ssl != StoreSsl::On && !store.host.starts_with('/') && !is_here(&store.host)
}

/// Whether other machines can connect without TLS.
fn is_open(listeners: &[Listener]) -> bool {
    let open = |listener: &Listener| listener.tls.is_none() && !listener.address.ip().is_loopback();
    listeners.iter().any(open)
}

fn is_here(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_listener_off_loopback_without_tls_is_open() {
        let at = |address: &str| Listener {
            address: address.parse().unwrap(),
            tls: None,
            proxy_protocol: false,
        };
        let secure = Listener {
            tls: Some(crate::config::TlsFiles {
                cert: "cert.pem".into(),
                key: "key.pem".into(),
                clients: None,
            }),
            ..at("0.0.0.0:4143")
        };
        let (here, there) = (at("127.0.0.1:4100"), at("0.0.0.0:4100"));
        assert!(!is_open(&[here.clone(), secure.clone(), at("[::1]:4100")]));
        assert!(is_open(&[secure, there]));
        assert!(is_open(&[here, at("10.0.0.7:4100")]));
    }
}
