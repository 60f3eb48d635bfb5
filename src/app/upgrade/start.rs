//! Starting the next process from the running one, and taking over as the next one.

use super::detached_process::DetachedProcess;
use super::handover::{BY_HAND, Phase, READY, Upgrades};
use super::{line, transfer};
use crate::app::process::sockets::Sockets;
use crate::observe::UpgradeResult;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How often the started process is polled.
const LOOK: Duration = Duration::from_millis(10);
/// How long the previous process may take to confirm that it stops accepting.
const GOING: Duration = Duration::from_secs(10);
/// How long the next process looks for the running one.
const FIND: Duration = Duration::from_secs(5);
const FLAG: &str = "--upgrade";

/// The previous process, which waits for this one.
pub(crate) struct Predecessor(UnixStream);

/// The sockets of the running process with this data folder, which waits from here on; empty ones
/// where this process does not take over.
///
/// # Errors
/// When there is no such process, or it hands nothing over.
pub(crate) fn take_over(
    control: &Path,
    takes_over: bool,
) -> Result<(Sockets, Option<Predecessor>)> {
    remember();
    if !takes_over {
        return Ok((Sockets::default(), None));
    }
    let mut stream = found(control).context("nothing to take over; start without --upgrade")?;
    writeln!(stream, "take")?;
    stream.set_read_timeout(Some(READY))?;
    let sockets = Sockets::inherit(transfer::receive(&stream)?);
    Ok((sockets, Some(Predecessor(stream))))
}

impl Predecessor {
    /// Tells it that this process serves.
    ///
    /// # Errors
    /// When it is gone, or has given up and keeps serving: then this process must not serve.
    pub(crate) fn ready(mut self) -> Result<()> {
        let answer = writeln!(self.0, "ready {}", std::process::id())
            .map_err(Into::into)
            .and_then(|()| line::read_line(&mut self.0, GOING));
        match answer.as_deref() {
            Ok("going") => Ok(()),
            Ok(other) => bail!("the running process does not go: {other}"),
            // It died after it sent the sockets: no other process serves.
            Err(_) => Ok(()),
        }
    }
}

/// Starts the program file as it is now and waits until it serves; returns the process id.
///
/// # Errors
/// When it cannot be started, ends, or is not ready in time; this process then keeps serving.
pub(crate) fn next_process(upgrades: &Upgrades) -> Result<u32> {
    if upgrades.wait(Duration::ZERO, |phase| phase != Phase::Serving) {
        bail!("another upgrade is under way");
    }
    let starting = upgrades.starting();
    let next = launch().inspect_err(|_| upgrades.ended(UpgradeResult::Failed))?;
    drop(starting);
    let until = Instant::now() + upgrades.patience;
    loop {
        if upgrades.is_leaving() {
            return Ok(next.id());
        }
        if next.has_ended() {
            // One that ended before it asked for anything counts too.
            if !upgrades.wait(Duration::ZERO, |phase| phase == Phase::Handing) {
                upgrades.ended(UpgradeResult::Failed);
            }
            bail!("the new process ended before it was ready; its log says why");
        }
        // A process that has the sockets may report at any moment that it serves; the hand-over limits the
        // time for that.
        if Instant::now() > until && upgrades.enter(Phase::Serving, Phase::GivenUp) {
            next.end();
            upgrades.enter(Phase::GivenUp, Phase::Serving);
            bail!(
                "the new process was not ready within {:?}",
                upgrades.patience
            );
        }
        std::thread::sleep(LOOK);
    }
}

/// Handles SIGQUIT: lets a process that was started with `--upgrade` take over; if none comes, starts one.
/// Blocks until that has ended.
pub(crate) fn on_signal(upgrades: &Upgrades) {
    let somebody_came = upgrades.wait(BY_HAND, |phase| phase != Phase::Serving);
    if somebody_came {
        return;
    }
    if let Err(error) = next_process(upgrades) {
        log::error!("upgrade failed: {error:#}; this process keeps serving");
    }
}

fn launch() -> Result<DetachedProcess> {
    let (program, arguments) = remember();
    let mut arguments = arguments.clone();
    if !arguments.iter().any(|argument| argument == FLAG) {
        arguments.push(FLAG.into());
    }
    DetachedProcess::start(program, &arguments)
}

/// The program's path and arguments as they were at the start. The file may be a newer version by now: that
/// one is started.
fn remember() -> &'static (PathBuf, Vec<OsString>) {
    static CALLED: OnceLock<(PathBuf, Vec<OsString>)> = OnceLock::new();
    CALLED.get_or_init(|| {
        let mut words = std::env::args_os();
        let called = PathBuf::from(words.next().unwrap_or_default());
        let program = match called.components().count() {
            0 | 1 => std::env::current_exe().unwrap_or(called),
            _ => std::path::absolute(&called).unwrap_or(called),
        };
        (program, words.collect())
    })
}

fn found(path: &Path) -> Result<UnixStream> {
    let until = Instant::now() + FIND;
    loop {
        match line::connect(path, FIND) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > until => return Err(error),
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}
