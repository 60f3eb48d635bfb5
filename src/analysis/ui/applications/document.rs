//! The documents that a form describes: the rules and the policy of an application, laid over what is
//! stored, so that what the form does not show stays. Nothing is checked here: `draft` does that for
//! every way in. A number that is none is left as its text, for the check to name it.

use super::fields::prefix;
use crate::analysis::draft::{Edit, Part};
use crate::analysis::ui::form::Form;
use crate::detect::PatternName;
use crate::model::Stage;
use crate::store::Application;
use serde_json::{Map, Value, json};

/// What a form makes of an application.
pub(super) fn edit(form: &Form, base: Option<&Application>) -> Edit {
    let stored = base.map(|base| base.rules.clone());
    Edit {
        name: Some(form.text("name").trim().to_owned()),
        description: Some(form.text("description").trim().to_owned()),
        rules: Some(Part::Whole(rules(
            form,
            stored.unwrap_or_else(|| json!({})),
        ))),
        policy: Some(Part::Whole(policy(form, base))),
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
    guardrails(form, prefix, &mut rules);
    let policies = pairs(form, &name("policy."), ("name", "prompt"));
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

fn guardrails(form: &Form, prefix: &str, rules: &mut Map<String, Value>) {
    let stored = rules.remove("guardrails");
    if !form.is_on(&format!("{prefix}guardrails")) {
        return;
    }
    let beginning = format!("{prefix}category.");
    let given = form.beginning(&beginning);
    let given = given.map(|(name, threshold)| (name.to_owned(), number(threshold)));
    let categories = given
        .filter(|(_, threshold)| !threshold.is_null())
        .collect();
    let mut guardrails = object(stored.unwrap_or(Value::Null));
    put_or_remove(&mut guardrails, "categories", categories);
    rules.insert("guardrails".to_owned(), Value::Object(guardrails));
}

fn dataclean(form: &Form, prefix: &str, stored: Option<&Value>) -> Value {
    let name = |name: &str| format!("{prefix}{name}");
    let mut rules = object(stored.cloned().unwrap_or(Value::Null));
    let custom = pairs(form, &name("custom."), ("name", "regex"));
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
    let allowed = pairs(form, &name("allowed."), ("name", "regex"));
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

/// The policy of a form; null for none.
pub(super) fn policy(form: &Form, base: Option<&Application>) -> Value {
    let mode = form.text("mode");
    if mode == "none" {
        return Value::Null;
    }
    let stored = base.and_then(|base| base.policy.as_ref()?.as_ref().ok());
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
    ];
    for (key, value) in fields {
        policy.insert(key.to_owned(), value);
    }
    Value::Object(policy)
}

/// Rows of two fields each; rows of nothing are left out.
fn pairs(form: &Form, prefix: &str, (first, second): (&str, &str)) -> Vec<Value> {
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

/// Sets a key, unless it is missing and the value is what missing means.
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
    use crate::model::{ApplicationId, Policy};

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
                "guardrails": {"categories": {"injection": 0.5}},
                "custom_policies": [{"name": "loans", "prompt": "No advice\nabout loans."}],
                "encoding": "cl100k_base", "tokens": {"low": 1, "high": 2, "critical": 3}},
            "post": {"dataclean": null, "later_than_us": 7},
        });
        let policy = json!({"app_mode": "sync", "phrase": "No.", "block_on": {"dataclean": false},
            "scan_roles": ["last_user", "tool"], "redact_upstream": true, "local_patterns": ["EMAILS"]});
        for (rules, policy) in [(everything, Some(policy)), (json!({}), None)] {
            let base = application(rules.clone(), policy.clone());
            let form = fields::of(&base);
            assert_eq!(super::rules(&form, rules.clone()), rules);
            let same = super::policy(&form, Some(&base));
            let stored = base.policy.as_ref().map(|policy| policy.clone().unwrap());
            assert_eq!(same, json!(stored));
        }
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
