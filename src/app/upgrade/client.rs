//! The commands of `monitor reload` and `monitor upgrade` to the running process.

use super::handover::{BY_HAND, READY, patience};
use super::line;
use super::web_address::WebAddress;
use crate::app::deadline::{Deadline, is_timeout};
use crate::config::Role;
use anyhow::{Error, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where processes of one data folder and role find each other.
pub(crate) fn socket_path(data_dir: &Path, role: Role) -> PathBuf {
    let name = match role {
        Role::All => "control.sock",
        Role::Gateway => "control-gateway.sock",
        Role::Analysis => "control-analysis.sock",
    };
    data_dir.join(name)
}

/// What a control socket leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Answers,
    /// A process that is stopped or hangs.
    Silent,
    Absent,
}

/// The role of the process that runs with this data folder.
///
/// # Errors
/// When none runs, none answers in time, or several do; the text names them.
pub fn running_role(data_dir: &Path, deadline: &Deadline) -> Result<Role> {
    let roles = [Role::All, Role::Gateway, Role::Analysis];
    // Side by side: one that is silent leaves the others their time.
    let found = std::thread::scope(|scope| {
        let looks = roles.map(|role| {
            let path = socket_path(data_dir, role);
            (role, scope.spawn(move || presence(&path, deadline)))
        });
        looks.map(|(role, look)| (role, look.join().unwrap_or(Presence::Absent)))
    });
    let those = |wanted: Presence| -> Vec<Role> {
        let found = found.iter().filter(|(_, presence)| *presence == wanted);
        found.map(|(role, _)| *role).collect()
    };
    let folder = data_dir.display();
    let named = |roles: &[Role]| {
        let names = roles.iter().map(|role| role.name());
        names.collect::<Vec<_>>().join(" and ")
    };
    match (&those(Presence::Answers)[..], &those(Presence::Silent)[..]) {
        ([role], _) => Ok(*role),
        ([], []) => bail!(
            "no running monitor found for this data folder (no control socket at {folder}/control*.sock); \
             name its folder with --data-dir or --config"
        ),
        ([], silent) => bail!(
            "monitor {} with the data folder {folder} did not answer within {:?}",
            named(silent),
            deadline.limit()
        ),
        (running, _) => {
            let names = named(running);
            bail!("monitor {names} run with the data folder {folder}; choose one with --role")
        }
    }
}

/// A connection without a command would be an error in the log of the other process.
fn presence(path: &Path, deadline: &Deadline) -> Presence {
    match order(path, "ping", deadline) {
        Ok(_) => Presence::Answers,
        Err(error) if is_timeout(&error) => Presence::Silent,
        Err(_) => Presence::Absent,
    }
}

/// Makes the running process of this data folder start its successor; returns its answer.
///
/// # Errors
/// When none runs, or the successor did not become ready: then the running one goes on.
pub fn order_upgrade(data_dir: &Path, role: Role) -> Result<String> {
    let deadline = Deadline::within(patience(role) + BY_HAND);
    order(&socket_path(data_dir, role), "upgrade", &deadline)
}

/// Makes the running process of this data folder reload its configuration; returns what took effect.
///
/// # Errors
/// When none runs, or the configuration is wrong: then the running one stays in force.
pub fn order_reload(data_dir: &Path, role: Role) -> Result<String> {
    let deadline = Deadline::within(READY);
    order(&socket_path(data_dir, role), "reload", &deadline)
}

/// The address of the operations listener of the running process of this data folder.
///
/// # Errors
/// When none runs, or it is of a version that does not tell it.
pub(crate) fn order_operations(data_dir: &Path, role: Role, deadline: &Deadline) -> Result<String> {
    order(&socket_path(data_dir, role), "operations", deadline)
}

/// Where browsers find the web UI of the process that runs with this data folder; nothing where none runs that
/// has one, or it is of a version that does not tell it.
pub(crate) fn order_web(data_dir: &Path, deadline: &Deadline) -> Option<WebAddress> {
    let paths = [Role::All, Role::Analysis].map(|role| socket_path(data_dir, role));
    let mut answers = paths
        .iter()
        .filter_map(|path| order(path, "web", deadline).ok());
    answers.find_map(|line| WebAddress::from_line(&line))
}

/// Sends a command and returns the answer.
///
/// # Errors
/// When no process runs there, or it reports a failure.
fn order(path: &Path, order: &str, deadline: &Deadline) -> Result<String> {
    let answer = exchange(path, order, deadline).map_err(|error| match is_timeout(&error) {
        true => Error::from(deadline.passed()).context(format!("asking at {}", path.display())),
        false => error,
    })?;
    match answer.strip_prefix("ok: ") {
        Some(said) => Ok(said.to_owned()),
        None => bail!("{}", answer.strip_prefix("failed: ").unwrap_or(&answer)),
    }
}

fn exchange(path: &Path, order: &str, deadline: &Deadline) -> Result<String> {
    let mut stream = line::connect(path, deadline.left()?)?;
    writeln!(stream, "{order}")?;
    line::read_line(&mut stream, deadline.left()?)
}
