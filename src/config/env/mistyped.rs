//! Finds environment variables that were meant for the program and are none of its own.

use super::{VARIABLES, Variable};

/// The starts of the names of all variables.
const PREFIXES: [&str; 6] = [
    "UPSTREAM_",
    "MONITOR_",
    "STORE_",
    "GATEWAY_",
    "JUDGE_",
    "OIDC_",
];

/// Those of these names that look like a variable of the program and are none, with the nearest one that is.
pub fn mistyped<'n>(
    names: impl Iterator<Item = &'n str>,
) -> Vec<(&'n str, Option<&'static Variable>)> {
    let is_known = |name: &str| VARIABLES.iter().any(|variable| variable.name == name);
    let unknown = names.filter(|name| !is_known(name) && !is_service_link(name));
    let with_nearest = unknown.map(|name| (name, nearest(name)));
    with_nearest
        .filter(|(name, meant)| {
            let is_ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            is_ours || meant.is_some_and(|meant| strsim::levenshtein(name, meant.name) == 1)
        })
        .collect()
}

fn nearest(name: &str) -> Option<&'static Variable> {
    let edits = |variable: &&Variable| strsim::levenshtein(name, variable.name);
    let nearest = VARIABLES.iter().min_by_key(edits)?;
    (edits(&nearest) <= 2).then_some(nearest)
}

/// Whether Kubernetes sets a variable of this name, for a service called `monitor`, `gateway` or `store`.
fn is_service_link(name: &str) -> bool {
    ["_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP"]
        .iter()
        .any(|part| name.contains(part))
        || name.ends_with("_PORT")
}
