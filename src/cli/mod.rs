//! The command line: each subcommand loads its settings and calls one function of `app`. Nothing is
//! started or decided here beyond that (CONTRACT 32).

mod args;
mod check;
mod manual;
mod scan;
mod spool;
mod token;
mod user;

pub use args::Cli;

use crate::app::Launch;
use crate::config::{
    self, AccessLogSettings, LogFormat, LogSettings, Overrides, Problems, Role, Settings,
};
use crate::{analysis, app, gateway, observe};
use args::{CheckArgs, Command, Given, OrderArgs, StoreArgs};
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// The configuration is wrong; nothing was started.
    Configuration(Problems),
    /// It was started and failed.
    Runtime(anyhow::Error),
    /// A scan found something where nothing was to be found.
    Found(u64),
}

impl Failure {
    /// 2 for the configuration, as for wrong usage; 3 for finds of a scan; 1 for everything else.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Configuration(_) => ExitCode::from(2),
            Self::Runtime(_) => ExitCode::from(1),
            Self::Found(_) => ExitCode::from(3),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(problems) => problems.fmt(f),
            Self::Runtime(error) => write!(f, "monitor: {error:#}"),
            Self::Found(count) => write!(f, "monitor: sensitive data in {count} places"),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Configuration(problems)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Runtime(error)
    }
}

/// Runs one command to its end.
///
/// # Errors
/// Wrong configuration, or a failure while running.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command.unwrap_or(Command::All(cli.all)) {
        Command::All(args) => Ok(app::run_all(start(Role::All, args.split())?)?),
        Command::Gateway(args) => Ok(app::run_gateway(start(Role::Gateway, args.split())?)?),
        Command::Analysis(args) => Ok(app::run_analysis(start(Role::Analysis, args.split())?)?),
        Command::Check(args) => check(args),
        Command::Reload(args) => order(args, app::order_reload),
        Command::Upgrade(args) => order(args, app::order_upgrade),
        Command::Migrate(args) => migrate(args),
        Command::Token(command) => print(token::run(command)?.as_bytes()),
        Command::User(command) => print(user::run(command)?.as_bytes()),
        Command::Spool(command) => print(spool::run(command)?.as_bytes()),
        Command::Scan(args) => scan::run(args),
        Command::Openapi(args) if args.analysis => print(analysis::openapi_json()),
        Command::Openapi(_) => print(gateway::docs::openapi_json()),
        Command::ReadDocument(args) => {
            let read = analysis::documents::read_document(args.format);
            read.map_err(|error| Failure::Runtime(error.into()))
        }
        Command::StartOrphan(args) => Ok(app::start_orphan(&args.program, &args.arguments)?),
        Command::Man(args) => Ok(manual::man(&args.folder)?),
        Command::Completions(args) => print(&manual::completions(args.shell)),
        Command::DemoUpstream(args) => {
            let log = LogSettings {
                level: "info".to_owned(),
                format: LogFormat::Text,
                access: AccessLogSettings::default(),
            };
            observe::logging::init(&log);
            Ok(app::run_demo_upstream(args.listen)?)
        }
    }
}

fn check(args: CheckArgs) -> Result<(), Failure> {
    let file = file_or_variable(args.config);
    let role = args.role.into();
    let settings = load(role, file.clone(), &Overrides::default())?;
    print(check::summary(file.as_deref(), role, &settings).as_bytes())
}

fn migrate(args: StoreArgs) -> Result<(), Failure> {
    let settings = args.settings()?;
    print(format!("{}\n", app::migrate(&settings)?).as_bytes())
}

fn order(
    args: OrderArgs,
    give: impl Fn(&Settings, Role) -> anyhow::Result<String>,
) -> Result<(), Failure> {
    let overrides = Overrides {
        data_dir: args.data_dir,
        ..Overrides::default()
    };
    let role = args.role.into();
    let settings = load(role, file_or_variable(args.config), &overrides)?;
    print(format!("{}\n", give(&settings, role)?).as_bytes())
}

/// What a process needs that is about to run, with its log set up.
fn start(role: Role, given: Given) -> Result<Launch, Problems> {
    let file = file_or_variable(given.file);
    let settings = load(role, file.clone(), &given.overrides)?;
    observe::logging::init(&settings.log);
    let overrides = given.overrides;
    Ok(Launch {
        settings,
        role,
        takes_over: given.takes_over,
        load: Arc::new(move || load(role, file.clone(), &overrides)),
    })
}

fn load(role: Role, file: Option<PathBuf>, overrides: &Overrides) -> Result<Settings, Problems> {
    // A value that is no UTF-8 is kept in a readable form, so that its check fails instead of being
    // skipped as if it were not set.
    let env = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
    config::load(role, file.as_deref(), overrides, &env)
}

/// `--config`, else MONITOR_CONFIG.
fn file_or_variable(flag: Option<PathBuf>) -> Option<PathBuf> {
    let variable = || std::env::var_os("MONITOR_CONFIG").filter(|value| !value.is_empty());
    flag.or_else(|| variable().map(PathBuf::from))
}

fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            // Whoever reads has seen enough; that is for them to say, as in `monitor openapi | head`.
            io::ErrorKind::BrokenPipe => {
                Failure::Runtime(anyhow::anyhow!("standard output is closed"))
            }
            _ => Failure::Runtime(anyhow::Error::new(error).context("cannot write")),
        })
}
