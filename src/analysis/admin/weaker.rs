//! Which changes of an application weaken its protection: a check, a category or a blocker off, a higher threshold,
//! fewer patterns, more allowed values, originals kept, calls that nobody waits for or that pass without a verdict.
//! Limits and budgets are not protection in this sense, and of another text nobody can tell.

use monitor_detect::PatternName;
use monitor_model::ScanRole;
use serde_json::{Value, json};

/// Whether the new value of a field protects less than the old one. Null stands for a side that has none.
pub(super) fn is_weaker(path: &str, before: &Value, after: &Value) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["rules", "keep_original"] => is(after, true),
        ["rules", _, rest @ ..] => of_rules(rest, before, after),
        ["policy", rest @ ..] => of_policy(rest, before, after),
        _ => false,
    }
}

fn of_rules(field: &[&str], before: &Value, after: &Value) -> bool {
    match field {
        ["dataclean" | "guardrails"] => is(after, false),
        ["dataclean", "patterns"] => is_missing(&patterns(before), &patterns(after)),
        ["dataclean", "allowed_patterns"] => is_missing(&list(after), &list(before)),
        ["dataclean", "clean_type"] => after == "DETECTION",
        ["guardrails", "categories", _] => match (before.as_f64(), after.as_f64()) {
            (Some(old), Some(new)) => new > old,
            (old, None) => old.is_some(),
            (None, Some(_)) => false,
        },
        ["custom_policies"] => is_missing(&names(before), &names(after)),
        ["tokens", _] => match (before.as_u64(), after.as_u64()) {
            (Some(old), new) => new.is_none_or(|new| new > old),
            (None, _) => false,
        },
        _ => false,
    }
}

fn of_policy(field: &[&str], before: &Value, after: &Value) -> bool {
    match field {
        ["app_mode"] => before == "sync" && after != "sync",
        ["block_on", _] | ["check_tool_arguments"] => is(before, true) && is(after, false),
        ["replace_response" | "redact_upstream"] => is(before, true) && !is(after, true),
        ["on_backend_failure"] => before == "closed" && after != "closed",
        ["stream_in_sync"] => before == "hold_back" && after != "hold_back",
        ["embeddings"] => level(before) > level(after),
        ["scan_roles"] => after.is_array() && !list(before).iter().all(|role| is_read(role, after)),
        ["local_patterns"] => after.is_array() && is_missing(&list(before), &list(after)),
        _ => false,
    }
}

fn is(value: &Value, flag: bool) -> bool {
    value.as_bool() == Some(flag)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The patterns that are looked for; anything but a list stands for all that have a name.
fn patterns(value: &Value) -> Vec<Value> {
    let all = || PatternName::all().map(|name| json!(name.as_str()));
    let listed = value.as_array().cloned();
    listed.unwrap_or_else(|| all().collect())
}

fn names(policies: &Value) -> Vec<Value> {
    let policies = list(policies);
    let names = policies.iter().filter_map(|policy| policy.get("name"));
    names.cloned().collect()
}

/// Whether one of these is not among those.
fn is_missing(these: &[Value], those: &[Value]) -> bool {
    these.iter().any(|one| !those.contains(one))
}

/// How much is done with the texts of embeddings.
fn level(embeddings: &Value) -> u8 {
    match embeddings.as_str() {
        Some("check") => 2,
        Some("record") => 1,
        _ => 0,
    }
}

/// Whether the messages of a role are read by roles, itself or one that has more of them.
fn is_read(role: &Value, by: &Value) -> bool {
    let wider: &[ScanRole] = match role.as_str() {
        Some("last_user") => &[ScanRole::UserTurn, ScanRole::AllUser],
        Some("user_turn") => &[ScanRole::AllUser],
        _ => &[],
    };
    let by = list(by);
    by.contains(role) || wider.iter().any(|wide| by.contains(&json!(wide.as_str())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn what_protects_less_is_weaker_and_the_way_back_is_not() {
        let all = || json!("all");
        for (path, before, after) in [
            ("rules.keep_original", json!(false), json!(true)),
            ("rules.pre.dataclean", json!(true), json!(false)),
            ("rules.post.guardrails", json!(true), json!(false)),
            ("rules.pre.dataclean.patterns", all(), json!(["EMAILS"])),
            (
                "rules.pre.dataclean.patterns",
                json!(["EMAILS", "IP"]),
                json!(["EMAILS"]),
            ),
            (
                "rules.pre.dataclean.allowed_patterns",
                json!([]),
                json!([{"name": "n", "regex": "x"}]),
            ),
            (
                "rules.pre.dataclean.clean_type",
                json!("MASKING"),
                json!("DETECTION"),
            ),
            (
                "rules.pre.guardrails.categories.hate",
                json!(0.5),
                json!(0.6),
            ),
            (
                "rules.pre.guardrails.categories.hate",
                json!(0.5),
                json!(false),
            ),
            (
                "rules.pre.custom_policies",
                json!([{"name": "p", "prompt": "x"}]),
                json!([]),
            ),
            ("rules.pre.tokens.low", json!(10), json!(11)),
            ("rules.pre.tokens.low", json!(10), Value::Null),
            ("policy.app_mode", json!("sync"), json!("async")),
            ("policy.app_mode", json!("sync"), Value::Null),
            ("policy.block_on.guardrails", json!(true), json!(false)),
            ("policy.replace_response", json!(true), json!(false)),
            ("policy.redact_upstream", json!(true), Value::Null),
            ("policy.on_backend_failure", json!("closed"), json!("open")),
            ("policy.stream_in_sync", json!("hold_back"), json!("off")),
            ("policy.embeddings", json!("check"), json!("record")),
            ("policy.check_tool_arguments", json!(true), json!(false)),
            (
                "policy.scan_roles",
                json!(["all_user"]),
                json!(["last_user"]),
            ),
            (
                "policy.scan_roles",
                json!(["last_user", "tool"]),
                json!(["all_user"]),
            ),
            (
                "policy.local_patterns",
                json!(["EMAILS", "IP"]),
                json!(["IP"]),
            ),
        ] {
            assert!(
                is_weaker(path, &before, &after),
                "{path}: {before} to {after}"
            );
            if path != "policy.scan_roles" {
                assert!(
                    !is_weaker(path, &after, &before),
                    "{path}: {after} to {before}"
                );
            }
        }
        for (path, before, after) in [
            (
                "policy.scan_roles",
                json!(["last_user"]),
                json!(["user_turn"]),
            ),
            ("policy.phrase", json!("No."), json!("Never.")),
            ("policy.limits.concurrent", json!(3), Value::Null),
            (
                "rules.pre.custom_policies",
                json!([{"name": "p", "prompt": "x"}]),
                json!([{"name": "p", "prompt": "y"}]),
            ),
            ("name", json!("one"), json!("other")),
        ] {
            assert!(
                !is_weaker(path, &before, &after),
                "{path}: {before} to {after}"
            );
        }
    }
}
