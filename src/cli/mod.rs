//! The command line: each subcommand loads its settings and calls one function of `app`. Nothing is
//! started or decided here beyond that (CONTRACT 32).

mod args;
mod check;
mod scan;
mod spool;
mod token;

pub use args::Cli;

use crate::config::{self, LogFormat, LogSettings, Overrides, Problems, Role, Settings};
use crate::{analysis, app, gateway, observe};
use args::{CheckArgs, Command, MigrateArgs};
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

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
        Command::All(args) => {
            let (file, overrides) = args.split();
            Ok(app::run_all(start(Role::All, file, &overrides)?)?)
        }
        Command::Gateway(args) => {
            let (file, overrides) = args.split();
            Ok(app::run_gateway(start(Role::Gateway, file, &overrides)?)?)
        }
        Command::Analysis(args) => {
            let (file, overrides) = args.split();
            Ok(app::run_analysis(start(Role::Analysis, file, &overrides)?)?)
        }
        Command::Check(args) => check(args),
        Command::Migrate(args) => migrate(args),
        Command::Token(command) => print(token::run(command)?.as_bytes()),
        Command::Spool(command) => print(spool::run(command)?.as_bytes()),
        Command::Scan(args) => scan::run(args),
        Command::Openapi(args) if args.analysis => print(analysis::openapi_json()),
        Command::Openapi(_) => print(gateway::docs::openapi_json()),
        Command::ReadDocument(args) => {
            let read = analysis::documents::read_document(args.format);
            read.map_err(|error| Failure::Runtime(error.into()))
        }
        Command::DemoUpstream(args) => {
            let log = LogSettings {
                level: "info".to_owned(),
                format: LogFormat::Text,
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

fn migrate(args: MigrateArgs) -> Result<(), Failure> {
    let overrides = Overrides {
        data_dir: args.data_dir,
        ..Overrides::default()
    };
    let settings = load(args.role.into(), file_or_variable(args.config), &overrides)?;
    print(format!("{}\n", app::migrate(&settings)?).as_bytes())
}

/// Settings for a process that is about to run, with its log set up.
fn start(role: Role, file: Option<PathBuf>, overrides: &Overrides) -> Result<Settings, Problems> {
    let settings = load(role, file_or_variable(file), overrides)?;
    observe::logging::init(&settings.log);
    Ok(settings)
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
