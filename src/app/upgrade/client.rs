//! The commands of `monitor reload` and `monitor upgrade` to the running process.

use super::handover::{BY_HAND, READY, patience};
use super::line;
use crate::config::Role;
use anyhow::{Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a running process may take to say that it runs.
const PING: Duration = Duration::from_secs(5);

/// Where processes of one data folder and role find each other.
pub(crate) fn socket_path(data_dir: &Path, role: Role) -> PathBuf {
    let name = match role {
        Role::All => "control.sock",
        Role::Gateway => "control-gateway.sock",
        Role::Analysis => "control-analysis.sock",
    };
    data_dir.join(name)
}

/// The role of the process that runs with this data folder.
///
/// # Errors
/// When none runs, or several do; the text names them.
pub fn running_role(data_dir: &Path) -> Result<Role> {
    let roles = [Role::All, Role::Gateway, Role::Analysis];
    // A connection without a command would be an error in the log of the other process.
    let is_running = |role: &Role| order(&socket_path(data_dir, *role), "ping", PING).is_ok();
    let running: Vec<Role> = roles.into_iter().filter(is_running).collect();
    let folder = data_dir.display();
    match running[..] {
        [role] => Ok(role),
        [] => bail!(
            "no running monitor found for this data folder (no control socket at {folder}/control*.sock); \
             name its folder with --data-dir or --config"
        ),
        _ => {
            let names = running.iter().map(|role| role.name());
            let names = names.collect::<Vec<_>>().join(" and ");
            bail!("monitor {names} run with the data folder {folder}; choose one with --role")
        }
    }
}

/// Makes the running process of this data folder start its successor; returns its answer.
///
/// # Errors
/// When none runs, or the successor did not become ready: then the running one goes on.
pub fn order_upgrade(data_dir: &Path, role: Role) -> Result<String> {
    let limit = patience(role) + BY_HAND;
    order(&socket_path(data_dir, role), "upgrade", limit)
}

/// Makes the running process of this data folder reload its configuration; returns what took effect.
///
/// # Errors
/// When none runs, or the configuration is wrong: then the running one stays in force.
pub fn order_reload(data_dir: &Path, role: Role) -> Result<String> {
    order(&socket_path(data_dir, role), "reload", READY)
}

/// The address of the operations listener of the running process of this data folder.
///
/// # Errors
/// When none runs, or it is of a version that does not tell it.
pub(crate) fn order_operations(data_dir: &Path, role: Role) -> Result<String> {
    order(&socket_path(data_dir, role), "operations", PING)
}

/// Sends a command and returns the answer.
///
/// # Errors
/// When no process runs there, or it reports a failure.
fn order(path: &Path, order: &str, limit: Duration) -> Result<String> {
    let mut stream = line::connect(path)?;
    writeln!(stream, "{order}")?;
    let answer = line::read_line(&mut stream, limit)?;
    match answer.strip_prefix("ok: ") {
        Some(said) => Ok(said.to_owned()),
        None => bail!("{}", answer.strip_prefix("failed: ").unwrap_or(&answer)),
    }
}
