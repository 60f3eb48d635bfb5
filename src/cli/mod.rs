//! The command line: the subcommands. Each owns its arguments and calls one function of `app`; values
//! are checked by `config`, together with those of the file and the environment (CONTRACT 32).

mod check;
mod control;
mod demo_data;
mod documents;
mod failure;
mod load;
mod manual;
mod output;
mod scan;
mod serve;
mod spool;
mod store;
mod time;
mod token;
mod user;

pub use failure::Failure;

use crate::analysis::documents::COMMAND as READ_DOCUMENT;
use crate::app::{self, START_DETACHED};
use crate::config::{Role, env};
use check::CheckArgs;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use control::ControlArgs;
use control::health::HealthArgs;
use demo_data::DemoDataArgs;
use documents::{DemoArgs, DetachedArgs, DocumentArgs, OpenapiArgs};
use manual::{CompletionsArgs, ManArgs};
use monitor_model::GATEWAY_VERSION;
use scan::ScanArgs;
use serve::{AnalysisArgs, GatewayArgs, launch};
use spool::SpoolCommand;
use store::StoreArgs;
use store::transfer::{self, BackupArgs, CopyArgs, RestoreArgs};
use token::TokenCommand;
use user::UserCommand;

/// Monitors the traffic of language models: a gateway in front of a model server, and an analysis API
/// that checks and records what passes.
#[derive(Debug, Parser)]
#[command(
    name = "monitor",
    version = GATEWAY_VERSION,
    after_help = "Without a command, monitor runs `monitor all`. `--help` lists the environment variables.",
    after_long_help = env::help_text(),
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    all: GatewayArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway and the analysis server in one process (the default).
    All(GatewayArgs),
    /// Run the gateway.
    Gateway(GatewayArgs),
    /// Run the analysis server.
    Analysis(AnalysisArgs),
    /// Check a configuration and print its effect; start nothing.
    Check(CheckArgs),
    /// Make the running process reload its configuration, and print what took effect.
    Reload(ControlArgs),
    /// Ask the running process whether it is ready; the exit code is 0 if it is, else 1.
    Health(HealthArgs),
    /// Replace the running process by the installed program, without dropping a call.
    Upgrade(ControlArgs),
    /// Migrate the schema of the database; start nothing.
    Migrate(StoreArgs),
    /// Write everything into one archive while the server runs: the store, attached files, records that wait.
    ///
    /// The archive restores into either database. It is checked before it gets its name, and an interrupted backup
    /// leaves none. Sign-ins and one-time links are not in it.
    Backup(BackupArgs),
    /// Restore an archive into an empty data folder or database; erasures are done again.
    ///
    /// Nothing is written over. Until everything is restored there is no database that a server would open.
    Restore(RestoreArgs),
    /// Copy the SQLite file into the empty PostgreSQL database of the configuration, with everything.
    ///
    /// Stop the server first to move it: what it stores after the copy began is not copied. Gateways keep their
    /// records meanwhile and deliver them afterwards.
    Copy(CopyArgs),
    /// Manage access keys.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Help people who are locked out of the web UI, and end users who were erased by mistake.
    #[command(subcommand)]
    User(UserCommand),
    /// Inspect the records that wait for the backend, and replay dead letters.
    #[command(subcommand)]
    Spool(SpoolCommand),
    /// Search files and pipes for sensitive data.
    Scan(ScanArgs),
    /// Print the gateway's OpenAPI document.
    Openapi(OpenapiArgs),
    /// Extract the text of one attached file; called by the server.
    #[command(name = READ_DOCUMENT, hide = true)]
    ReadDocument(DocumentArgs),
    /// Start a detached program; called by an upgrade.
    #[command(name = START_DETACHED, hide = true)]
    StartDetached(DetachedArgs),
    /// Write a man page for each command into a folder; called by packages.
    #[command(hide = true)]
    Man(ManArgs),
    /// Print the completions for a shell.
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Run the demo model server.
    DemoUpstream(DemoArgs),
    /// Fill an empty store with invented people and exchanges, to look at the web UI.
    ///
    /// The messages pass the same checks as those of gateways. One user sent numbers of cards in a night of the last
    /// weekend. Not for a store with records of real people: `--force` adds the data to them.
    DemoData(DemoDataArgs),
}

impl Cli {
    /// Parses the command line of the process; ends the process for `--help` and for wrong usage.
    pub fn from_command_line() -> Self {
        Self::try_parse().unwrap_or_else(|mut error| {
            let suggested = error.get(ContextKind::SuggestedSubcommand);
            // Commands that other programs call are not what anybody means.
            if suggested.is_some_and(|suggested| !is_for_users(suggested)) {
                error.remove(ContextKind::SuggestedSubcommand);
            }
            error.exit()
        })
    }
}

fn is_for_users(suggested: &ContextValue) -> bool {
    let suggested = suggested.to_string();
    let command = Cli::command();
    let hidden = command.get_subcommands().filter(|it| it.is_hide_set());
    !hidden
        .map(|it| it.get_name())
        .any(|name| suggested.contains(name))
}

/// Runs one command to its end.
///
/// # Errors
/// Wrong configuration, or a failure while running.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command.unwrap_or(Command::All(cli.all)) {
        Command::All(args) => Ok(app::run_all(launch(Role::All, args.launch_args())?)?),
        Command::Gateway(args) => Ok(app::run_gateway(launch(
            Role::Gateway,
            args.launch_args(),
        )?)?),
        Command::Analysis(args) => Ok(app::run_analysis(launch(
            Role::Analysis,
            args.launch_args(),
        )?)?),
        Command::Check(args) => check::run(args),
        Command::Reload(args) => control::run(args, app::order_reload),
        Command::Health(args) => control::health::run(args),
        Command::Upgrade(args) => control::run(args, app::order_upgrade),
        Command::Migrate(args) => store::migrate(args),
        Command::Backup(args) => transfer::backup(args),
        Command::Restore(args) => transfer::restore(args),
        Command::Copy(args) => transfer::copy(args),
        Command::Token(command) => token::run(command),
        Command::User(command) => user::run(command),
        Command::Spool(command) => spool::run(command),
        Command::Scan(args) => scan::run(args),
        Command::Openapi(args) => documents::openapi(&args),
        Command::ReadDocument(args) => documents::read_document(args),
        Command::StartDetached(args) => documents::start_detached(&args),
        Command::Man(args) => manual::man(&args, Cli::command()),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::DemoUpstream(args) => documents::demo_upstream(&args),
        Command::DemoData(args) => demo_data::run(args),
    }
}
