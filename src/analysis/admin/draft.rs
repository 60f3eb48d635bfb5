//! Applies an edit to an application, checks the result as a whole and names what changes. No store
//! (CONTRACT 38).

use super::changes::{self, Change};
use crate::analysis::error::{ApiError, FieldProblem};
use crate::analysis::rules::application_rules::ApplicationRules;
use crate::analysis::text_checks::{check_description, check_name, check_no_nul};
use monitor_model::{Policy, PolicyProblems};
use monitor_store::Application;
use serde_json::{Value, json};

/// An edit of one document.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Replaces the document.
    Replace(Value),
    /// Merges into the document: objects key by key; anything else, null included, replaces. Null does not
    /// remove a key as in RFC 7396, because in rules it switches a stage off.
    Merge(Value),
    /// Replaces the document with its default: whoever replaces the whole application left it out.
    Default(Value),
}

/// What is to change; None leaves it unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) rules: Option<Part>,
    pub(crate) policy: Option<Part>,
}

/// The versioned content of an application, checked.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) rules: Value,
    pub(crate) policy: Option<Policy>,
}

impl Edit {
    /// The edit without a policy, where the configuration file has the one that is in force.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if it asks for another policy, or for none.
    pub(crate) fn beside(mut self, in_force: &Policy) -> Result<Self, ApiError> {
        let asked = match self.policy.take() {
            None | Some(Part::Default(_)) => return Ok(self),
            Some(part) => part.over(&json!(in_force)),
        };
        match Policy::from_value(&asked).as_ref() != Ok(in_force) {
            true => Err(ApiError::Conflict(
                "policy: the configuration file (applications) has the policy of this application: change it there",
            )),
            false => Ok(self),
        }
    }

    /// The edit applied to the application, or everything that is wrong with the result.
    pub(crate) fn over(self, base: &Application) -> Result<Content, ApiError> {
        let mut problems = Vec::new();
        let name = self.name.unwrap_or_else(|| base.name.clone());
        let description = self.description.unwrap_or_else(|| base.description.clone());
        problems.extend(check_name(&name).err());
        problems.extend(check_description(&description).err());
        let new_rules = self
            .rules
            .map_or_else(|| base.rules.clone(), |part| part.over(&base.rules));
        problems.extend(
            ApplicationRules::parse(&new_rules)
                .err()
                .unwrap_or_default(),
        );
        let policy = match self.policy {
            Some(part) => read_policy(part.over(&policy_value(base))),
            None => kept_policy(base),
        };
        let policy = policy.unwrap_or_else(|wrong| {
            problems.extend(wrong);
            None
        });
        if !problems.is_empty() {
            return Err(ApiError::Fields(problems));
        }
        Ok(Content {
            name,
            description,
            rules: new_rules,
            policy,
        })
    }
}

impl Content {
    /// What differs from an application, by what is in force.
    pub(crate) fn changes(&self, base: &Application) -> Vec<Change> {
        let before = json!({
            "name": base.name,
            "description": base.description,
            "rules": base.rules,
            "policy": policy_value(base),
        });
        let after = json!({
            "name": self.name,
            "description": self.description,
            "rules": self.rules,
            "policy": self.policy,
        });
        changes::between(&before, &after)
    }
}

impl Part {
    fn over(self, base: &Value) -> Value {
        match self {
            Self::Replace(value) | Self::Default(value) => value,
            Self::Merge(patch) => {
                let mut merged = base.clone();
                merge(&mut merged, patch);
                merged
            }
        }
    }
}

fn merge(base: &mut Value, patch: Value) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, patch) => *base = patch,
    }
}

fn read_policy(document: Value) -> Result<Option<Policy>, Vec<FieldProblem>> {
    if document.is_null() {
        return Ok(None);
    }
    check_no_nul("policy", &document).map_err(|problem| vec![problem])?;
    Policy::from_value(&document)
        .map(Some)
        .map_err(|problems| policy_problems(&problems))
}

/// The policy of an edit that does not name it. A stored policy that cannot be read is
/// not removed silently.
fn kept_policy(base: &Application) -> Result<Option<Policy>, Vec<FieldProblem>> {
    match &base.policy {
        None => Ok(None),
        Some(Ok(policy)) => Ok(Some(policy.clone())),
        Some(Err(problems)) => Err(policy_problems(problems)),
    }
}

