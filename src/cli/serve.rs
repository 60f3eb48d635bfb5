//! `monitor all`, `monitor gateway` and `monitor analysis`: flags, and the launch of a process.

use super::load::{file_or_variable, load};
use crate::app::Launch;
use crate::config::{Overrides, Problems, Role};
use crate::observe;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct GatewayArgs {
    /// YAML file [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where clients reach the gateway [env: GATEWAY_LISTEN].
    #[arg(long, value_name = "ADDR[,ADDR]")]
    listen: Option<String>,
    /// Address of the model server [env: UPSTREAM_URL].
    #[arg(long, value_name = "URL")]
    upstream_url: Option<String>,
    /// Address of the monitoring backend [env: MONITOR_URL].
    #[arg(long, value_name = "URL")]
    monitor_url: Option<String>,
    /// Folder of files the service keeps [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Take the place of the process that runs with this folder, without a dropped call.
    #[arg(long)]
    upgrade: bool,
}

impl GatewayArgs {
    /// What of it the settings come from.
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
    /// YAML file [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the analysis API is reached [env: ANALYSIS_LISTEN].
    #[arg(long, value_name = "ADDR[,ADDR]")]
    listen: Option<String>,
    /// Folder of the database [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Take the place of the process that runs with this folder, without a dropped call.
    #[arg(long)]
    upgrade: bool,
}

impl AnalysisArgs {
    /// What of it the settings come from.
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

/// What a process that is about to run was told on its command line.
pub(super) struct LaunchArgs {
    pub(super) file: Option<PathBuf>,
    /// What is to win over it.
    pub(super) overrides: Overrides,
    pub(super) takes_over: bool,
}

/// What a process needs that is about to run, with its log set up.
pub(super) fn launch(role: Role, args: LaunchArgs) -> Result<Launch, Problems> {
    let file = file_or_variable(args.file);
    let settings = load(role, file.clone(), &args.overrides)?;
    observe::logging::init(&settings.log);
    let overrides = args.overrides;
    Ok(Launch {
        settings,
        role,
        takes_over: args.takes_over,
        load: Arc::new(move || load(role, file.clone(), &overrides)),
    })
}
