//! What a process is started with, and its seat: the sockets it listens on, the process before it,
//! and where it takes orders.

use super::sockets::Sockets;
use super::upgrade::{self, Predecessor};
use crate::config::{Problems, Role, Settings};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the configuration again, from where it came from at the start.
pub type Load = Arc<dyn Fn() -> Result<Settings, Problems> + Send + Sync>;

/// A process about to run.
pub struct Launch {
    /// Checked settings.
    pub settings: Settings,
    /// What the process does.
    pub role: Role,
    /// It takes the place of a running process (`--upgrade`).
    pub takes_over: bool,
    /// For reloads.
    pub load: Load,
}

/// A process's place among those before and after it.
pub(super) struct Seat {
    pub(super) sockets: Sockets,
    pub(super) predecessor: Option<Predecessor>,
    pub(super) control: PathBuf,
    pub(super) load: Load,
    pub(super) role: Role,
    /// The settings as they were given.
    pub(super) given: Settings,
}

impl Launch {
    /// Takes the seat; a running process hands its sockets over here and waits.
    ///
    /// # Errors
    /// When there is nobody to take over from.
    pub(super) fn begin(self) -> Result<(Settings, Seat)> {
        let control = upgrade::socket_path(&self.settings, self.role);
        let (sockets, predecessor) = upgrade::take_over(&control, self.takes_over)?;
        let seat = Seat {
            sockets,
            predecessor,
            control,
            load: self.load,
            role: self.role,
            given: self.settings.clone(),
        };
        Ok((self.settings, seat))
    }
}
