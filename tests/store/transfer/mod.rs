//! `monitor backup`, `monitor restore` and `monitor copy` through the binary: a month of records on its way from one
//! place to another, and what is refused.

mod drill;
mod erased_costs;
mod exchanges;
mod found_values;
mod interrupted;
mod live;
mod month;
mod picture;
mod refusals;
mod release_4_1;
mod rollback;
mod second_factor;
mod spool;

use std::path::Path;
use std::process::Command;
use support::postgres::Database;

/// What a command printed.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// What it printed, if it did its work.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// Why it refused.
    #[track_caller]
    pub(crate) fn refused(self) -> String {
        assert_ne!(self.code, Some(0), "it did its work: {}", self.stdout);
        self.stderr
    }
}

/// Runs `monitor` with these arguments, over a data folder and perhaps a database.
pub(crate) fn monitor(args: &[&str], data_dir: &Path, database: Option<&Database>) -> Said {
    let variables = database.iter().flat_map(|database| database.owner_env());
    monitor_with(args, data_dir, variables)
}

/// Runs `monitor` with these arguments and variables, over a data folder.
pub(crate) fn monitor_with(
    args: &[&str],
    data_dir: &Path,
    variables: impl IntoIterator<Item = (&'static str, String)>,
) -> Said {
    let mut command = Command::new(support::monitor());
    command
        .env_clear()
        .args(args)
        .arg("--data-dir")
        .arg(data_dir)
        .envs(variables);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}
