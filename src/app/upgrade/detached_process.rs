//! A process that is no child of the one that starts it. systemd supervises a main process in full only
//! where that is its own child: one that is not gets SIGKILL right behind the SIGTERM of a stop, and its end
//! is not noticed. So a step between the two starts it and ends, and whoever takes in orphans, systemd first,
//! is its parent from then on.

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

/// The command that is the step between.
pub(crate) const COMMAND: &str = "start-detached";
/// This program as it runs, whatever stands on the disk by now.
const ITSELF: &str = "/proc/self/exe";
/// How long the step may take.
const STEP: Duration = Duration::from_secs(30);

/// A process, followed without being its parent.
pub(crate) struct DetachedProcess {
    pid: u32,
    handle: Handle,
}

/// How it is followed.
enum Handle {
    /// Readable once it has ended.
    Open(OwnedFd),
    /// By its number: the system had no handle to give.
    Number(Pid),
    Ended,
}

impl DetachedProcess {
    /// Starts a program with these arguments, and with this process's environment and streams.
    ///
    /// # Errors
    /// When it, or the step between, cannot be started.
    pub(crate) fn start(program: &Path, arguments: &[OsString]) -> Result<Self> {
        let (mut near, far) = UnixStream::pair()?;
        let itself = Path::new(ITSELF);
        // Nothing of this is left behind it: the socket ends with the step.
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
        // Behind its end the process has its parent.
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

    /// Whether it has ended, however.
    pub(crate) fn has_ended(&self) -> bool {
        self.waited(Duration::ZERO)
    }

    /// Kills it, and comes back when it is gone.
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

/// The step between: starts the program and says its number, or what was wrong, on standard input,
/// which is [`DetachedProcess::start`]'s socket.
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
