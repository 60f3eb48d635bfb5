//! A policy out of a JSON value: every problem at once, each with its field. The configuration's YAML
//! comes this way too, so that a file and a store accept the same (CONTRACT 34). What fields must not
//! say together stands in `policy`.

use super::call_limits;
use super::patterns::{LOCAL_PATTERNS, PATTERN_NAMES};
use super::policy::{
    AppMode, BlockOn, OnBackendFailure, Policy, PolicyProblem, PolicyProblems, ScanRole,
    StreamInSync,
};
use serde_json::{Map, Value};

/// An enum that is written as one of a few words.
pub(super) trait Word: Copy + 'static {
    const ALL: &'static [Self];
    fn word(self) -> &'static str;
}

/// Longest word that a problem quotes: what is longer was not meant as a word.
const LONGEST_QUOTED: usize = 40;

pub(super) fn read(value: &Value) -> Result<Policy, PolicyProblems> {
    let Value::Object(map) = value else {
        let text = format!("is {}; allowed: a group of fields", shape(value));
        return Err(PolicyProblem::new("", text).into());
    };
    let mut fields = Fields {
        map,
        prefix: "",
        known: Vec::new(),
        problems: Vec::new(),
    };
    let app_mode = fields.word::<AppMode>("app_mode");
    if fields.get("app_mode").is_none() {
        fields.refuse("app_mode", "is not set; allowed: sync, async");
    }
    let mut policy = Policy::new(app_mode.unwrap_or(AppMode::Async), "");
    policy.phrase = fields.text("phrase").unwrap_or_default();
    if let Some(block_on) = fields.group("block_on", block_on) {
        policy.block_on = block_on;
    }
    let on_backend_failure = fields.word("on_backend_failure");
    policy.on_backend_failure = on_backend_failure.unwrap_or(OnBackendFailure::Open);
    policy.replace_response = fields.flag("replace_response").unwrap_or(false);
    if let Some(roles) = fields.list("scan_roles", word::<ScanRole>, Word::word) {
        policy.scan_roles = roles;
    }
    let stream_in_sync = fields.word("stream_in_sync");
    policy.stream_in_sync = stream_in_sync.unwrap_or(StreamInSync::Off);
    policy.redact_upstream = fields.flag("redact_upstream").unwrap_or(false);
    let patterns = fields.list("local_patterns", local_pattern, |name| name);
    policy.local_patterns = patterns.map(|names| names.into_iter().collect());
    let limits = fields.ask("limits").map(call_limits::read);
    let mut problems = fields.finish();
    match limits {
        Some(Ok(limits)) => policy.limits = limits,
        Some(Err(found)) => problems.extend(found),
        None => {}
    }
    // Beside an unreadable field, what contradicts it can only be guessed.
    if problems.is_empty() {
        problems = policy.check().err().unwrap_or_default();
    }
    match problems.is_empty() {
        true => Ok(policy),
        false => Err(PolicyProblems(problems)),
    }
}

fn block_on(fields: &mut Fields<'_>) -> BlockOn {
    BlockOn {
        guardrails: fields.flag("guardrails").unwrap_or(true),
        custom_policy: fields.flag("custom_policy").unwrap_or(true),
        dataclean: fields.flag("dataclean").unwrap_or(true),
    }
}

/// One group of fields: what was asked for is known, the rest is refused at the end.
struct Fields<'v> {
    map: &'v Map<String, Value>,
    prefix: &'static str,
    known: Vec<&'static str>,
    problems: Vec<PolicyProblem>,
}

impl<'v> Fields<'v> {
    /// A field's value, unless it is null.
    fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn ask(&mut self, key: &'static str) -> Option<&'v Value> {
        self.known.push(key);
        self.get(key)
    }

    fn word<T: Word>(&mut self, key: &'static str) -> Option<T> {
        let value = self.ask(key)?;
        self.accept(key, word(value))
    }

    fn flag(&mut self, key: &'static str) -> Option<bool> {
        let value = self.ask(key)?;
        let flag = value.as_bool();
        self.accept(key, flag.ok_or_else(|| wrong(value, "true or false")))
    }

    fn text(&mut self, key: &'static str) -> Option<String> {
        let value = self.ask(key)?;
        let text = value.as_str().map(str::to_owned);
        self.accept(key, text.ok_or_else(|| wrong(value, "text")))
    }

    fn group<T>(
        &mut self,
        key: &'static str,
        take: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        let value = self.ask(key)?;
        let Value::Object(map) = value else {
            return self.accept(key, Err(wrong(value, "a group of fields")));
        };
        let mut inner = Fields {
            map,
            prefix: key,
            known: Vec::new(),
            problems: Vec::new(),
        };
        let taken = take(&mut inner);
        self.problems.extend(inner.finish());
        Some(taken)
    }

    /// A list of words, none twice.
    fn list<T: Copy>(
        &mut self,
        key: &'static str,
        read: fn(&Value) -> Result<T, String>,
        word: fn(T) -> &'static str,
    ) -> Option<Vec<T>> {
        let value = self.ask(key)?;
        let Value::Array(items) = value else {
            return self.accept(key, Err(wrong(value, "a list of words")));
        };
        let mut found: Vec<T> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let name = format!("{key}[{index}]");
            match read(item) {
                Ok(new) if found.iter().any(|old| word(*old) == word(new)) => {
                    self.refuse(&name, format!("names {} again", word(new)));
                }
                Ok(new) => found.push(new),
                Err(text) => self.refuse(&name, text),
            }
        }
        Some(found)
    }

