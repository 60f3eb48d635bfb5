//! Whether the web UI knows its own address. Without `ui.public_url` it takes the address from the browser's
//! request, so that whoever can change a request on its way to a listener beyond this machine, or have a
//! browser send another `Host`, chooses where one-time links and the answer of single sign-on lead.

use crate::config::{Role, Settings};
use log::warn;

/// Warns where other machines reach the web UI and its address is not set.
pub(crate) fn warn(settings: &Settings, role: Role) {
    if let Some(key) = unset(settings, role) {
        warn!(
            target: "analysis",
            "{key} is not set and the web UI can be reached from other machines: one-time links and single sign-on lead to the address that a request names in its Host header; set {key}, such as https://monitor.example",
        );
    }
}

/// The key that should be set.
fn unset(settings: &Settings, role: Role) -> Option<&'static str> {
    let analysis = &settings.analysis;
    let key = match role {
        Role::Gateway => return None,
        Role::Analysis => "ui.public_url",
        Role::All => "analysis.ui.public_url",
    };
    let is_reachable = |listener: &crate::config::Listener| !listener.address.ip().is_loopback();
    let is_open = analysis.listen.iter().any(is_reachable);
    (is_open && analysis.public_url.is_none()).then_some(key)
}
