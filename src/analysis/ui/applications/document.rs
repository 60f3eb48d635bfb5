//! The rules and the policy that a form describes, merged into the stored documents so that fields the
//! form does not show are kept. Nothing is validated here: `draft` does that for every caller. A number
//! that does not parse is kept as text, for the validation to report.

use super::{budgets, fields::prefix};
use crate::analysis::admin::Application;
use crate::analysis::admin::draft::{Edit, Part};
use crate::analysis::ui::request::form::Form;
use monitor_detect::PatternName;
use monitor_detect::guardrails::{Category, DEFAULT_THRESHOLD};
use monitor_model::Stage;
use serde_json::{Map, Value, json};

/// What a form makes of an application.
pub(super) fn edit(form: &Form, base: Option<&Application>) -> Edit {
    let stored = base.map(|base| base.rules.clone());
    Edit {
        name: Some(form.text("name").trim().to_owned()),
        description: Some(form.text("description").trim().to_owned()),
        rules: Some(Part::Replace(rules(
            form,
            stored.unwrap_or_else(|| json!({})),
        ))),
        // A form on which the policy cannot be changed does not have it.
        policy: (!form.text("mode").is_empty()).then(|| Part::Replace(policy(form, base))),
    }
}

/// The rules of a form over those that are stored.
pub(super) fn rules(form: &Form, stored: Value) -> Value {
    let mut rules = object(stored);
    put(
        &mut rules,
        "keep_original",
        json!(form.is_on("keep_original")),
        &json!(false),
    );
    let mut retention = Map::new();
    for key in ["days", "rows", "bytes"] {
        insert_number(&mut retention, key, form.text(&format!("retention.{key}")));
    }
    put_or_remove(&mut rules, "retention", retention);
    for (key, stage) in [("pre", Stage::PreCall), ("post", Stage::PostCall)] {
        let known = rules.remove(key);
        let direction = direction(form, stage, object(known.clone().unwrap_or(Value::Null)));
        if !direction.is_empty() || known.is_some() {
            rules.insert(key.to_owned(), Value::Object(direction));
        }
    }
    Value::Object(rules)
}

fn direction(form: &Form, stage: Stage, mut rules: Map<String, Value>) -> Map<String, Value> {
    let prefix = prefix(stage);
    let name = |name: &str| format!("{prefix}{name}");
    let cleaned = match form.is_on(&name("dataclean")) {
        true => dataclean(form, prefix, rules.get("dataclean")),
        false => Value::Null,
    };
    put(&mut rules, "dataclean", cleaned, &json!({}));
    guardrails(form, stage, &mut rules);
    let policies = pairs(form, &name("policy."), "name", "prompt");
    put(
        &mut rules,
        "custom_policies",
        Value::Array(policies),
        &json!([]),
    );
    put(
        &mut rules,
        "encoding",
        json!(form.text(&name("encoding"))),
        &json!("o200k_base"),
    );
    let mut tokens = Map::new();
    for key in ["low", "high", "critical"] {
        insert_number(&mut tokens, key, form.text(&name(&format!("tokens.{key}"))));
    }
    put_or_remove(&mut rules, "tokens", tokens);
    rules
}

fn guardrails(form: &Form, stage: Stage, rules: &mut Map<String, Value>) {
    let (stored, prefix) = (rules.remove("guardrails"), prefix(stage));
    if !form.is_on(&format!("{prefix}guardrails")) {
        return;
    }
    let mut guardrails = object(stored.unwrap_or(Value::Null));
    let mut thresholds = object(guardrails.remove("categories").unwrap_or(Value::Null));
    // A category that this version does not know is dropped.
    thresholds.retain(|name, _| name.parse::<Category>().is_ok());
    let disabled = guardrails.remove("disabled");
    let mut disabled: Vec<Value> = disabled
        .and_then(|list| list.as_array().cloned())
        .unwrap_or_default();
    let on = format!("{prefix}category_on");
    for category in Category::of(stage).map(Category::as_str) {
        let given = number(form.text(&format!("{prefix}category.{category}")));
        match given.as_f64() {
            _ if given.is_null() => drop(thresholds.remove(category)),
            // A threshold that nobody chose follows the default of later versions.
            Some(DEFAULT_THRESHOLD) if !thresholds.contains_key(category) => {}
            _ => drop(thresholds.insert(category.to_owned(), given)),
        }
        let is_on = form.all(&on).any(|name| name == category);
        let is_known = disabled.iter().any(|name| name == category);
        match (is_on, is_known) {
            (true, true) => disabled.retain(|name| name != category),
            (false, false) => disabled.push(json!(category)),
            _ => {}
        }
    }
    put_or_remove(&mut guardrails, "categories", thresholds);
    if !disabled.is_empty() {
        guardrails.insert("disabled".to_owned(), Value::Array(disabled));
    }
    rules.insert("guardrails".to_owned(), Value::Object(guardrails));
}

