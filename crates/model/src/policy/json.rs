//! A policy out of a JSON value: every problem at once, each with its field. The configuration's YAML
//! comes this way too, so that a file and a store accept the same (CONTRACT 34). What fields must not
//! say together stands in the module above.

use super::problem::{PolicyProblem, PolicyProblems};
use super::words::{
    AppMode, BlockDetails, Embeddings, OnBackendFailure, ScanRole, StreamInSync, Word,
};
use super::{BlockOn, Policy};
use super::{budgets, call_limits};
use crate::patterns::{LOCAL_PATTERNS, pattern_names};
use serde_json::{Map, Value};

/// Longest word that a problem quotes: what is longer was not meant as a word.
const LONGEST_QUOTED: usize = 40;

impl Policy {
    /// Reads and checks a policy. Fields that are absent or null have their defaults; only
    /// `app_mode` is required.
    ///
    /// # Errors
    /// Everything that is wrong: unknown fields, shapes, words, and what [`Policy::check`] refuses.
    pub fn from_value(value: &Value) -> Result<Self, PolicyProblems> {
        read(value)
    }

    /// [`Policy::from_value`] of a JSON text.
    ///
    /// # Errors
    /// As there, and for a text that is not JSON.
    pub fn from_json(text: &str) -> Result<Self, PolicyProblems> {
        match serde_json::from_str(text) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Err(PolicyProblem::new("", "is not JSON").into()),
        }
    }
}

impl TryFrom<Value> for Policy {
    type Error = PolicyProblems;
    fn try_from(value: Value) -> Result<Self, Self::Error> {
        Self::from_value(&value)
    }
}

fn read(value: &Value) -> Result<Policy, PolicyProblems> {
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
    let mut policy = policy(&mut fields);
    let limits = fields.ask("limits").map(call_limits::read);
    let budgets = fields.ask("budgets").map(budgets::read);
    let mut problems = fields.finish();
    match limits {
        Some(Ok(limits)) => policy.limits = limits,
        Some(Err(found)) => problems.extend(found),
        None => {}
    }
    match budgets {
        Some(Ok(budgets)) => policy.budgets = budgets,
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

/// Every field but the limits and budgets, which are read by themselves.
fn policy(fields: &mut Fields<'_>) -> Policy {
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
    let block_details = fields.word("block_details");
    policy.block_details = block_details.unwrap_or(BlockDetails::Metadata);
    let embeddings = fields.word("embeddings");
    policy.embeddings = embeddings.unwrap_or(Embeddings::Off);
    policy.check_tool_arguments = fields.flag("check_tool_arguments").unwrap_or(true);
    let patterns = fields.list("local_patterns", local_pattern, |name| name);
    policy.local_patterns = patterns.map(|names| names.into_iter().collect());
    policy
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
                    self.refuse(&name, format!("lists {} twice", word(new)));
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
    let elsewhere = pattern_names().find(|name| value == *name);
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
            _ => "has an unknown value".to_owned(),
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
mod tests;