    fn accept<T>(&mut self, key: &str, found: Result<T, String>) -> Option<T> {
        found.map_err(|text| self.refuse(key, text)).ok()
    }

    fn refuse(&mut self, key: &str, text: impl Into<String>) {
        let dot = if self.prefix.is_empty() { "" } else { "." };
        let key = format!("{}{dot}{key}", self.prefix);
        self.problems.push(PolicyProblem::new(key, text));
    }

    fn finish(mut self) -> Vec<PolicyProblem> {
        for key in self.map.keys() {
            if !self.known.contains(&key.as_str()) {
                let allowed = self.known.join(", ");
                let key: String = key.chars().take(LONGEST_QUOTED).collect();
                self.refuse(&key, format!("is an unknown field; allowed: {allowed}"));
            }
        }
        self.problems
    }
}

fn word<T: Word>(value: &Value) -> Result<T, String> {
    let words: Vec<&str> = T::ALL.iter().map(|known| known.word()).collect();
    let found = one_of(value, &words)?;
    // What is among the words has a place there.
    let known = T::ALL.iter().find(|known| known.word() == found);
    known
        .copied()
        .ok_or_else(|| wrong(value, &words.join(", ")))
}

fn local_pattern(value: &Value) -> Result<&'static str, String> {
    let elsewhere = PATTERN_NAMES.iter().find(|name| value == **name);
    match elsewhere.filter(|name| !LOCAL_PATTERNS.contains(name)) {
        Some(name) => Err(format!(
            "\"{name}\" is found by the backend only; allowed: {}",
            LOCAL_PATTERNS.join(", ")
        )),
        None => one_of(value, LOCAL_PATTERNS),
    }
}

fn one_of<'w>(value: &Value, words: &[&'w str]) -> Result<&'w str, String> {
    let Some(text) = value.as_str() else {
        return Err(wrong(value, &words.join(", ")));
    };
    let found = words.iter().find(|word| **word == text).copied();
    found.ok_or_else(|| {
        let quoted = match text.len() {
            0..=LONGEST_QUOTED => format!("{text:?} is unknown"),
            _ => "is no word".to_owned(),
        };
        format!("{quoted}; allowed: {}", words.join(", "))
    })
}

