//! What a person who starts the program sees on stdout.

use crate::analysis::{FirstRun, LINK_PATH};
use crate::app::process::listeners::local;
use crate::config::{Listener, Settings};
use monitor_model::{GATEWAY_VERSION, Secret};

/// The lines printed when everything is up.
pub(crate) fn all(settings: &Settings, first: &FirstRun, demo: bool) -> String {
    let gateway = url(&settings.gateway.listen);
    let first_url = url(settings.gateway.listen.get(..1).unwrap_or_default());
    let key = new_key(settings, first);
    let mut lines = vec![
        format!("monitor {GATEWAY_VERSION}"),
        format!("  gateway      {gateway}  (documentation at /docs)"),
        format!(
            "  analysis     {}  (web UI; API documentation at /docs)",
            url(&settings.analysis.listen)
        ),
        format!(
            "  operations   http://{}  (/metrics, /readyz)",
            local(settings.gateway.operations)
        ),
        format!("  upstream     {}", upstream(settings, demo)),
    ];
    lines.extend(upstreams(settings));
    lines.extend([
        format!("  application  {}", first.application_id),
        match key {
            Some(key) => format!("  access key   {}  (shown only once)", key.expose()),
            None => {
                "  access key   created or configured earlier; for another one: monitor token create --name NAME"
                    .into()
            }
        },
    ]);
    lines.extend(sign_in(settings, first));
    lines.extend(loopback_only(settings));
    let shown = key.map_or("YOUR_KEY", |key| key.expose());
    lines.push(format!(
        "\nTry it:\n  curl -N {first_url}/v1/chat/completions -H 'X-Monitor-Api-Key: {shown}' \
         -H 'Content-Type: application/json' -d '{{\"model\":\"demo-small\",\"stream\":true,\"messages\":\
         [{{\"role\":\"user\",\"content\":\"My card is 4111 1111 1111 1111\"}}]}}'\n"
    ));
    lines.join("\n")
}

/// How to make the listeners reachable from other machines; only while none is.
fn loopback_only(settings: &Settings) -> Option<String> {
    let listeners = settings.gateway.listen.iter();
    let mut listeners = listeners.chain(&settings.analysis.listen);
    let closed = listeners.all(|listener| listener.address.ip().is_loopback());
    closed.then(|| {
        "  listening on loopback only: set GATEWAY_LISTEN=0.0.0.0:4100 and ANALYSIS_LISTEN=0.0.0.0:4200 \
         to serve other machines"
            .to_owned()
    })
}

/// The lines of an analysis server alone.
pub(crate) fn analysis(settings: &Settings, first: &FirstRun) -> String {
    let mut text = alone("analysis", &settings.analysis.listen);
    text.push_str(&format!("\n  application  {}", first.application_id));
    if let Some(key) = new_key(settings, first) {
        let key = key.expose();
        text.push_str(&format!("\n  access key   {key}  (shown only once)"));
    }
    if let Some(line) = sign_in(settings, first) {
        text.push_str(&format!("\n{line}"));
    }
    text
}

/// The line with the one-time link to the web UI, until somebody can sign in.
fn sign_in(settings: &Settings, first: &FirstRun) -> Option<String> {
    let address = link_address(settings, first.sign_in_link.as_ref()?);
    Some(format!(
        "  sign in      {address}  (valid once, within three days)"
    ))
}

/// The URL of a one-time link.
pub(crate) fn link_address(settings: &Settings, link: &Secret) -> String {
    let public = settings.analysis.public_url.clone();
    let server = public.unwrap_or_else(|| analysis_url(settings));
    link_under(&server, link)
}

/// The URL of a one-time link of the web UI at this base address.
pub(crate) fn link_under(server: &str, link: &Secret) -> String {
    format!("{server}{LINK_PATH}{}", link.expose())
}

/// The address of the first listener of the analysis server.
pub(crate) fn analysis_url(settings: &Settings) -> String {
    url(settings.analysis.listen.get(..1).unwrap_or_default())
}

/// The first token, if this start created it; one from the configuration is already known to its owner.
pub(crate) fn new_key<'a>(settings: &Settings, first: &'a FirstRun) -> Option<&'a Secret> {
    let made = settings.analysis.first_token.is_none();
    first.access_key.as_ref().filter(|_| made)
}

fn upstream(settings: &Settings, demo: bool) -> String {
    match &settings.gateway.upstream.url {
        Some(_) if demo => "built-in demo model (set UPSTREAM_URL for a real one)".into(),
        Some(url) => url.to_string(),
        None => "none".into(),
    }
}

/// A line for each entry of `upstreams`.
fn upstreams(settings: &Settings) -> impl Iterator<Item = String> {
    let entries = settings.gateway.upstreams.iter();
    entries.map(|entry| {
        let url = entry.servers.url.as_ref().map(ToString::to_string);
        let url = url.unwrap_or_default();
        format!("               {url}  ({}: {})", entry.name, entry.calls)
    })
}

/// One line per role that runs alone.
pub(crate) fn alone(role: &str, listeners: &[Listener]) -> String {
    format!("monitor {GATEWAY_VERSION}: {role} at {}", url(listeners))
}

fn url(listeners: &[Listener]) -> String {
    let one = |listener: &Listener| {
        let scheme = if listener.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", local(listener.address))
    };
    listeners.iter().map(one).collect::<Vec<_>>().join(", ")
}
