//! What surrounds a measurement: the mock servers, each in a process of its own, and the load's process.

use crate::answer::Answer;
use crate::load::{Plan, Report};
use crate::process::{Cpu, Folder, Launch, Pinning, Process};
use crate::{load, mock};
use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Runs the role that the command line of a child names; None where it names none.
pub fn role(words: &[&str]) -> Option<Result<()>> {
    Some(match words {
        ["--role", "mock"] => mock::run(Answer::Json1k, mock::ANYWHERE),
        ["--role", "backend"] => mock::run(Answer::Verdict, mock::ANYWHERE),
        ["--role", "backend", listen] => mock::run(Answer::Verdict, listen),
        ["--role", "batches"] => mock::run_batches(mock::ANYWHERE),
        ["--role", "batches", listen] => mock::run_batches(listen),
        ["--role", "load", plan] => load::run(plan),
        _ => return None,
    })
}

/// Where everything runs and what stands behind the proxies.
#[derive(Clone)]
pub struct World {
    pub pinning: Pinning,
    pub bench: PathBuf,
    pub mock: SocketAddr,
    pub backend: SocketAddr,
    pub batches: SocketAddr,
}

/// The mocks' processes and their folder; they end with it.
pub struct Children {
    _processes: [Process; 3],
    _folder: Folder,
}

impl World {
    /// Starts the mocks on free ports.
    pub fn start() -> Result<(Self, Children)> {
        let pinning = Pinning::detect();
        let bench = std::env::current_exe()?;
        let folder = Folder::create("mock")?;
        let (mock_process, mock) = answering("mock", &bench, pinning, &folder)?;
        let (backend_process, backend) = answering("backend", &bench, pinning, &folder)?;
        let (batches_process, batches) = answering("batches", &bench, pinning, &folder)?;
        let children = Children {
            _processes: [mock_process, backend_process, batches_process],
            _folder: folder,
        };
        let world = Self {
            pinning,
            bench,
            mock,
            backend,
            batches,
        };
        Ok((world, children))
    }
}

/// One of the roles that answer, and where it listens.
fn answering(
    role: &'static str,
    bench: &Path,
    pinning: Pinning,
    folder: &Folder,
) -> Result<(Process, SocketAddr)> {
    let launch = Launch {
        name: role,
        program: bench,
        arguments: vec!["--role".to_owned(), role.to_owned()],
        environment: Vec::new(),
        cpu: Cpu::Surroundings,
    };
    let mut process = Process::start(launch, pinning, folder.path())?;
    let address = process.line()?.parse().context("address of a mock")?;
    Ok((process, address))
}

/// The load in its own process, warmed up and waiting.
pub struct Load {
    process: Process,
    _folder: Folder,
}

impl Load {
    pub fn start(plan: &Plan, world: &World) -> Result<Self> {
        let folder = Folder::create("load")?;
        let arguments = vec![
            "--role".to_owned(),
            "load".to_owned(),
            serde_json::to_string(plan)?,
        ];
        let environment = Vec::new();
        let launch = Launch {
            name: "load",
            program: &world.bench,
            arguments,
            environment,
            cpu: Cpu::Surroundings,
        };
        let mut process = Process::start(launch, world.pinning, folder.path())?;
        match process.line()?.as_str() {
            "ready" => Ok(Self {
                process,
                _folder: folder,
            }),
            other => bail!("the load said {other:?} instead of ready"),
        }
    }

    /// Runs the plan; a call that broke makes the whole bench fail.
    pub fn finish(&mut self) -> Result<Report> {
        self.process.go_on()?;
        let report: Report = serde_json::from_str(&self.process.line()?)?;
        if report.errors > 0 || report.count == 0 {
            bail!(
                "{} calls, {} errors: {}",
                report.count,
                report.errors,
                self.process.last_words()
            );
        }
        Ok(report)
    }
}
