//! What can be typed: subcommands and flags. Values are checked by `config`, beside those of the
//! file and the environment (CONTRACT 32).

use super::scan::ScanArgs;
use super::spool::SpoolCommand;
use super::token::TokenCommand;
use super::user::UserCommand;
use super::{Failure, file_or_variable, load};
use crate::analysis::documents::{self, Document};
use crate::app::START_ORPHAN;
use crate::config::{Overrides, Role, Settings, env};
use clap::{Args, Parser, Subcommand, ValueEnum};
use monitor_model::GATEWAY_VERSION;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Watches what goes in and out of language models: a gateway in front of a model server, and the
/// analysis API that judges and keeps what passes.
#[derive(Debug, Parser)]
#[command(
    name = "monitor",
    version = GATEWAY_VERSION,
    after_help = "Without a subcommand: monitor all. `--help` lists the environment variables.",
    after_long_help = env::help_text(),
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) all: GatewayArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the gateway and the analysis server in one process (the default).
    All(GatewayArgs),
    /// Run the gateway.
    Gateway(GatewayArgs),
    /// Run the analysis server.
    Analysis(AnalysisArgs),
    /// Check a configuration and say what it amounts to; start nothing.
    Check(CheckArgs),
    /// Have the running process read its configuration again, and say what took effect.
    Reload(OrderArgs),
    /// Have the running process put the program as it is installed now in its place.
    Upgrade(OrderArgs),
    /// Bring the database's schema up to date; start nothing.
    Migrate(StoreArgs),
    /// Manage access keys.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Help people who cannot sign in to the web UI.
    #[command(subcommand)]
    User(UserCommand),
    /// Look after the records that wait for the backend.
    #[command(subcommand)]
    Spool(SpoolCommand),
    /// Look for sensitive data in files and pipes.
    Scan(ScanArgs),
    /// Print the gateway's OpenAPI document.
    Openapi(OpenapiArgs),
    /// Read the text of one attached file; the server calls it.
    #[command(name = documents::COMMAND, hide = true)]
    ReadDocument(DocumentArgs),
    /// Start a program that has no parent here; an upgrade calls it.
    #[command(name = START_ORPHAN, hide = true)]
    StartOrphan(OrphanArgs),
    /// Write a man page for each command into a folder; packages do.
    #[command(hide = true)]
    Man(ManArgs),
    /// Print the completions of a shell.
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Run a stand-in for a model server, for trying things out.
    DemoUpstream(DemoArgs),
}

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

/// What a process that is about to run was told on its command line.
pub(super) struct Given {
    pub(super) file: Option<PathBuf>,
    /// What is to win over it.
    pub(super) overrides: Overrides,
    pub(super) takes_over: bool,
}

impl GatewayArgs {
    /// What of it the settings come from.
    pub(super) fn split(self) -> Given {
        Given {
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
    pub(super) fn split(self) -> Given {
        Given {
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

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// YAML file [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Whose file it is.
    #[arg(long, value_enum, default_value_t = RoleArg::All)]
    pub(super) role: RoleArg,
}

/// Which running process is meant.
#[derive(Debug, Args)]
pub(super) struct OrderArgs {
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

/// A [`Role`] as it is typed.
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

/// Which store is meant.
#[derive(Debug, Args)]
pub(super) struct StoreArgs {
    /// YAML file [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Whose file it is.
    #[arg(long, value_enum, default_value_t = DatabaseRole::All)]
    role: DatabaseRole,
    /// Folder of the database [env: MONITOR_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
}

impl StoreArgs {
    /// The settings that name it.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let overrides = Overrides {
            data_dir: self.data_dir.clone(),
            ..Overrides::default()
        };
        let file = file_or_variable(self.config.clone());
        Ok(load(self.role.into(), file, &overrides)?)
    }
}

/// The roles that have a database.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum DatabaseRole {
    /// For `monitor all`.
    All,
    /// For `monitor analysis`.
    Analysis,
}

impl From<DatabaseRole> for Role {
    fn from(role: DatabaseRole) -> Self {
        match role {
            DatabaseRole::All => Self::All,
            DatabaseRole::Analysis => Self::Analysis,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct OpenapiArgs {
    /// The analysis API's instead.
    #[arg(long)]
    pub(super) analysis: bool,
}

#[derive(Debug, Args)]
pub(super) struct DocumentArgs {
    /// Its format.
    pub(super) format: Document,
}

#[derive(Debug, Args)]
pub(super) struct OrphanArgs {
    /// Its path.
    pub(super) program: OsString,
    /// What it is called with.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Where it is reached.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4300")]
    pub(super) listen: SocketAddr,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// A folder that is there.
    #[arg(value_name = "DIR")]
    pub(super) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Which shell.
    pub(super) shell: clap_complete::Shell,
}
