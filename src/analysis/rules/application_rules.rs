//! An application's rules as stored: one JSON document with a version (CONTRACT 38).
//! [`ApplicationRules::parse`] checks a document strictly before it is stored; a stored one is read
//! leniently, so that a document of another version still works.

use super::direction;
use super::document::{Object, Problems};
use crate::analysis::error::FieldProblem;
use crate::analysis::text_checks::check_no_nul;
use monitor_detect::Rules;
use monitor_model::Stage;
use monitor_store::RetentionLimits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The first part of every field's path.
const ROOT: &str = "rules";
const MOST_DAYS: u64 = 36_500;
const MOST: u64 = i64::MAX as u64;

/// What an application wants done with its messages. Missing keys have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApplicationRules {
    /// Also store the original message, next to its cleaned text.
    pub keep_original: bool,
    /// How long its records are kept, within the retention of the whole store; None: as long as that.
    pub retention: Option<Retention>,
    /// For user messages.
    pub pre: Rules,
    /// For model answers.
    pub post: Rules,
}

/// How long an application's records are kept; None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retention {
    /// Days since a record was received, from 1.
    pub days: Option<u32>,
    /// Records, from 1.
    pub rows: Option<u64>,
    /// Bytes of their texts and lists together, from 1.
    pub bytes: Option<u64>,
}

impl From<Retention> for RetentionLimits {
    fn from(retention: Retention) -> Self {
        Self {
            days: retention.days,
            rows: retention.rows,
            bytes: retention.bytes,
            cost_days: None,
        }
    }
}

impl ApplicationRules {
    /// The rules of one direction.
    pub fn of(&self, stage: Stage) -> &Rules {
        match stage {
            Stage::PreCall => &self.pre,
            Stage::PostCall => &self.post,
        }
    }

    /// Whether it has regexes to compile.
    pub(crate) fn has_regexes(&self) -> bool {
        self.pre.regexes() + self.post.regexes() > 0
    }

    /// A stored document; None where it cannot be read. It may contain fields of a later version, and null
    /// for missing ones.
    pub(crate) fn stored(mut document: Value) -> Option<Self> {
        leave_out_nulls(&mut document);
        serde_json::from_value(document).ok()
    }

    /// Reads and checks a document. Every regex is compiled, which may take some milliseconds each.
    ///
    /// # Errors
    /// Everything that is wrong: unknown fields, shapes, words, limits, regexes.
    pub fn parse(document: &Value) -> Result<Self, Vec<FieldProblem>> {
        let mut problems = Problems::default();
        let rules = read(document, &mut problems);
        for stage in [Stage::PreCall, Stage::PostCall] {
            let path = format!("{ROOT}.{}.dataclean", key(stage));
            if let Some(dataclean) = &rules.of(stage).dataclean {
                direction::check_regexes(&path, dataclean, &mut problems);
            }
        }
        if let Err(problem) = check_no_nul(ROOT, document) {
            problems.add(problem.field, problem.problem);
        }
        problems.or(rules)
    }
}

fn key(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCall => "pre",
        Stage::PostCall => "post",
    }
}

fn read(document: &Value, problems: &mut Problems) -> ApplicationRules {
    let Some(fields) = Object::read(ROOT, document, problems) else {
        return ApplicationRules::default();
    };
    fields.only(&["keep_original", "retention", "pre", "post"], problems);
    let mut rules = |stage| {
        fields
            .object(key(stage), problems)
            .map(|fields| direction::read(&fields, stage, problems))
            .unwrap_or_default()
    };
    let (pre, post) = (rules(Stage::PreCall), rules(Stage::PostCall));
    ApplicationRules {
        keep_original: fields.flag("keep_original", false, problems),
        retention: fields
            .object("retention", problems)
            .map(|fields| retention(&fields, problems)),
        pre,
        post,
    }
}

/// Null counts as missing, except for the stage that is on by default and that null switches off.
fn leave_out_nulls(document: &mut Value) {
    if let Value::Object(fields) = document {
        fields.retain(|key, value| !value.is_null() || key == "dataclean");
        fields.values_mut().for_each(leave_out_nulls);
    }
}

