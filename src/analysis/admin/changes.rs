//! What differs between two versions of an application, by what is in force: defaults are filled in, so that a check
//! that is left out (on by default) differs from one that is null (off). No store (CONTRACT 30, 38).

use super::weaker::is_weaker;
use crate::analysis::rules::application_rules::ApplicationRules;
use monitor_detect::guardrails::{Category, DEFAULT_THRESHOLD};
use monitor_detect::rules::GuardrailsRules;
use monitor_model::{Policy, Stage};
use serde_json::{Map, Value, json};

/// Fields of one comparison.
const MOST: usize = 200;
/// Names of changed fields in one entry of the audit log.
const NAMED: usize = 100;

/// A field that differs. Null stands for what one side does not have; a check and a category that is switched
/// off is false.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) before: Value,
    pub(crate) after: Value,
    /// The change weakens protection.
    pub(crate) is_weaker: bool,
}

impl Change {
    /// The new state of a switch; None of a field that is none, or whose other side has no state.
    fn switched(&self) -> Option<bool> {
        match (&self.before, &self.after) {
            (Value::Null, _) | (_, Value::Null) => None,
            (_, Value::Bool(now)) => Some(*now),
            (Value::Bool(false), _) => Some(true),
            _ => None,
        }
    }
}

/// What differs between two documents `{name, description, rules, policy}`, in the order of their keys.
pub(crate) fn between(before: &Value, after: &Value) -> Vec<Change> {
    let mut comparison = Comparison {
        found: Vec::new(),
        has_defaults: true,
        was_off: false,
    };
    match (in_force(before), in_force(after)) {
        (Some(before), Some(after)) if before.is_object() => {
            comparison.compare(&before, &after, "");
        }
        // One of them cannot be read, or is not there any more: both as they are written.
        _ => {
            comparison.has_defaults = false;
            comparison.compare(before, after, "");
        }
    }
    comparison.found
}

/// The details of an entry of the audit log: the given ones and names of fields, never a value.
pub(crate) fn audited(changes: &[Change], mut details: Value) -> Value {
    let is_whole = |change: &&Change| {
        change.path == "policy.app_mode" && (change.before.is_null() || change.after.is_null())
    };
    // A policy that appears or is removed is one change.
    let whole = changes.iter().find(is_whole).map(|_| "policy");
    let mut changed: Vec<&str> = Vec::new();
    for change in changes {
        let of_policy = whole.filter(|_| change.path.starts_with("policy."));
        let name = of_policy.unwrap_or(&change.path);
        if changed.last() != Some(&name) && changed.len() < NAMED {
            changed.push(name);
        }
    }
    let lists = [
        (
            "switched_off",
            named(changes, |it| it.switched() == Some(false)),
        ),
        (
            "switched_on",
            named(changes, |it| it.switched() == Some(true)),
        ),
        ("weakened", named(changes, |it| it.is_weaker)),
    ];
    if let Value::Object(details) = &mut details {
        details.insert("changed".to_owned(), json!(changed));
        for (key, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
            details.insert(key.to_owned(), json!(names));
        }
    }
    details
}

fn named(changes: &[Change], holds: impl Fn(&Change) -> bool) -> Vec<&str> {
    let those = changes.iter().filter(|change| holds(change));
    those.map(|change| &*change.path).take(NAMED).collect()
}

/// A document with its defaults; None where its rules or its policy cannot be read.
fn in_force(content: &Value) -> Option<Value> {
    let mut content = content.clone();
    let Some(fields) = content.as_object_mut() else {
        return Some(content);
    };
    if let Some(rules) = fields.get_mut("rules") {
        *rules = rules_in_force(&ApplicationRules::stored(rules.take())?);
    }
    if let Some(policy) = fields.get_mut("policy").filter(|policy| !policy.is_null()) {
        *policy = policy_in_force(&Policy::from_value(policy).ok()?);
    }
    Some(content)
}

fn rules_in_force(rules: &ApplicationRules) -> Value {
    let mut written = json!(rules);
    for (key, stage) in [("pre", Stage::PreCall), ("post", Stage::PostCall)] {
        let own = rules.of(stage);
        if let Some(guardrails) = &own.guardrails {
            written[key]["guardrails"] = guardrails_in_force(stage, guardrails);
        }
        if own
            .dataclean
            .as_ref()
            .is_some_and(|it| it.patterns.is_none())
        {
            written[key]["dataclean"]["patterns"] = json!("all");
        }
    }
    written
}

/// Every category with its threshold; false where it is switched off.
fn guardrails_in_force(stage: Stage, asked: &GuardrailsRules) -> Value {
    let state = |category: &str| {
        let is_off = asked.disabled.iter().any(|name| name == category);
        let threshold = asked.categories.get(category).copied();
        match is_off {
            true => json!(false),
            false => json!(threshold.unwrap_or(DEFAULT_THRESHOLD)),
        }
    };
    let names = Category::of(stage).map(Category::as_str);
    let categories: Map<String, Value> = names.map(|name| (name.to_owned(), state(name))).collect();
    json!({"categories": categories})
}

/// With the fields that a policy leaves out where they are the default.
fn policy_in_force(policy: &Policy) -> Value {
    let mut written = json!(policy);
    written["block_details"] = json!(policy.block_details);
    written["embeddings"] = json!(policy.embeddings);
    written["check_tool_arguments"] = json!(policy.check_tool_arguments);
    written["local_patterns"] = policy.local_patterns().names().collect();
    written
}

