//! `monitor reload` and `monitor upgrade` as they reach the running process.

use super::handover::{BY_HAND, READY, patience};
use super::line;
use crate::config::Role;
use anyhow::{Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where processes of one data folder and role find each other.
pub(crate) fn socket_path(data_dir: &Path, role: Role) -> PathBuf {
    let name = match role {
        Role::All => "control.sock",
        Role::Gateway => "control-gateway.sock",
        Role::Analysis => "control-analysis.sock",
    };
    data_dir.join(name)
}

/// Has the running process of this data folder start its successor; says which.
///
/// # Errors
/// When none runs, or the successor did not become ready: then the running one goes on.
pub fn order_upgrade(data_dir: &Path, role: Role) -> Result<String> {
    let limit = patience(role) + BY_HAND;
    order(&socket_path(data_dir, role), "upgrade", limit)
}

/// Has the running process of this data folder read its configuration again; says what took effect.
///
/// # Errors
/// When none runs, or the configuration is wrong: then the running one stays in force.
pub fn order_reload(data_dir: &Path, role: Role) -> Result<String> {
    order(&socket_path(data_dir, role), "reload", READY)
}

/// Sends one order and gives the answer.
///
/// # Errors
/// When no process takes orders there, or it says that it failed.
fn order(path: &Path, order: &str, limit: Duration) -> Result<String> {
    let mut stream = line::connect(path)?;
    writeln!(stream, "{order}")?;
    let answer = line::read_line(&mut stream, limit)?;
    match answer.strip_prefix("ok: ") {
        Some(said) => Ok(said.to_owned()),
        None => bail!("{}", answer.strip_prefix("failed: ").unwrap_or(&answer)),
    }
}