fn dataclean(form: &Form, prefix: &str, stored: Option<&Value>) -> Value {
    let name = |name: &str| format!("{prefix}{name}");
    let mut rules = object(stored.cloned().unwrap_or(Value::Null));
    let custom = pairs(form, &name("custom."), "name", "regex");
    let is_all = form.text(&name("which")) != "chosen";
    rules.remove("patterns");
    if !is_all || !custom.is_empty() {
        let mut patterns: Vec<Value> = match is_all {
            true => PatternName::all()
                .map(|known| json!(known.as_str()))
                .collect(),
            false => form
                .all(&name("pattern"))
                .map(|known| json!(known))
                .collect(),
        };
        patterns.extend(custom);
        rules.insert("patterns".to_owned(), Value::Array(patterns));
    }
    let allowed = pairs(form, &name("allowed."), "name", "regex");
    put(
        &mut rules,
        "allowed_patterns",
        Value::Array(allowed),
        &json!([]),
    );
    put(
        &mut rules,
        "clean_type",
        json!(form.text(&name("clean_type"))),
        &json!("MASKING"),
    );
    put(
        &mut rules,
        "mask_style",
        json!(form.text(&name("mask_style"))),
        &json!("label"),
    );
    Value::Object(rules)
}

/// The policy of a form; null for none. A form that may not change the policy does not have its fields.
pub(super) fn policy(form: &Form, base: Option<&Application>) -> Value {
    let mode = form.text("mode");
    if mode == "none" {
        return Value::Null;
    }
    let stored = base.and_then(|base| base.policy.as_ref()?.as_ref().ok());
    if mode.is_empty() {
        return json!(stored);
    }
    let mut policy = object(json!(stored));
    let roles: Vec<_> = form.all("scan_roles").collect();
    let fields = [
        ("app_mode", json!(mode)),
        ("phrase", json!(form.text("phrase").trim())),
        (
            "block_on",
            json!({
                "guardrails": form.is_on("block.guardrails"),
                "custom_policy": form.is_on("block.custom_policy"),
                "dataclean": form.is_on("block.dataclean"),
            }),
        ),
        ("on_backend_failure", json!(form.text("on_backend_failure"))),
        ("replace_response", json!(form.is_on("replace_response"))),
        ("scan_roles", json!(roles)),
        ("stream_in_sync", json!(form.text("stream_in_sync"))),
        ("redact_upstream", json!(form.is_on("redact_upstream"))),
        ("local_patterns", local_patterns(form)),
    ];
    for (key, value) in fields {
        policy.insert(key.to_owned(), value);
    }
    put_unless_default(&mut policy, form, "block_details", "metadata");
    put_unless_default(&mut policy, form, "embeddings", "off");
    put_unless_default(&mut policy, form, "check_tool_arguments", "true");
    put_or_remove(&mut policy, "limits", limits(form));
    budgets::put(&mut policy, form);
    Value::Object(policy)
}

/// A word or a flag that a policy leaves out where it is the default. A form that does not ask changes nothing.
fn put_unless_default(policy: &mut Map<String, Value>, form: &Form, key: &str, default: &str) {
    match form.text(key) {
        "" => {}
        chosen if chosen == default => drop(policy.remove(key)),
        "false" => drop(policy.insert(key.to_owned(), false.into())),
        chosen => drop(policy.insert(key.to_owned(), chosen.into())),
    }
}

