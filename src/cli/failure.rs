//! Why a command failed, and its exit code.

use crate::config::Problems;
use std::fmt;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The configuration is wrong; nothing was started.
    Configuration(Problems),
    /// The command failed while it ran.
    Runtime(anyhow::Error),
    /// A scan with `--fail` found this many places with sensitive data.
    Found(u64),
}

impl Failure {
    /// 2 for the configuration, as for wrong usage; 3 for findings of a scan; 1 for everything else.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Configuration(_) => ExitCode::from(2),
            Self::Runtime(_) => ExitCode::from(1),
            Self::Found(_) => ExitCode::from(3),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(problems) => problems.fmt(f),
            Self::Runtime(error) => write!(f, "monitor: {error:#}"),
            Self::Found(count) => write!(f, "monitor: sensitive data in {count} places"),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Configuration(problems)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Runtime(error)
    }
}
