//! Values that are each in range but contradict each other. Checks the files that settings name, and nothing
//! else outside the settings (CONTRACT 33).

mod files;
mod upstreams;

use super::key_file::{self, Owners};
use super::pem;
use super::reading::reader::Reader;
use super::role::Role;
use super::sections::analysis::judge::JudgePlace;
use super::sections::gateway::monitor::{UnknownApplication, UnknownKey};
use super::sections::gateway::spool::{Durability, OnDiskFailure};
use super::sections::listen::Listener;
use super::settings::{GatewaySettings, Settings};
use files::{authorities, client, readable};
use monitor_model::ApplicationPolicy;
use std::net::SocketAddr;
use std::path::PathBuf;
use upstreams::leads_back;

/// Reports every contradiction of the settings a role uses.
pub(super) fn contradictions(settings: &Settings, role: Role, reader: &mut Reader<'_>) {
    let listeners = listeners(settings, role);
    shared_addresses(&listeners, reader);
    tls_files(&listeners, reader);
    proxy_protocol(settings, role, reader);
    records_store(settings, role, reader);
    siem(settings, role, reader);
    if role == Role::Analysis {
        return judge(settings, role, reader);
    }
    let gateway = &settings.gateway;
    let monitor = &gateway.monitor;
    authorities(monitor.ca.as_deref(), "monitor.ca", reader);
    let trace_ca = gateway.trace.as_ref().and_then(|trace| trace.ca.as_deref());
    authorities(trace_ca, "trace.ca", reader);
    client(&monitor.client, &monitor.url, "monitor", reader);
    unknown_callers(gateway, role, reader);
    budgets(gateway, role, reader);
    judge(settings, role, reader);
    let batched = gateway.spool.durability == Durability::Batched;
    if batched && gateway.spool.on_disk_failure == OnDiskFailure::Closed {
        let text = "closed has no effect with durability batched, which does not wait for the disk; allowed: open, or durability before_upstream";
        reader.contradiction("spool.on_disk_failure", text);
    }
    spool_keys(settings, reader);
    upstreams::contradictions(gateway, role, reader);
    backend(gateway, reader);
}

/// Reports files that hold no key, or that others may read.
fn spool_keys(settings: &Settings, reader: &mut Reader<'_>) {
    let encryption = &settings.gateway.spool.encryption;
    let owners = Owners::of_folder(&settings.spool_dir());
    let section = "spool.encryption";
    let current = encryption.key_file.iter().map(|path| (path, "key_file"));
    let old = encryption.old_key_files.iter();
    for (path, name) in current.chain(old.map(|path| (path, "old_key_files"))) {
        if let Err(wrong) = key_file::read(path, owners) {
            reader.contradiction(&format!("{section}.{name}"), wrong);
        }
    }
    let read = |path: &PathBuf| key_file::read(path, owners).ok();
    let Some(current) = encryption.key_file.as_ref().and_then(read) else {
        return;
    };
    let same = |path: &&PathBuf| read(path).is_some_and(|key| key.expose() == current.expose());
    for path in encryption.old_key_files.iter().filter(same) {
        let text = format!(
            "{}: it holds the key of key_file, with which new files are written; allowed: keys that are not used any more",
            path.display()
        );
        reader.contradiction(&format!("{section}.old_key_files"), text);
    }
}

/// What a gateway is to do with unknown callers it can tell.
fn unknown_callers(gateway: &GatewaySettings, role: Role, reader: &mut Reader<'_>) {
    let (monitor, is_alone) = (&gateway.monitor, role == Role::Gateway);
    if is_alone && monitor.url.is_none() && monitor.unknown_key == Some(UnknownKey::Refuse) {
        let text =
            "requires a backend that knows the access keys; set MONITOR_URL, or allowed: forward";
        reader.contradiction("monitor.unknown_key", text);
    }
    let application = monitor.unknown_application;
    let is_told_apart = application.is_some_and(|it| it != UnknownApplication::Async);
    let has_policies = gateway.store.is_some() || !gateway.applications.is_empty();
    if is_alone && is_told_apart && !has_policies {
        let text =
            "requires the known applications; set store.host or applications, or allowed: async";
        reader.contradiction("monitor.unknown_application", text);
    }
    let is_default = application == Some(UnknownApplication::Default);
    if is_alone && is_default && monitor.application_id.is_none() {
        let text = "default requires monitor.application_id (MONITOR_APPLICATION_ID); allowed: async, refuse";
        reader.contradiction("monitor.unknown_application", text);
    }
}