/// The defaults of a check, by its path.
fn default_check(path: &str) -> Value {
    let mut rules = ApplicationRules::default();
    rules.pre.guardrails = Some(GuardrailsRules::default());
    rules.post.guardrails = Some(GuardrailsRules::default());
    let pointer = path.trim_start_matches("rules").replace('.', "/");
    let mut written = rules_in_force(&rules);
    written
        .pointer_mut(&pointer)
        .map(Value::take)
        .unwrap_or_default()
}

/// Whether the field is a check as a whole, which null switches off.
fn is_check(path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    matches!(
        parts.as_slice(),
        ["rules", "pre" | "post", "dataclean" | "guardrails"]
    )
}

struct Comparison {
    found: Vec<Change>,
    /// Both documents have their defaults.
    has_defaults: bool,
    /// The fields are those of a check that was off: none of them weakens what was there.
    was_off: bool,
}

impl Comparison {
    fn compare(&mut self, before: &Value, after: &Value, path: &str) {
        if before == after || self.found.len() >= MOST {
            return;
        }
        if self.has_defaults && is_check(path) && before.is_null() != after.is_null() {
            self.add(path, json!(!before.is_null()), json!(!after.is_null()));
            if before.is_null() {
                self.was_off = true;
                self.compare_fields(&default_check(path), after, path);
                self.was_off = false;
            }
            return;
        }
        self.compare_fields(before, after, path);
    }

    /// Field by field where either is a group, also one that appears or disappears.
    fn compare_fields(&mut self, before: &Value, after: &Value, path: &str) {
        let fields = |value: &Value| match value {
            Value::Object(fields) => Some(fields.clone()),
            Value::Null => Some(Map::new()),
            _ => None,
        };
        let is_group = before.is_object() || after.is_object();
        let groups = fields(before).zip(fields(after));
        let Some((old, new)) = groups.filter(|_| is_group) else {
            return self.add(path, before.clone(), after.clone());
        };
        if old.is_empty() && new.is_empty() {
            return self.add(path, before.clone(), after.clone());
        }
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let inner = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let at = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
            self.compare(&at(&old), &at(&new), &inner);
        }
    }

    fn add(&mut self, path: &str, before: Value, after: Value) {
        if before == after || self.found.len() >= MOST {
            return;
        }
        self.found.push(Change {
            is_weaker: !self.was_off && is_weaker(path, &before, &after),
            path: path.to_owned(),
            before,
            after,
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn paths(changes: &[Change]) -> Vec<&str> {
        changes.iter().map(|change| change.path.as_str()).collect()
    }

    #[test]
    fn a_check_that_is_left_out_is_on_and_null_is_off() {
        let with = |rules: Value| json!({"name": "bot", "rules": rules, "policy": null});
        let (absent, written) = (json!({}), json!({"pre": {"dataclean": {}}}));
        assert!(between(&with(absent.clone()), &with(written)).is_empty());
        let off = json!({"pre": {"dataclean": null}});
        let changes = between(&with(absent.clone()), &with(off.clone()));
        assert_eq!(paths(&changes), ["rules.pre.dataclean"]);
        assert_eq!(
            (&changes[0].before, &changes[0].after),
            (&json!(true), &json!(false))
        );
        assert!(changes[0].is_weaker);
        let details = audited(&changes, json!({"version_to": 2}));
        let names = json!(["rules.pre.dataclean"]);
        assert_eq!(
            details,
            json!({"version_to": 2, "changed": names, "switched_off": names, "weakened": names})
        );
        let on = json!({"pre": {"dataclean": {"clean_type": "DETECTION"}}});
        let changes = between(&with(off), &with(on));
        let expected = ["rules.pre.dataclean", "rules.pre.dataclean.clean_type"];
        assert_eq!(paths(&changes), expected);
        assert_eq!(changes[0].switched(), Some(true));
        assert!(changes.iter().all(|change| !change.is_weaker));
    }

    #[test]
    fn a_category_has_its_default_threshold_unless_it_is_off() {
        let with = |guardrails: Value| json!({"rules": {"pre": {"guardrails": guardrails}}});
        let default = with(json!({"categories": {"jailbreak": DEFAULT_THRESHOLD}}));
        assert!(between(&with(json!({})), &default).is_empty());
        let off = with(json!({"disabled": ["jailbreak"], "categories": {"hate": 0.9}}));
        let changes = between(&default, &off);
        let expected = [
            "rules.pre.guardrails.categories.hate",
            "rules.pre.guardrails.categories.jailbreak",
        ];
        assert_eq!(paths(&changes), expected);
        assert!(changes.iter().all(|change| change.is_weaker));
        assert_eq!(changes[1].switched(), Some(false));
        assert!(
            between(&off, &default)
                .iter()
                .all(|change| !change.is_weaker)
        );
    }

    #[test]
    fn a_policy_that_appears_is_one_change_and_is_shown_field_by_field() {
        let none = json!({"rules": {}, "policy": null});
        let some = json!({"rules": {}, "policy": {"app_mode": "sync", "phrase": "No."}});
        let changes = between(&none, &some);
        assert!(paths(&changes).contains(&"policy.block_on.dataclean"));
        let details = audited(&changes, json!({}));
        assert_eq!(details, json!({"changed": ["policy"]}));
        let details = audited(&between(&some, &none), json!({}));
        assert_eq!(
            details,
            json!({"changed": ["policy"], "weakened": ["policy.app_mode"]})
        );
    }

    #[test]
    fn what_cannot_be_read_is_compared_as_it_is_written() {
        let with = |mode: &str| json!({"rules": {}, "policy": {"app_mode": mode}});
        let changes = between(&with("later"), &with("latest"));
        assert_eq!(paths(&changes), ["policy.app_mode"]);
        assert_eq!(changes[0].before, "later");
    }
}
