//! Loads the configuration that a command names: the file, the environment, and what was typed.

use crate::config::{self, Overrides, Problems, Role, Settings, env};
use clap::ValueEnum;
use std::path::PathBuf;

pub(super) fn load(
    role: Role,
    file: Option<PathBuf>,
    overrides: &Overrides,
) -> Result<Settings, Problems> {
    config::load(role, file.as_deref(), overrides, &variable)
}

/// The data folder alone; the rest of the configuration is not checked.
pub(super) fn data_dir(file: Option<PathBuf>, overrides: &Overrides) -> Result<PathBuf, Problems> {
    config::data_dir(file.as_deref(), overrides, &variable)
}

/// A value that is no UTF-8 is kept in a readable form, so that its check fails instead of being skipped
/// as if it were not set.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// What to say about variables that look like those of the program and are none.
pub(super) fn variable_warnings() -> Vec<String> {
    let given = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    let given: Vec<(String, String)> = given.collect();
    let given = given.iter().map(|(name, value)| (&**name, &**value));
    let mistyped = env::mistyped(given).into_iter();
    let said = mistyped.map(|(name, meant)| match meant {
        Some(meant) => format!(
            "environment: {name} is unknown and has no effect; did you mean {}?",
            meant.name
        ),
        None => format!(
            "environment: {name} is unknown and has no effect; `monitor --help` lists the variables"
        ),
    });
    said.collect()
}

/// `--config`, else MONITOR_CONFIG.
pub(super) fn file_or_variable(flag: Option<PathBuf>) -> Option<PathBuf> {
    let variable = || std::env::var_os("MONITOR_CONFIG").filter(|value| !value.is_empty());
    flag.or_else(|| variable().map(PathBuf::from))
}

/// A [`Role`] as a value of `--role`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum RoleArg {
    /// For `monitor all`.
    All,
    /// For `monitor gateway`.
    Gateway,
    /// For `monitor analysis`.
    Analysis,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::All => Self::All,
            RoleArg::Gateway => Self::Gateway,
            RoleArg::Analysis => Self::Analysis,
        }
    }
}
