//! What is wrong with a configuration and where (§8, CONTRACT 33).

use std::fmt;

/// Where a value came from. The order is the order of a report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The YAML file.
    File {
        /// Its path as given.
        path: String,
        /// Line from 1; None concerns the whole file.
        line: Option<usize>,
    },
    /// An environment variable, by its name.
    Environment(&'static str),
    /// A flag, such as `--listen`.
    CommandLine(&'static str),
    /// Nothing set it.
    Nowhere,
}

/// One thing that is wrong. Its text never quotes a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The origin of the value.
    pub origin: Origin,
    /// The key as `section.key`; empty for a problem of the whole file.
    pub key: String,
    /// What is wrong, then what is allowed.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File { path, line: None } => write!(f, "{path}: ")?,
            Origin::File {
                path,
                line: Some(line),
            } => write!(f, "{path}:{line}: ")?,
            // The operator has to change the variable or the flag, so it is named instead of the key.
            Origin::Environment(name) => return write!(f, "environment: {name}: {}", self.text),
            Origin::CommandLine(flag) => return write!(f, "command line: {flag}: {}", self.text),
            Origin::Nowhere => f.write_str("configuration: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.text)
    }
}

/// Everything that is wrong: at least one problem, in the order of the file, then the environment,
/// then the command line. `Display` gives one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }

    /// The problems, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
