//! `monitor all`, `monitor gateway` and `monitor analysis`: flags, and the launch of a process.

use super::load::{file_or_variable, load, variable_warnings};
use crate::app::{Launch, forbid_core_files};
use crate::config::{Overrides, Problems, Role};
use crate::observe;
use clap::Args;
use log::warn;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct GatewayArgs {
    /// Configuration file (YAML) [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Addresses on which the gateway listens [env: GATEWAY_LISTEN].
    #[arg(long, value_name = "ADDR[,ADDR]")]
    listen: Option<String>,
    /// URL of the model server [env: UPSTREAM_URL].
    #[arg(long, value_name = "URL")]
    upstream_url: Option<String>,
    /// URL of the monitoring backend [env: MONITOR_URL].
    #[arg(long, value_name = "URL")]
    monitor_url: Option<String>,
    /// Data folder of the service [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Take over from the process that runs with this data folder, without dropping a call.
    #[arg(long)]
    upgrade: bool,
}

impl GatewayArgs {
    /// What the settings and the launch take from these flags.
    pub(super) fn launch_args(self) -> LaunchArgs {
        LaunchArgs {
            file: self.config,
            overrides: Overrides {
                listen: self.listen,
                upstream_url: self.upstream_url,
                monitor_url: self.monitor_url,
                data_dir: self.data_dir,
            },
            takes_over: self.upgrade,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct AnalysisArgs {
    /// Configuration file (YAML) [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Addresses on which the analysis API listens [env: ANALYSIS_LISTEN].
    #[arg(long, value_name = "ADDR[,ADDR]")]
    listen: Option<String>,
    /// Data folder, with the database [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Take over from the process that runs with this data folder, without dropping a call.
    #[arg(long)]
    upgrade: bool,
}

impl AnalysisArgs {
    /// What the settings and the launch take from these flags.
    pub(super) fn launch_args(self) -> LaunchArgs {
        LaunchArgs {
            file: self.config,
            overrides: Overrides {
                listen: self.listen,
                data_dir: self.data_dir,
                ..Overrides::default()
            },
            takes_over: self.upgrade,
        }
    }
}

/// The command line of a process that is about to run.
pub(super) struct LaunchArgs {
    pub(super) file: Option<PathBuf>,
    /// Values that override the file and the environment.
    pub(super) overrides: Overrides,
    pub(super) takes_over: bool,
}

/// Loads the settings and sets up the log of a process that is about to run.
pub(super) fn launch(role: Role, args: LaunchArgs) -> Result<Launch, Problems> {
    let file = file_or_variable(args.file);
    let settings = load(role, file.clone(), &args.overrides)?;
    if !settings.core_files {
        forbid_core_files();
    }
    observe::logging::init(&settings.log);
    for warning in variable_warnings() {
        warn!(target: "config", "{warning}");
    }
    let overrides = args.overrides;
    Ok(Launch {
        settings,
        role,
        takes_over: args.takes_over,
        load: Arc::new(move || load(role, file.clone(), &overrides)),
    })
}
