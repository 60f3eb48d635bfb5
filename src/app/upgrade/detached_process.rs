//! A process that is not a child of the one that starts it. systemd supervises a main process fully only if
//! it is its own child: another one gets SIGKILL right after the SIGTERM of a stop, and its end goes
//! unnoticed. So an intermediate process starts it and ends; its parent is then the process that adopts
//! orphans, which is systemd.

use super::line;
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal, test_kill_process,
};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The command of the intermediate process.
pub(crate) const COMMAND: &str = "start-detached";
/// This program as it runs, even if its file was replaced.
const ITSELF: &str = "/proc/self/exe";
/// How long the intermediate process may take.
const STEP: Duration = Duration::from_secs(30);

/// A process that is watched without being its parent.
pub(crate) struct DetachedProcess {
    pid: u32,
    handle: Handle,
}

/// How it is watched.
enum Handle {
    /// Readable once it has ended.
    Open(OwnedFd),
    /// By its id, where the system has no handles.
    Number(Pid),
    Ended,
}

impl DetachedProcess {
    /// Starts a program with these arguments, and with this process's environment and streams.
    ///
    /// # Errors
    /// When it, or the intermediate process, cannot be started.
    pub(crate) fn start(program: &Path, arguments: &[OsString]) -> Result<Self> {
        let (mut near, far) = UnixStream::pair()?;
        let itself = Path::new(ITSELF);
        // The program inherits none of this: the socket ends with the intermediate process.
        let step = Command::new(if itself.exists() { itself } else { program })
            .arg(COMMAND)
            .arg("--")
            .arg(program)
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(far)))
            .spawn();
        let mut step = step.with_context(|| format!("{} cannot be started", program.display()))?;
        let said = line::read_line(&mut near, STEP);
        if said.is_err() {
            let _ = step.kill();
        }
        // After its end the process has its new parent.
        let _ = step.wait();
        let said = said.context("the step that starts it ended")?;
        let Some(Ok(pid)) = said.strip_prefix("process ").map(str::parse) else {
            bail!("{} cannot be started: {said}", program.display());
        };
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let handle = number.map_or(Handle::Ended, |number| {
            match pidfd_open(number, PidfdFlags::empty()) {
                Ok(handle) => Handle::Open(handle),
                Err(Errno::SRCH) => Handle::Ended,
                Err(_) => Handle::Number(number),
            }
        });
        Ok(Self { pid, handle })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    /// Whether it has ended, in any way.
    pub(crate) fn has_ended(&self) -> bool {
        self.waited(Duration::ZERO)
    }

    /// Kills it and returns when it is gone.
    pub(crate) fn end(&self) {
        let _ = match &self.handle {
            Handle::Open(handle) => pidfd_send_signal(handle, Signal::KILL),
            Handle::Number(number) => kill_process(*number, Signal::KILL),
            Handle::Ended => Ok(()),
        };
        self.waited(STEP);
    }

    fn waited(&self, most: Duration) -> bool {
        let handle = match &self.handle {
            Handle::Open(handle) => handle,
            Handle::Number(number) => return test_kill_process(*number).is_err(),
            Handle::Ended => return true,
        };
        let mut handles = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
        let most = Timespec::try_from(most).ok();
        loop {
            match poll(&mut handles, most.as_ref()) {
                Err(Errno::INTR) => {}
                polled => return polled.is_ok_and(|count| count > 0),
            }
        }
    }
}

/// The intermediate process: starts the program and reports its id, or the error, on standard input, which is
/// the socket of [`DetachedProcess::start`].
///
/// # Errors
/// When the program cannot be started.
pub fn start_detached(program: &OsStr, arguments: &[OsString]) -> Result<()> {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn();
    let line = match started {
        Ok(child) => format!("process {}\n", child.id()),
        Err(error) => format!("{error}\n"),
    };
    let stream = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(stream).write_all(line.as_bytes())?)
}