/// What is spent of the budgets of the file is counted by the analysis server that reads the file and has the records.
fn budgets(gateway: &GatewaySettings, role: Role, reader: &mut Reader<'_>) {
    let counts = role != Role::Gateway && gateway.monitor.url.is_none();
    let with_budgets = |it: &&ApplicationPolicy| !it.policy.budgets.is_empty();
    let Some(first) = gateway.applications.iter().find(with_budgets) else {
        return;
    };
    if !counts {
        let text = format!(
            "{} has budgets, which nobody would count: an analysis server counts those that it stores; allowed: budgets in monitor all without monitor.url, or in the application's policy on the analysis server, with store.host here",
            first.id
        );
        reader.contradiction("applications", text);
    }
}

/// The backend is not this gateway.
fn backend(gateway: &GatewaySettings, reader: &mut Reader<'_>) {
    let url = gateway.monitor.url.as_ref();
    if url.is_some_and(|url| leads_back(url, &gateway.listen)) {
        let text = "is this gateway's own listener; allowed: the analysis API's address";
        reader.contradiction("monitor.url", text);
    }
}

/// Records have one store, and its certificate authority can be read.
fn records_store(settings: &Settings, role: Role, reader: &mut Reader<'_>) {
    let store = match role {
        Role::Analysis => &settings.analysis.store,
        Role::All | Role::Gateway => &settings.gateway.store,
    };
    let Some(store) = store else { return };
    if let Some(ca) = &store.ca {
        let _ = readable(ca, "store.ca", "", reader);
    }
    if settings.analysis.database.is_some() {
        let key = match role {
            Role::All => "analysis.database",
            Role::Gateway | Role::Analysis => "database",
        };
        let text = "conflicts with PostgreSQL (store.host); allowed: one of the two";
        reader.contradiction(key, text);
    }
}

/// Reports authorities of destinations that cannot be read.
fn siem(settings: &Settings, role: Role, reader: &mut Reader<'_>) {
    let prefix = match role {
        Role::All => "analysis.",
        Role::Gateway | Role::Analysis => "",
    };
    for (index, destination) in settings.analysis.siem.destinations.iter().enumerate() {
        let key = format!("{prefix}siem.destinations[{index}].ca");
        authorities(destination.ca.as_deref(), &key, reader);
    }
}

/// The judge has a model, and is not this process itself.
fn judge(settings: &Settings, role: Role, reader: &mut Reader<'_>) {
    let prefix = match role {
        Role::All => "analysis.judge.",
        Role::Analysis => "judge.",
        Role::Gateway => return,
    };
    let Some(judge) = &settings.analysis.judge else {
        return;
    };
    let upstream = &settings.gateway.upstream;
    let is_demo = judge.place == JudgePlace::Upstream && upstream.url.is_none();
    let key = format!("{prefix}model");
    if judge.model.is_empty() && !is_demo && !reader.has_problem(&key) {
        let text = "is not set, but a judge is; set JUDGE_MODEL or judge.model";
        reader.contradiction(&key, text);
    }
    let key = format!("{prefix}url");
    match &judge.place {
        JudgePlace::Upstream if upstream.ca.is_some() => {
            let text = "conflicts with upstream.ca: the judge's certificate is checked against the system's authorities; allowed: a URL";
            reader.contradiction(&key, text);
        }
        JudgePlace::Url(url)
            if role == Role::All && leads_back(url, &settings.gateway.listen)
                || leads_back(url, &settings.analysis.listen) =>
        {
            let text = "is this process's own listener; allowed: a model server's address";
            reader.contradiction(&key, text);
        }
        _ => {}
    }
}