/// The problems of a policy, by the fields of its application.
pub(crate) fn policy_problems(problems: &PolicyProblems) -> Vec<FieldProblem> {
    let named = |key: &str| match key {
        "" => "policy".to_owned(),
        key => format!("policy.{key}"),
    };
    problems
        .0
        .iter()
        .map(|problem| FieldProblem::new(named(&problem.key), &problem.text))
        .collect()
}

/// The policy as JSON; null where there is none or it cannot be read.
fn policy_value(application: &Application) -> Value {
    let policy = application.policy.as_ref();
    json!(policy.and_then(|policy| policy.as_ref().ok()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use monitor_model::{AppMode, ApplicationId};

    fn base() -> Application {
        Application {
            id: ApplicationId::random(),
            name: "bot".to_owned(),
            description: String::new(),
            created_at_ms: 0,
            updated_at_ms: 0,
            version: 1,
            rules: json!({"pre": {"dataclean": {"clean_type": "MASKING", "mask_style": "x"}}}),
            policy: Some(Ok(Policy::new(AppMode::Sync, "No."))),
        }
    }

    #[test]
    fn what_is_laid_over_keeps_its_neighbours_and_null_is_a_value() {
        let edit = Edit {
            rules: Some(Part::Merge(json!({
                "pre": {"dataclean": {"clean_type": "DELETION"}}, "post": {"dataclean": null},
            }))),
            policy: Some(Part::Merge(json!({"phrase": "Never."}))),
            ..Edit::default()
        };
        let content = edit.over(&base()).unwrap();
        assert_eq!(
            content.rules,
            json!({
                "pre": {"dataclean": {"clean_type": "DELETION", "mask_style": "x"}},
                "post": {"dataclean": null},
            })
        );
        assert_eq!(content.policy, Some(Policy::new(AppMode::Sync, "Never.")));
        let changes = content.changes(&base());
        let changed: Vec<_> = changes.iter().map(|change| &*change.path).collect();
        let expected = [
            "policy.phrase",
            "rules.post.dataclean",
            "rules.pre.dataclean.clean_type",
        ];
        assert_eq!(changed, expected);
    }

    #[test]
    fn beside_a_policy_of_the_file_an_edit_asks_for_that_one_or_for_nothing() {
        let in_force = Policy::new(AppMode::Sync, "No.");
        let edit = |policy| Edit {
            policy,
            ..Edit::default()
        };
        for same in [
            None,
            Some(Part::Default(Value::Null)),
            Some(Part::Replace(json!(in_force))),
            Some(Part::Merge(json!({"phrase": "No."}))),
        ] {
            let left = edit(same.clone()).beside(&in_force).map(|edit| edit.policy);
            assert!(matches!(left, Ok(None)), "{same:?}");
        }
        for other in [
            Part::Replace(Value::Null),
            Part::Merge(Value::Null),
            Part::Merge(json!({"phrase": "Never."})),
        ] {
            let refused = edit(Some(other.clone())).beside(&in_force);
            assert!(matches!(refused, Err(ApiError::Conflict(_))), "{other:?}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once_and_no_phrase_is_quoted() {
        let edit = Edit {
            name: Some(String::new()),
            description: Some("\0".to_owned()),
            rules: Some(Part::Replace(json!([]))),
            policy: Some(Part::Replace(
                json!({"app_mode": "synk", "phrase": ["hidden"]}),
            )),
        };
        let text = edit.over(&base()).unwrap_err().to_string();
        for part in [
            "name: is empty",
            "description: has",
            "rules: ",
            "policy.app_mode: \"synk\"",
            "policy.phrase: ",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("hidden"), "{text}");
    }

    #[test]
    fn a_policy_that_nobody_can_read_is_not_lost_in_passing() {
        let unreadable = Application {
            policy: Some(Policy::from_json(r#"{"app_mode":"later"}"#)),
            ..base()
        };
        let rename = Edit {
            name: Some("new".to_owned()),
            ..Edit::default()
        };
        let refused = rename.clone().over(&unreadable).unwrap_err().to_string();
        assert!(refused.starts_with("policy.app_mode: "), "{refused}");
        let with_policy = Edit {
            policy: Some(Part::Replace(Value::Null)),
            ..rename
        };
        assert_eq!(with_policy.over(&unreadable).unwrap().policy, None);
    }
}