fn retention(fields: &Object<'_>, problems: &mut Problems) -> Retention {
    fields.only(&["days", "rows", "bytes"], problems);
    let days = fields.count("days", 1..=MOST_DAYS, problems);
    Retention {
        days: days.and_then(|days| u32::try_from(days).ok()),
        rows: fields.count("rows", 1..=MOST, problems),
        bytes: fields.count("bytes", 1..=MOST, problems),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(document: &Value) -> Vec<String> {
        let problems = ApplicationRules::parse(document).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn documents_of_the_first_version_stay_readable() {
        for document in [
            json!({}),
            json!({"pre": {"dataclean": {"patterns": ["EMAILS"], "clean_type": "MASKING",
                "mask_style": "label"}, "encoding": "o200k_base"}}),
            json!({"keep_original": true, "post": {"dataclean": null}}),
            json!({"keep_original": null, "retention": null, "pre": null, "post": {
                "custom_policies": null, "guardrails": null, "encoding": null, "tokens": null,
                "dataclean": {"patterns": null, "clean_type": null, "mask_style": null}}}),
        ] {
            let strict = ApplicationRules::parse(&document).unwrap();
            let tolerant = ApplicationRules::stored(document).unwrap();
            assert_eq!(strict, tolerant);
        }
        let later = json!({"pre": {"weather": 1}, "colour": "red"});
        assert!(serde_json::from_value::<ApplicationRules>(later).is_ok());
    }

    #[test]
    fn what_is_written_out_is_read_back() {
        let document = json!({
            "keep_original": false,
            "retention": {"days": 30, "rows": null, "bytes": 1000},
            "pre": {
                "dataclean": {
                    "patterns": ["EMAILS", {"name": "ORDER", "regex": "ORD-\\d{6}"}],
                    "allowed_patterns": [{"name": "ours", "regex": ".+@example\\.org"}],
                    "clean_type": "detection", "mask_style": "X"},
                "guardrails": {"categories": {"prompt_injection": 0.5}},
                "custom_policies": [{"name": "loans", "prompt": "No advice about loans."}],
                "encoding": "cl100k_base", "tokens": {"low": 1, "high": 2, "critical": 3}},
            "post": {"dataclean": null, "custom_policies": []},
        });
        let rules = ApplicationRules::parse(&document).unwrap();
        assert_eq!(rules.post.dataclean, None);
        let written = serde_json::to_value(&rules).unwrap();
        assert_eq!(ApplicationRules::parse(&written).unwrap(), rules);
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once_with_its_path() {
        let document = json!({
            "keep_original": "no", "colour": 1, "retention": {"days": 0},
            "pre": {
                "dataclean": {
                    "patterns": ["EMAILS", "emails", 5, {"name": "A", "regex": "("},
                        {"name": "", "regex": "x*"}, {"name": "B", "regex": "\\w{900}{900}"}],
                    "allowed_patterns": [{"regex": "a"}], "clean_type": "hide"},
                "guardrails": {"categories": {"prompt_injection": 2}},
                "tokens": {"low": 5, "high": 5}},
            "post": {"custom_policies": [{"name": "p", "prompt": "x"}], "encoding": 7},
        });
        let fields: Vec<_> = problems(&document)
            .iter()
            .map(|problem| problem.split(": ").next().unwrap().to_owned())
            .collect();
        for field in [
            "colour",
            "keep_original",
            "retention.days",
            "pre.dataclean.patterns[1]",
            "pre.dataclean.patterns[2]",
            "pre.dataclean.patterns[3].regex",
            "pre.dataclean.patterns[4].name",
            "pre.dataclean.patterns[4].regex",
            "pre.dataclean.patterns[5].regex",
            "pre.dataclean.allowed_patterns[0].name",
            "pre.dataclean.clean_type",
            "pre.guardrails.categories.prompt_injection",
            "pre.tokens.critical",
            "post.custom_policies",
            "post.encoding",
        ] {
            let field = format!("rules.{field}");
            assert!(fields.contains(&field), "{field} in {fields:?}");
        }
        assert_eq!(fields.len(), 15, "{fields:?}");
    }

    #[test]
    fn limits_are_named_with_their_field() {
        let many: Vec<_> = (0..101).map(|_| "EMAILS").collect();
        let document = json!({"pre": {"dataclean": {"patterns": many}},
            "post": {"dataclean": {"patterns": [{"name": "n", "regex": "x".repeat(2001)}]}}});
        assert_eq!(
            problems(&document),
            [
                "rules.pre.dataclean.patterns: has 101 elements; allowed: at most 100",
                "rules.post.dataclean.patterns[0].regex: has 2001 characters; allowed: 1 to 2000"
            ]
        );
        assert_eq!(problems(&json!([])), ["rules: must be an object"]);
    }
}
