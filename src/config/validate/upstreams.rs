//! Groups of model servers that cannot be meant: `upstream`, and the entries of `upstreams`, of which the first that
//! takes a call gets it.

use super::files::{authorities, client};
use crate::config::reading::reader::Reader;
use crate::config::role::Role;
use crate::config::sections::gateway::upstream::{MOST_UPSTREAMS, UpstreamSettings};
use crate::config::sections::gateway::upstreams::{NamedUpstream, entry_key};
use crate::config::sections::listen::Listener;
use crate::config::settings::GatewaySettings;
use crate::config::values::call_match::{CallMatch, CallPart};
use crate::config::values::url::BaseUrl;
use std::net::{IpAddr, SocketAddr};

/// Reports what contradicts itself in the groups, and between them.
pub(super) fn contradictions(gateway: &GatewaySettings, role: Role, reader: &mut Reader<'_>) {
    let is_missing = gateway.upstream.url.is_none();
    if is_missing && role == Role::Gateway && !reader.has_problem("upstream.url") {
        let text = match gateway.upstreams.is_empty() {
            true => "is not set; set UPSTREAM_URL or upstream.url",
            false => {
                "is not set, and calls that no entry of upstreams takes go there; set UPSTREAM_URL or upstream.url"
            }
        };
        reader.contradiction("upstream.url", text);
    }
    group(&gateway.upstream, "upstream", gateway, reader);
    for (index, entry) in gateway.upstreams.iter().enumerate() {
        let key = entry_key(index);
        group(&entry.servers, &key, gateway, reader);
        let before = &gateway.upstreams[..index];
        names(entry, before, &key, reader);
        unread_bodies(&entry.calls, &key, reader);
        unreachable(entry, before, &key, reader);
    }
}

/// One group: its servers differ, none is this gateway, and its files can be used.
fn group(
    upstream: &UpstreamSettings,
    section: &str,
    gateway: &GatewaySettings,
    reader: &mut Reader<'_>,
) {
    let key = |name: &str| format!("{section}.{name}");
    let is_own = |url: &BaseUrl| leads_back(url, &gateway.listen);
    authorities(upstream.ca.as_deref(), &key("ca"), reader);
    client(&upstream.client, &upstream.url, section, reader);
    let own_url = upstream.url.as_ref().is_some_and(is_own);
    let mut refuse = |name: &str, contradicts: bool, text: &str| {
        if contradicts {
            reader.contradiction(&key(name), text);
        }
    };
    refuse(
        "url",
        own_url,
        "is this gateway's own listener; allowed: the model server's address",
    );
    let mut all: Vec<&BaseUrl> = upstream.url.iter().collect();
    for url in &upstream.standby {
        refuse(
            "standby",
            is_own(url),
            "is this gateway's own listener; allowed: model servers' addresses",
        );
        refuse(
            "standby",
            all.contains(&url),
            "lists a model server twice; allowed: each once",
        );
        all.push(url);
    }
    let too_many =
        format!("has too many servers; allowed: {MOST_UPSTREAMS} including {section}.url");
    refuse("standby", all.len() > MOST_UPSTREAMS, &too_many);
    let stands_by_nothing = upstream.url.is_none() && !all.is_empty();
    let text = format!("requires {section}.url, the server they stand by for");
    refuse("standby", stands_by_nothing, &text);
}

/// No two entries have one name, and no list has an item twice.
fn names(entry: &NamedUpstream, before: &[NamedUpstream], key: &str, reader: &mut Reader<'_>) {
    if let Some(first) = before.iter().position(|other| other.name == entry.name) {
        let text = format!(
            "is also the name of {}; allowed: a name of its own for each entry",
            entry_key(first)
        );
        reader.contradiction(&format!("{key}.name"), text);
    }
    let CallMatch { routes, models } = &entry.calls;
    if let Some(twice) = repeated(routes) {
        let text = format!("lists {twice} twice; allowed: each once");
        reader.contradiction(&format!("{key}.routes"), text);
    }
    if let Some(twice) = repeated(models) {
        let text = format!("lists {twice} twice; allowed: each once");
        reader.contradiction(&format!("{key}.models"), text);
    }
}

fn repeated<T: PartialEq>(items: &[T]) -> Option<&T> {
    let mut all = items.iter().enumerate();
    let found = all.find(|(index, item)| items[..*index].contains(item));
    found.map(|(_, item)| item)
}

/// Models are asked for only where the gateway reads the body.
fn unread_bodies(calls: &CallMatch, key: &str, reader: &mut Reader<'_>) {
    let mut routes = calls.routes.iter();
    let unread = routes.find(|route| !route.has_model());
    if let Some(route) = unread.filter(|_| !calls.models.is_empty()) {
        let text = format!(
            "has no effect on {route}, whose calls the gateway forwards without knowing their model; give {route} an entry without models"
        );
        reader.contradiction(&format!("{key}.models"), text);
    }
}

/// Every route and every model of an entry gets calls that no entry before takes.
fn unreachable(
    entry: &NamedUpstream,
    before: &[NamedUpstream],
    key: &str,
    reader: &mut Reader<'_>,
) {
    let taker = |part: CallPart<'_>| before.iter().position(|other| other.calls.covers(part));
    let parts = entry.calls.parts();
    // All parts that this holds for are taken by entries before; the first of these.
    let taken = |of: &dyn Fn(&CallPart<'_>) -> bool| {
        let takers: Option<Vec<usize>> = parts
            .iter()
            .filter(|part| of(part))
            .map(|part| taker(*part))
            .collect();
        let first = takers?.into_iter().next()?;
        Some((first, before[first].name.as_str()))
    };
    if let Some((first, name)) = taken(&|_| true) {
        let text = format!(
            "gets no call: {} ({name}) takes them all before; put this entry in front of that one, or remove one of them",
            entry_key(first)
        );
        let item = if entry.calls.models.is_empty() {
            "routes"
        } else {
            "models"
        };
        return reader.contradiction(&format!("{key}.{item}"), text);
    }
    let said = |what: &dyn std::fmt::Display, (first, name): (usize, &str)| {
        format!(
            "{what} gets no call: {} ({name}) takes it before; remove it from one of them, or put this entry in front of that one",
            entry_key(first)
        )
    };
    for route in &entry.calls.routes {
        if let Some(taker) = taken(&|(of, _)| of == route) {
            reader.contradiction(&format!("{key}.routes"), said(route, taker));
        }
    }
    for model in &entry.calls.models {
        if let Some(taker) = taken(&|(_, of)| *of == Some(model)) {
            reader.contradiction(&format!("{key}.models"), said(model, taker));
        }
    }
}

/// Whether a URL names one of the listeners.
pub(super) fn leads_back(url: &BaseUrl, listeners: &[Listener]) -> bool {
    listeners
        .iter()
        .any(|listener| reaches(url, listener.address))
}

/// Whether a URL names a listener's own address, as far as that is known without a resolver.
fn reaches(url: &BaseUrl, listener: SocketAddr) -> bool {
    if url.port != listener.port() {
        return false;
    }
    let own = listener.ip();
    match url.host.parse::<IpAddr>() {
        Ok(ip) => ip == own || own.is_unspecified() && (ip.is_loopback() || ip.is_unspecified()),
        Err(_) => url.host == "localhost" && (own.is_loopback() || own.is_unspecified()),
    }
}