fn wrong(value: &Value, allowed: &str) -> String {
    format!("is {}; allowed: {allowed}", shape(value))
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a group of fields",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::model::PatternSet;
    use serde_json::json;

    fn problems(value: Value) -> Vec<String> {
        match Policy::from_value(&value) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn what_is_left_out_or_null_has_the_defaults_of_contract_34() {
        let short = Policy::from_value(&json!({"app_mode": "sync", "phrase": "No."})).unwrap();
        let long = json!({
            "app_mode": "sync", "phrase": "No.", "on_backend_failure": "open",
            "block_on": {"guardrails": true, "custom_policy": true, "dataclean": true},
            "replace_response": false, "scan_roles": ["last_user"], "stream_in_sync": "off",
            "redact_upstream": false, "local_patterns": null,
        });
        assert_eq!(json!(short), long);
        assert_eq!(Policy::from_value(&long).unwrap(), short);
        assert_eq!(Policy::from_json(&short.to_json()).unwrap(), short);
        let nulls =
            json!({"app_mode": "sync", "phrase": "No.", "block_on": null, "scan_roles": null});
        assert_eq!(Policy::from_value(&nulls).unwrap(), short);
    }

    #[test]
    fn every_field_is_read() {
        let value = json!({
            "app_mode": "sync", "phrase": "Nein.", "on_backend_failure": "closed",
            "block_on": {"guardrails": false, "custom_policy": true, "dataclean": false},
            "replace_response": true, "stream_in_sync": "off", "redact_upstream": true,
            "scan_roles": ["all_user", "system", "assistant", "tool"],
            "local_patterns": ["EMAILS", "IP"],
        });
        let policy = Policy::from_value(&value).unwrap();
        assert_eq!(json!(policy), value);
        assert_eq!(policy.local_patterns().names().count(), 2);
        assert_eq!(
            Policy::new(policy.app_mode, "").local_patterns(),
            PatternSet::local()
        );
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once_and_no_phrase_is_quoted() {
        let found = problems(json!({
            "app_mode": "synk", "phrase": ["hidden"], "colour": 1, "replace_response": "yes",
            "block_on": {"guardrails": 1, "regex": true}, "scan_roles": ["user", "tool", "tool"],
            "stream_in_sync": "hidden ".repeat(9), "local_patterns": ["EMAIL", "DIAGNOSIS", "IP", "IP", 7],
        }));
        let expected = [
            "app_mode \"synk\" is unknown; allowed: sync, async",
            "phrase is a list; allowed: text",
            "block_on.guardrails is a number; allowed: true or false",
            "block_on.regex is an unknown field; allowed: guardrails, custom_policy, dataclean",
            "replace_response is text; allowed: true or false",
            "scan_roles[0] \"user\" is unknown; allowed: last_user, all_user,",
            "scan_roles[2] names tool again",
            "stream_in_sync is no word; allowed: off, hold_back",
            "local_patterns[0] \"EMAIL\" is unknown; allowed: BANK_CARD_NUMBER, CVC,",
            "local_patterns[1] \"DIAGNOSIS\" is found by the backend only; allowed: BANK_CARD_NUMBER,",
            "local_patterns[3] names IP again",
            "local_patterns[4] is a number; allowed: BANK_CARD_NUMBER,",
            "colour is an unknown field; allowed: app_mode, phrase,",
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found.starts_with(expected),
                "{found}\ninstead of\n{expected}"
            );
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (value, key) in [
            (json!({}), "app_mode is not set"),
            (json!({"app_mode": "sync"}), "phrase is not set"),
            (
                json!({"app_mode": "sync", "phrase": " \u{a0}\u{3000}\n"}),
                "phrase is not set",
            ),
            (
                json!({"app_mode": "async", "phrase": "x".repeat(10_001)}),
                "phrase is too long",
            ),
            (
                json!({"app_mode": "async", "scan_roles": []}),
                "scan_roles is an empty list",
            ),
            (
                json!({"app_mode": "async", "replace_response": true}),
                "replace_response needs",
            ),
            (
                json!({"app_mode": "async", "stream_in_sync": "hold_back"}),
                "stream_in_sync hold_back needs app_mode sync",
            ),
            (
                json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "hold_back", "redact_upstream": true}),
                "stream_in_sync hold_back cannot go with redact_upstream",
            ),
            (
                json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "hold_back", "replace_response": true}),
                "stream_in_sync hold_back cannot go with replace_response",
            ),
            (
                json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "hold_back", "block_on": {"dataclean": false}}),
                "stream_in_sync hold_back needs block_on.dataclean",
            ),
            (
                json!({"app_mode": "async", "local_patterns": ["IP"]}),
                "local_patterns needs stream_in_sync hold_back or redact_upstream true",
            ),
            (
                json!({"app_mode": "async", "redact_upstream": true, "local_patterns": []}),
                "local_patterns is an empty list",
            ),
            (
                json!({"app_mode": "async", "on_backend_failure": "closed"}),
                "on_backend_failure closed",
            ),
            (json!([]), "policy is a list"),
            (json!(null), "policy is empty"),
        ] {
            let found = problems(value.clone());
            assert_eq!(found.len(), 1, "{value}: {found:?}");
            assert!(found[0].starts_with(key), "{value}: {found:?}");
        }
    }

    #[test]
    fn what_can_be_meant_is_accepted() {
        assert!(problems(json!({"app_mode": "async"})).is_empty());
        assert!(problems(json!({"app_mode": "async", "redact_upstream": true})).is_empty());
        let held = json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "hold_back", "local_patterns": ["INN"]});
        assert!(problems(held).is_empty());
        let longest = "й".repeat(10_000);
        assert!(problems(json!({"app_mode": "sync", "phrase": longest})).is_empty());
        assert!(Policy::from_json("{").is_err());
    }

    #[test]
    fn reading_by_serde_is_the_same_reading() {
        let error = serde_json::from_value::<Policy>(json!({"app_mode": "sync"})).unwrap_err();
        assert!(error.to_string().contains("phrase is not set"), "{error}");
        assert!(serde_json::from_value::<Policy>(json!({"app_mode": "async"})).is_ok());
    }
}
