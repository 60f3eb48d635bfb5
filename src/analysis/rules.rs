//! An application's rules as the store keeps them: one JSON document with a version (CONTRACT 38).

use super::error::FieldProblem;
use crate::detect::Rules;
use crate::model::Stage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an application wants done with its messages. Missing keys have their defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ApplicationRules {
    /// Also keep the message as it came, beside its cleaned text.
    pub keep_original: bool,
    /// For user messages.
    pub pre: Rules,
    /// For model answers.
    pub post: Rules,
}

impl ApplicationRules {
    /// The detection's rules of one direction.
    pub fn of(&self, stage: Stage) -> &Rules {
        match stage {
            Stage::PreCall => &self.pre,
            Stage::PostCall => &self.post,
        }
    }
}

/// What is wrong with a set of rules as a document.
pub(super) fn problems(document: &Value) -> Vec<FieldProblem> {
    match (document, ApplicationRules::deserialize(document)) {
        (Value::Object(_), Ok(_)) => Vec::new(),
        (Value::Object(_), Err(error)) => vec![FieldProblem::new("rules", error.to_string())],
        _ => vec![FieldProblem::new("rules", "must be an object")],
    }
}
