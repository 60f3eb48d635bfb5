//! `monitor reload` and `monitor upgrade`: commands to a running process; `health` asks how it is.

pub(super) mod health;

use super::failure::Failure;
use super::load::{RoleArg, data_dir, file_or_variable};
use super::output::print;
use crate::app::{self, Deadline};
use crate::config::{Overrides, Role};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a running process may take to answer that it runs.
const PING: Duration = Duration::from_secs(5);

/// Which running process is meant.
#[derive(Debug, Args)]
pub(super) struct ControlArgs {
    /// Configuration file (YAML) of the process [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What the process runs; needed only where several processes share the data folder.
    #[arg(long, value_enum)]
    role: Option<RoleArg>,
    /// Data folder of the process [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
}

/// Sends a command to the running process of a data folder and prints its answer. The process reads its
/// own configuration; only the data folder is looked up here.
pub(super) fn run(
    args: ControlArgs,
    command: impl Fn(&Path, Role) -> anyhow::Result<String>,
) -> Result<(), Failure> {
    let (data_dir, role) = args.running(&Deadline::within(PING))?;
    print(format!("{}\n", command(&data_dir, role)?).as_bytes())
}

impl ControlArgs {
    /// Data folder and role of the running process.
    ///
    /// # Errors
    /// When none runs or answers in time, or several do and none is named.
    pub(super) fn running(self, deadline: &Deadline) -> Result<(PathBuf, Role), Failure> {
        let overrides = Overrides {
            data_dir: self.data_dir,
            ..Overrides::default()
        };
        let data_dir = data_dir(file_or_variable(self.config), &overrides)?;
        let role = match self.role {
            Some(role) => role.into(),
            None => app::running_role(&data_dir, deadline)?,
        };
        Ok((data_dir, role))
    }
}