/// A bound address, the key that names it, and its TLS listener if it has one.
struct Bound<'s> {
    key: &'static str,
    address: SocketAddr,
    listener: Option<&'s Listener>,
}

/// Everything this role binds.
fn listeners(settings: &Settings, role: Role) -> Vec<Bound<'_>> {
    let (gateway, analysis) = (&settings.gateway, &settings.analysis);
    let parts = match role {
        Role::All => vec![
            ("listen", &gateway.listen, Some(gateway.operations)),
            ("analysis.listen", &analysis.listen, None),
        ],
        Role::Gateway => vec![("listen", &gateway.listen, Some(gateway.operations))],
        Role::Analysis => vec![("listen", &analysis.listen, Some(analysis.operations))],
    };
    let mut bound = Vec::new();
    for (key, listeners, operations) in parts {
        for listener in listeners {
            bound.push(Bound {
                key,
                address: listener.address,
                listener: Some(listener),
            });
        }
        let operations = operations.into_iter();
        bound.extend(operations.map(|address| Bound {
            key: "operations",
            address,
            listener: None,
        }));
    }
    bound
}

/// A listener that requires the PROXY protocol has somebody to take it from.
fn proxy_protocol(settings: &Settings, role: Role, reader: &mut Reader<'_>) {
    let (gateway, analysis) = (&settings.gateway, &settings.analysis);
    let of_gateway = (&gateway.listen, &gateway.trusted_proxies);
    let of_analysis = (&analysis.listen, &analysis.trusted_proxies);
    let parts = match role {
        Role::All => vec![("", of_gateway), ("analysis.", of_analysis)],
        Role::Gateway => vec![("", of_gateway)],
        Role::Analysis => vec![("", of_analysis)],
    };
    for (prefix, (listeners, proxies)) in parts {
        let required = listeners.iter().any(|listener| listener.proxy_protocol);
        let networks = format!("{prefix}trusted_proxies.networks");
        if required && proxies.networks.is_empty() && !reader.has_problem(&networks) {
            let text = format!(
                "has a listener with proxy_protocol, which takes connections from trusted proxies only; set {networks}"
            );
            reader.contradiction(&format!("{prefix}listen"), text);
        }
    }
}

fn shared_addresses(bound: &[Bound<'_>], reader: &mut Reader<'_>) {
    for (index, second) in bound.iter().enumerate() {
        for first in &bound[..index] {
            if collide(first.address, second.address) {
                let text = format!(
                    "{} conflicts with {} of {}; allowed: a different address or port",
                    second.address, first.address, first.key
                );
                reader.contradiction(second.key, text);
            }
        }
    }
}

/// Whether two addresses cannot both be bound. Port 0 is a new port each time. IPv4 and IPv6 are
/// separate here, because a system may be set up to keep them apart.
fn collide(first: SocketAddr, second: SocketAddr) -> bool {
    let same_host = first.ip() == second.ip()
        || first.is_ipv4() == second.is_ipv4()
            && (first.ip().is_unspecified() || second.ip().is_unspecified());
    first.port() != 0 && first.port() == second.port() && same_host
}

fn tls_files(bound: &[Bound<'_>], reader: &mut Reader<'_>) {
    for bound in bound {
        if let Some(tls) = bound.listener.and_then(|listener| listener.tls.as_ref()) {
            let read = readable(&tls.cert, bound.key, "tls.cert ", reader)
                & readable(&tls.key, bound.key, "tls.key ", reader);
            if read && let Err(wrong) = pem::identity(&tls.cert, &tls.key) {
                reader.contradiction(bound.key, format!("tls: {wrong}"));
            }
            let clients = tls.clients.as_ref().map(|clients| clients.ca.as_path());
            authorities(clients, bound.key, reader);
        }
    }
}