/// The patterns that the gateway checks itself; null where it checks none, or the default set.
fn local_patterns(form: &Form) -> Value {
    let looks = form.is_on("redact_upstream") || form.text("stream_in_sync") == "hold_back";
    match looks && form.text("local.which") == "chosen" {
        true => form.all("local.pattern").map(Value::from).collect(),
        false => Value::Null,
    }
}

fn limits(form: &Form) -> Map<String, Value> {
    let rate = match form.text("limits.per") {
        "second" => "requests_per_second",
        _ => "requests_per_minute",
    };
    let fields = [
        (rate, "limits.calls"),
        ("burst", "limits.burst"),
        ("concurrent", "limits.concurrent"),
    ];
    let mut limits = Map::new();
    for (key, field) in fields {
        insert_number(&mut limits, key, form.text(field));
    }
    limits
}

/// Rows of two fields each; rows of nothing are left out.
fn pairs(form: &Form, prefix: &str, first: &str, second: &str) -> Vec<Value> {
    let (firsts, seconds) = (format!("{prefix}{first}"), format!("{prefix}{second}"));
    let rows = form.all(&firsts).zip(form.all(&seconds));
    rows.filter(|(one, other)| !one.trim().is_empty() || !other.trim().is_empty())
        .map(|(one, other)| json!({first: one.trim(), second: other.trim()}))
        .collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Sets a key, unless it is missing and the value is the default.
fn put(fields: &mut Map<String, Value>, key: &str, value: Value, default: &Value) {
    if value != *default || fields.contains_key(key) {
        fields.insert(key.to_owned(), value);
    }
}

fn put_or_remove(fields: &mut Map<String, Value>, key: &str, value: Map<String, Value>) {
    match value.is_empty() {
        true => drop(fields.remove(key)),
        false => drop(fields.insert(key.to_owned(), Value::Object(value))),
    }
}

fn insert_number(fields: &mut Map<String, Value>, key: &str, text: &str) {
    let value = number(text);
    if !value.is_null() {
        fields.insert(key.to_owned(), value);
    }
}

/// A number, null of nothing, and the text of anything else.
fn number(text: &str) -> Value {
    let text = text.trim();
    let whole = text.parse::<u64>().map(Value::from);
    let decimal = || text.parse::<f64>().map(Value::from);
    match text {
        "" => Value::Null,
        _ => whole.or_else(|_| decimal()).unwrap_or_else(|_| json!(text)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::fields;
    use super::*;
    use crate::analysis::ApplicationRules;
    use monitor_model::{ApplicationId, Policy};

    fn application(rules: Value, policy: Option<Value>) -> Application {
        Application {
            id: ApplicationId::random(),
            name: "bot".to_owned(),
            description: "two\nlines".to_owned(),
            created_at_ms: 0,
            updated_at_ms: 0,
            version: 3,
            rules,
            policy: policy.map(|policy| Policy::from_value(&policy)),
        }
    }

    #[test]
    fn a_form_that_nobody_changed_changes_nothing() {
        let everything = json!({
            "keep_original": true, "retention": {"days": 30, "bytes": 1000},
            "pre": {
                "dataclean": {
                    "patterns": ["EMAILS", {"name": "ORDER", "regex": "ORD-\\d+"}],
                    "allowed_patterns": [{"name": "ours", "regex": ".+@example\\.org"}],
                    "clean_type": "DELETION", "mask_style": "x"},
                "guardrails": {"categories": {"jailbreak": 0.5, "drugs": 0.8}, "disabled": ["secret_leak", "hate"]},
                "custom_policies": [{"name": "loans", "prompt": "No advice\nabout loans."}],
                "encoding": "cl100k_base", "tokens": {"low": 1, "high": 2, "critical": 3}},
            "post": {"dataclean": null, "later_than_us": 7},
        });
        let policy = json!({"app_mode": "sync", "phrase": "No.", "block_on": {"dataclean": false},
            "scan_roles": ["last_user", "tool"], "redact_upstream": true, "local_patterns": ["EMAILS", "IP"],
            "limits": {"requests_per_second": 20, "burst": 40, "concurrent": 3}, "check_tool_arguments": false});
        let limited = json!({"app_mode": "async", "limits": {"requests_per_minute": 5}});
        let documents = [
            (everything, Some(policy)),
            (json!({}), Some(limited)),
            (json!({}), None),
        ];
        for (rules, policy) in documents {
            let base = application(rules.clone(), policy.clone());
            let form = fields::of(&base);
            assert_eq!(super::rules(&form, rules.clone()), rules);
            let same = super::policy(&form, Some(&base));
            let stored = base.policy.as_ref().map(|policy| policy.clone().unwrap());
            assert_eq!(same, json!(stored));
        }
    }

    #[test]
    fn what_no_field_means_any_more_is_no_part_of_a_policy() {
        let limits = json!({"requests_per_minute": 5, "burst": 2});
        let stored = json!({"app_mode": "async", "redact_upstream": true,
            "local_patterns": ["IP"], "limits": limits});
        let base = application(json!({}), Some(stored));
        let form = Form::of(
            "mode=async&stream_in_sync=off&local.which=chosen&local.pattern=IP\
             &limits.per=second&limits.calls=&limits.concurrent=+9+&limits.burst=x",
        );
        let policy = policy(&form, Some(&base));
        let found = &policy["local_patterns"];
        assert!(found.is_null(), "nothing looks for them");
        assert_eq!(policy["limits"], json!({"burst": "x", "concurrent": 9}));
        let none = super::policy(&Form::of("mode=async&stream_in_sync=off"), Some(&base));
        assert_eq!(none.get("limits"), None);
    }

    #[test]
    fn a_category_is_written_down_where_somebody_chose_and_not_otherwise() {
        let all = "post.guardrails=on&post.category.toxicity=0.50&post.category.secret_leak=0.7\
                   &post.category.harmful_content=&post.category_on=toxicity&post.category_on=secret_leak\
                   &post.category_on=system_prompt_leak&post.category.system_prompt_leak=high";
        let stored = json!({"post": {"guardrails": {"categories": {"harmful_content": 0.2, "jailbreak": 0.3, "gone": 1}}}});
        let rules = rules(&Form::of(all), stored);
        let expected = json!({
            "categories": {"jailbreak": 0.3, "secret_leak": 0.7, "system_prompt_leak": "high"},
            "disabled": ["harmful_content"],
        });
        assert_eq!(rules["post"]["guardrails"], expected);
    }

    #[test]
    fn fields_become_the_document_they_describe() {
        let form = Form::of(
            "pre.dataclean=on&pre.which=all&pre.custom.name=ORDER&pre.custom.regex=ORD-%5Cd%2B\
             &pre.custom.name=&pre.custom.regex=&pre.clean_type=MASKING&pre.mask_style=label\
             &pre.encoding=o200k_base&pre.tokens.low=10&pre.tokens.high=x&retention.days=+7+\
             &post.encoding=o200k_base",
        );
        let rules = rules(&form, json!({"pre": {"guardrails": {}}}));
        let patterns = rules["pre"]["dataclean"]["patterns"].as_array().unwrap();
        assert_eq!(patterns.len(), PatternName::all().count() + 1);
        assert_eq!(patterns.last().unwrap()["name"], "ORDER");
        assert_eq!(rules["pre"]["tokens"], json!({"low": 10, "high": "x"}));
        assert_eq!(rules["pre"].get("guardrails"), None);
        assert_eq!(rules["retention"], json!({"days": 7}));
        assert_eq!(rules["post"], json!({"dataclean": null}));
        let problems = ApplicationRules::parse(&rules).unwrap_err();
        let fields: Vec<_> = problems
            .iter()
            .map(|problem| problem.field.as_str())
            .collect();
        assert_eq!(
            fields,
            ["rules.pre.tokens.high", "rules.pre.tokens.critical"]
        );
    }
}
