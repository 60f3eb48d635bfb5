//! The strict check of the rules of one direction (CONTRACT 27, 38), for an application's document and for
//! rules that come with a request.

use super::document::{Element, Object, Problems};
use monitor_detect::guardrails::Category;
use monitor_detect::rules::{
    CustomPattern, CustomPolicy, GuardrailsRules, LONGEST_NAME, LONGEST_PROMPT, LONGEST_REGEX,
    MOST_CATEGORIES, MOST_PATTERNS, MOST_POLICIES, Pattern, TokenThresholds,
};
use monitor_detect::{Compiled, DatacleanRules, PatternName, Rules};
use monitor_model::Stage;
use serde_json::Value;

const KEYS: [&str; 5] = [
    "dataclean",
    "guardrails",
    "custom_policies",
    "encoding",
    "tokens",
];

/// One direction of an application's document. Wrong fields get their defaults.
pub(crate) fn read(fields: &Object<'_>, stage: Stage, problems: &mut Problems) -> Rules {
    fields.only(&KEYS, problems);
    let dataclean = match fields.raw("dataclean") {
        None => Some(DatacleanRules::default()),
        Some(_) => fields
            .object("dataclean", problems)
            .map(|fields| dataclean(&fields, problems)),
    };
    let custom_policies = policies(fields, "custom_policies", problems);
    if stage == Stage::PostCall && !custom_policies.is_empty() {
        let text = "are for user messages only (§4.3); allowed: an empty list";
        problems.add(fields.path("custom_policies"), text);
    }
    Rules {
        dataclean,
        guardrails: fields
            .object("guardrails", problems)
            .map(|fields| guardrails(&fields, problems)),
        custom_policies,
        encoding: fields.word("encoding", problems),
        tokens: fields
            .object("tokens", problems)
            .and_then(|fields| thresholds(&fields, problems)),
    }
}

fn dataclean(fields: &Object<'_>, problems: &mut Problems) -> DatacleanRules {
    fields.only(
        &["patterns", "allowed_patterns", "clean_type", "mask_style"],
        problems,
    );
    dataclean_fields(fields, problems)
}

/// The fields of a dataclean section, whatever other fields it has.
pub(crate) fn dataclean_fields(fields: &Object<'_>, problems: &mut Problems) -> DatacleanRules {
    let elements = fields.list("patterns", MOST_PATTERNS, problems);
    let patterns = elements.map(|elements| {
        elements
            .into_iter()
            .map(|element| pattern(element, problems))
            .collect()
    });
    let elements = fields.list("allowed_patterns", MOST_PATTERNS, problems);
    DatacleanRules {
        patterns,
        allowed_patterns: elements
            .unwrap_or_default()
            .into_iter()
            .map(|element| custom_pattern(element, problems))
            .collect(),
        clean_type: fields.word("clean_type", problems),
        mask_style: fields.word("mask_style", problems),
    }
}

/// A wrong element leaves a placeholder, so that the others keep their numbers.
fn pattern(Element { path, value }: Element<'_>, problems: &mut Problems) -> Pattern {
    let problem = match value {
        Value::String(name) => match name.parse::<PatternName>() {
            Ok(name) => return name.into(),
            Err(error) => error.to_string(),
        },
        Value::Object(_) => {
            return Pattern::Custom(custom_pattern(Element { path, value }, problems));
        }
        _ => "must be a pattern's name or an object {name, regex}".to_owned(),
    };
    problems.add(path, problem);
    PatternName::Emails.into()
}

fn custom_pattern(Element { path, value }: Element<'_>, problems: &mut Problems) -> CustomPattern {
    let mut pattern = CustomPattern {
        name: String::new(),
        regex: String::new(),
    };
    let Some(fields) = Object::read(path, value, problems) else {
        return pattern;
    };
    fields.only(&["name", "regex"], problems);
    if let Some(name) = name(&fields, problems) {
        name.clone_into(&mut pattern.name);
    }
    if let Some(regex) = fields.text("regex", LONGEST_REGEX, problems) {
        regex.clone_into(&mut pattern.regex);
    }
    pattern
}

