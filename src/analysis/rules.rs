//! An application's rules as the store keeps them: one JSON document with a version (CONTRACT 38).

use crate::detect::Rules;
use crate::model::Stage;
use serde::{Deserialize, Serialize};

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
