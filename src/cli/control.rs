//! `monitor reload` and `monitor upgrade`: commands to a running process.

use super::failure::Failure;
use super::load::{RoleArg, file_or_variable, load};
use super::output::print;
use crate::config::{Overrides, Role};
use clap::Args;
use std::path::{Path, PathBuf};

/// Which running process is meant.
#[derive(Debug, Args)]
pub(super) struct ControlArgs {
    /// YAML file of the process [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// What it does.
    #[arg(long, value_enum, default_value_t = RoleArg::All)]
    pub(super) role: RoleArg,
    /// Its folder of files [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<String>,
}

pub(super) fn run(
    args: ControlArgs,
    command: impl Fn(&Path, Role) -> anyhow::Result<String>,
) -> Result<(), Failure> {
    let overrides = Overrides {
        data_dir: args.data_dir,
        ..Overrides::default()
    };
    let role = args.role.into();
    let settings = load(role, file_or_variable(args.config), &overrides)?;
    print(format!("{}\n", command(&settings.data_dir, role)?).as_bytes())
}