/// A name appears in masks and lists, so that control characters are not allowed.
fn name<'v>(fields: &Object<'v>, problems: &mut Problems) -> Option<&'v str> {
    let name = fields.text("name", LONGEST_NAME, problems)?;
    if name.trim() != name || name.chars().any(char::is_control) {
        let text = "must not contain control characters, or spaces at its ends";
        problems.add(fields.path("name"), text);
        return None;
    }
    Some(name)
}

/// A list of custom policies.
pub(crate) fn policies(
    fields: &Object<'_>,
    key: &str,
    problems: &mut Problems,
) -> Vec<CustomPolicy> {
    let elements = fields.list(key, MOST_POLICIES, problems);
    let mut policies = Vec::new();
    for Element { path, value } in elements.unwrap_or_default() {
        let Some(fields) = Object::read(path, value, problems) else {
            continue;
        };
        fields.only(&["name", "prompt"], problems);
        let name = name(&fields, problems);
        let prompt = fields.text("prompt", LONGEST_PROMPT, problems);
        if let (Some(name), Some(prompt)) = (name, prompt) {
            policies.push(CustomPolicy {
                name: name.to_owned(),
                prompt: prompt.to_owned(),
            });
        }
    }
    policies
}

fn guardrails(fields: &Object<'_>, problems: &mut Problems) -> GuardrailsRules {
    fields.only(&["categories", "disabled"], problems);
    guardrails_fields(fields, problems)
}

/// The fields of a guardrails section, whatever other fields it has.
pub(crate) fn guardrails_fields(fields: &Object<'_>, problems: &mut Problems) -> GuardrailsRules {
    let mut rules = GuardrailsRules::default();
    let disabled = fields.list("disabled", MOST_CATEGORIES, problems);
    for Element { path, value } in disabled.unwrap_or_default() {
        match value.as_str() {
            Some(name) => rules.disabled.extend(category(path, name, problems)),
            None => problems.add(path, "must be a category's name"),
        }
    }
    let Some(categories) = fields.object("categories", problems) else {
        return rules;
    };
    if categories.all().count() > MOST_CATEGORIES {
        let text = format!("allowed: at most {MOST_CATEGORIES} categories");
        problems.add(fields.path("categories"), text);
        return rules;
    }
    for (name, threshold) in categories.all() {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        let path = categories.path(&shown);
        let score = threshold
            .as_f64()
            .filter(|score| (0.0..=1.0).contains(score));
        if score.is_none() {
            problems.add(path.clone(), "must be a number from 0 to 1");
        }
        let known = category(path, name, problems);
        rules.categories.extend(known.zip(score));
    }
    rules
}

/// The name of a category in rules. A category of the other direction has no effect.
fn category(path: String, name: &str, problems: &mut Problems) -> Option<String> {
    match name.parse::<Category>() {
        Ok(category) => Some(category.as_str().to_owned()),
        Err(error) => {
            problems.add(path, error.to_string());
            None
        }
    }
}

fn thresholds(fields: &Object<'_>, problems: &mut Problems) -> Option<TokenThresholds> {
    const MOST: u64 = i64::MAX as u64;
    fields.only(&["low", "high", "critical"], problems);
    let mut count = |key| {
        if fields.get(key).is_none() {
            problems.add(fields.path(key), "missing");
        }
        fields.count(key, 1..=MOST, problems)
    };
    let (low, high, critical) = (count("low"), count("high"), count("critical"));
    let (low, high, critical) = (low?, high?, critical?);
    if low >= high || high >= critical {
        problems.add(fields.path("low"), "must be low < high < critical");
        return None;
    }
    Some(TokenThresholds {
        low,
        high,
        critical,
    })
}

/// Compiles every regex of a dataclean section at `path`.
pub(crate) fn check_regexes(path: &str, rules: &DatacleanRules, problems: &mut Problems) {
    let rules = Rules {
        dataclean: Some(rules.clone()),
        ..Rules::default()
    };
    for failure in Compiled::new(rules).failures() {
        problems.add(format!("{path}.{}", failure.place), &*failure.reason);
    }
}
