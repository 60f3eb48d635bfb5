//! Finds environment variables that were meant for the program and are none of its own.

use super::{VARIABLES, Variable};

/// The names of those of these variables that look like one of the program and are none, with the nearest one that is.
pub fn mistyped<'n>(
    given: impl Iterator<Item = (&'n str, &'n str)>,
) -> Vec<(&'n str, Option<&'static Variable>)> {
    let is_known = |name: &str| VARIABLES.iter().any(|variable| variable.name == name);
    let unknown = given.filter(|(name, value)| !is_known(name) && !is_service_link(name, value));
    let with_nearest = unknown.map(|(name, _)| (name, nearest(name)));
    with_nearest
        .filter(|(name, meant)| {
            has_prefix_of_ours(name)
                || meant.is_some_and(|meant| strsim::levenshtein(name, meant.name) == 1)
        })
        .collect()
}

fn nearest(name: &str) -> Option<&'static Variable> {
    let edits = |variable: &&Variable| strsim::levenshtein(name, variable.name);
    let nearest = VARIABLES.iter().min_by_key(edits)?;
    (edits(&nearest) <= 2).then_some(nearest)
}

/// Whether a name begins like one of the program's variables: `GATEWAY_`, for instance.
fn has_prefix_of_ours(name: &str) -> bool {
    let prefix = |name: &str| name.find('_').map(|at| at + 1);
    VARIABLES.iter().any(|variable| {
        prefix(variable.name).is_some_and(|end| name.starts_with(&variable.name[..end]))
    })
}

/// Whether Kubernetes sets a variable for a service called `monitor`, `gateway` or `store`. The name that ends with
/// `_PORT` holds an address there.
fn is_service_link(name: &str, value: &str) -> bool {
    let parts = ["_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP"];
    let is_port = name.ends_with("_PORT") && value.contains("://");
    is_port || parts.iter().any(|part| name.contains(part))
}
