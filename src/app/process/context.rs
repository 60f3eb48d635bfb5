//! What a process is started with, and its context: the sockets it listens on, the process it follows,
//! and its control socket.

use crate::app::process::hangup;
use crate::app::process::sockets::Sockets;
use crate::app::reload::{LoadSettings, ReloadSource};
use crate::app::upgrade::{self, Predecessor};
use crate::config::{Role, Settings};
use anyhow::Result;
use std::path::PathBuf;

/// A process about to run.
pub struct Launch {
    /// Settings that have passed every check.
    pub settings: Settings,
    /// What the process does.
    pub role: Role,
    /// It takes the place of a running process (`--upgrade`).
    pub takes_over: bool,
    /// Reads the settings again at a reload.
    pub load: LoadSettings,
}

/// What a process has before anything of it runs.
pub(crate) struct ProcessContext {
    pub(crate) sockets: Sockets,
    /// The process that this one follows, waiting for it to be ready.
    pub(crate) predecessor: Option<Predecessor>,
    /// Path of the control socket.
    pub(crate) control: PathBuf,
    pub(crate) load: LoadSettings,
    pub(crate) role: Role,
    /// The settings as they were given, before listeners got their ports.
    pub(crate) initial: Settings,
}

impl Launch {
    /// With `--upgrade`, receives the sockets of the running process, which waits from here on.
    ///
    /// # Errors
    /// When no process runs that hands them over, or the system takes no handler of signals.
    pub(crate) fn begin(self) -> Result<(Settings, ProcessContext)> {
        // Before a port takes connections: a supervisor may take that for the end of the start.
        hangup::outlive()?;
        let control = upgrade::socket_path(&self.settings.data_dir, self.role);
        let (sockets, predecessor) = upgrade::take_over(&control, self.takes_over)?;
        let context = ProcessContext {
            sockets,
            predecessor,
            control,
            load: self.load,
            role: self.role,
            initial: self.settings.clone(),
        };
        Ok((self.settings, context))
    }
}

impl ProcessContext {
    /// What the configuration is read again from.
    pub(crate) fn reload_source(&self) -> ReloadSource {
        ReloadSource {
            load: self.load.clone(),
            role: self.role,
            initial: self.initial.clone(),
        }
    }
}
