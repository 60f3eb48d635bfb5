//! The keys of `services`: which stages of an analysis this deployment runs.

use crate::config::reading::reader::Reader;
use monitor_model::Services;

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> Services {
    let mut is_on = |name: &str| r.switch(&format!("{prefix}{name}")).unwrap_or(true);
    Services {
        dataclean: is_on("dataclean"),
        guardrails: is_on("guardrails"),
        custom_policy: is_on("custom_policy"),
    }
}
