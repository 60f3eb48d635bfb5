//! The fields of an application as people call them, by their paths.

use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::request::view::View;
use monitor_detect::guardrails::Category;

/// The name of a field, such as `Sensitive data in prompts`; None of one that no page shows.
pub(crate) fn name(view: &View, path: &str) -> Option<String> {
    let t = view.t;
    let parts: Vec<&str> = path.split('.').collect();
    let plain = match parts.as_slice() {
        ["rules", "pre", rest @ ..] => return of_rules(view, rest, t.in_prompts),
        ["rules", "post", rest @ ..] => return of_rules(view, rest, t.in_answers),
        ["policy", "block_on", check] => {
            return Some(format!("{}: {}", t.blocks_on, checked(t, check)?));
        }
        ["policy", field, ..] => of_policy(t, field)?,
        ["rules", "keep_original"] => t.keep_original,
        ["rules", "retention", ..] => t.retention,
        ["name"] => t.name,
        ["description"] => t.description,
        _ => return None,
    };
    Some(plain.to_owned())
}

/// A field of the rules of one direction, in a phrase that names the direction.
fn of_rules(view: &View, field: &[&str], phrase: &str) -> Option<String> {
    let t = view.t;
    let name = match field {
        [check @ ("dataclean" | "guardrails" | "custom_policies")] => checked(t, check)?,
        ["dataclean", "patterns"] => t.patterns,
        ["dataclean", "allowed_patterns"] => t.allowed_patterns,
        ["dataclean", "clean_type"] => t.clean_type,
        ["dataclean", "mask_style"] => t.mask_style,
        ["guardrails", "categories", category] => view.g().name(category.parse::<Category>().ok()?),
        ["tokens", ..] => t.token_thresholds,
        ["encoding"] => t.encoding,
        _ => return None,
    };
    Some(phrase.replace("{}", name))
}

fn checked(t: &Phrases, check: &str) -> Option<&'static str> {
    match check {
        "dataclean" => Some(t.sensitive_data),
        "guardrails" => Some(t.guardrails),
        "custom_policy" | "custom_policies" => Some(t.custom_policies),
        _ => None,
    }
}

fn of_policy(t: &Phrases, field: &str) -> Option<&'static str> {
    Some(match field {
        "app_mode" => t.mode,
        "phrase" => t.phrase,
        "on_backend_failure" => t.backend_failure,
        "scan_roles" => t.checked_messages,
        "replace_response" => t.replace_response,
        "redact_upstream" => t.redact_upstream,
        "stream_in_sync" => t.stream_in_sync,
        "block_details" => t.block_details,
        "embeddings" => t.embeddings,
        "check_tool_arguments" => t.tool_arguments,
        "local_patterns" => t.local_patterns,
        "limits" => t.limits,
        _ => return None,
    })
}

/// A value as people call it; None of one that is shown as it is.
pub(super) fn value(t: &Phrases, path: &str, word: Option<&str>) -> Option<&'static str> {
    Some(match (path, word) {
        ("policy.app_mode", None) => t.mode_none,
        ("policy.app_mode", Some("sync")) => t.mode_sync,
        ("policy.app_mode", Some("async")) => t.mode_async,
        ("policy.on_backend_failure", Some("open")) => t.failure_open,
        ("policy.on_backend_failure", Some("closed")) => t.failure_closed,
        (_, Some("all")) if path.ends_with(".dataclean.patterns") => t.patterns_all,
        (_, Some("MASKING")) if path.ends_with(".clean_type") => t.masking,
        (_, Some("DELETION")) if path.ends_with(".clean_type") => t.deletion,
        (_, Some("DETECTION")) if path.ends_with(".clean_type") => t.detection,
        _ => return None,
    })
}
