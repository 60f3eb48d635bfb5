//! The problems of a policy, each with the field it is about.

use std::fmt;

/// One thing that is wrong with a policy. Its text quotes nothing but short words, never a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The field, such as `block_on.dataclean` or `scan_roles[1]`; empty for the whole policy.
    pub key: String,
    /// What is wrong, then what is allowed.
    pub text: String,
}

/// Everything that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblems(pub Vec<PolicyProblem>);

impl PolicyProblem {
    /// A problem of one field.
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            text: text.into(),
        }
    }
}

impl From<PolicyProblem> for PolicyProblems {
    fn from(problem: PolicyProblem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.key.is_empty() {
            "policy"
        } else {
            &self.key
        };
        write!(f, "{name} {}", self.text)
    }
}

impl fmt::Display for PolicyProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyProblems {}
