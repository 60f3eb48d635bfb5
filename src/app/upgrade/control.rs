//! The control socket of a running process, a Unix socket in its data folder. Its clients are the next
//! process, `monitor upgrade` and `monitor reload`. Only the user of the service can open it.

use super::handover::Upgrades;
use super::line::{connect, read_line, short};
use super::start;
use super::web_address::WebAddress;
use crate::app::process::sockets::Sockets;
use crate::app::reload::Reloads;
use anyhow::{Context, Result, bail};
use std::fs::{Metadata, Permissions};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a client of the socket may take to send its command.
const ORDER: Duration = Duration::from_secs(5);
/// How often a process that ends is polled.
const LOOK: Duration = Duration::from_millis(10);

/// The serving end of the control socket.
pub(crate) struct ControlServer {
    pub(crate) upgrades: Arc<Upgrades>,
    pub(crate) reloads: Arc<Reloads>,
    pub(crate) sockets: Sockets,
    /// The operations listener.
    pub(crate) operations: SocketAddr,
    /// Where browsers find the web UI; none in a gateway alone.
    pub(crate) web: Option<WebAddress>,
}

impl ControlServer {
    /// Serves commands at `path` from now on, in place of the previous process, on a thread of its own.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub(crate) fn open(self, path: &Path) -> Result<()> {
        let listener =
            listen(path).with_context(|| format!("{} cannot be made", path.display()))?;
        let control = Arc::new(self);
        std::thread::Builder::new()
            .name("control".into())
            .spawn(move || control.run(&listener))?;
        Ok(())
    }

    fn run(self: Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else {
                // Out of descriptors, most likely.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let control = self.clone();
            let answering = std::thread::Builder::new().name("order".into());
            let spawned = answering.spawn(move || {
                if let Err(error) = control.answer(&mut stream) {
                    log::error!("control: {error:#}");
                    let _ = writeln!(stream, "failed: {error:#}");
                }
            });
            if let Err(error) = spawned {
                log::error!("control: {error}");
            }
        }
    }

    fn answer(&self, stream: &mut UnixStream) -> Result<()> {
        match read_line(stream, ORDER)?.as_str() {
            "take" => {
                let hold = |holds| self.reloads.hold_new_applications(holds);
                self.upgrades.hand_over(stream, &self.sockets, hold)
            }
            "upgrade" => {
                self.upgrades.orders.fetch_add(1, Ordering::Relaxed);
                let said = start::next_process(&self.upgrades)
                    .and_then(|pid| Ok(writeln!(stream, "ok: process {pid} serves")?));
                self.upgrades.orders.fetch_sub(1, Ordering::Relaxed);
                said
            }
            // A check whether a process is running.
            "ping" => Ok(writeln!(stream, "ok: here")?),
            "operations" => Ok(writeln!(stream, "ok: {}", self.operations)?),
            "web" => match &self.web {
                Some(web) => Ok(writeln!(stream, "ok: {}", web.to_line())?),
                None => bail!("this process has no web UI"),
            },
            "reload" => {
                let said = self.reloads.reload()?;
                Ok(writeln!(stream, "ok: {said}")?)
            }
            _ => bail!("unknown order"),
        }
    }
}

/// The control socket of this process: device and inode of its file.
static OWN: Mutex<Option<(u64, u64)>> = Mutex::new(None);

fn owned() -> MutexGuard<'static, Option<(u64, u64)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Closes the control socket of a process that stops in order, and removes its file.
pub(crate) fn close(path: &Path) {
    let own = owned().take();
    let there = std::fs::metadata(path).ok().as_ref().map(identity);
    if own.is_some()
        && own == there
        && let Err(error) = std::fs::remove_file(path)
    {
        log::warn!("cannot remove {}: {error}", path.display());
    }
}

/// Whether the process that served this control socket ended without [`close`]: it was killed or crashed.
pub(crate) fn is_deserted(path: &Path) -> bool {
    let until = Instant::now() + ORDER;
    while Instant::now() < until {
        let mut stream = match connect(path, ORDER) {
            Ok(stream) => stream,
            Err(error) => {
                let error = error.downcast_ref::<std::io::Error>();
                return error.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused);
            }
        };
        let asked = writeln!(stream, "ping").map_err(Into::into);
        if asked.and_then(|()| read_line(&mut stream, ORDER)).is_ok() {
            return false;
        }
        // It is ending, in order or not: the next poll shows which.
        std::thread::sleep(LOOK);
    }
    false
}

/// Binds under a temporary name and renames: a client reaches either the previous process or this one.
fn listen(path: &Path) -> Result<UnixListener> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let own = path.with_extension(std::process::id().to_string());
    // Left by a process that had this id and died.
    let _ = std::fs::remove_file(&own);
    let (near, _folder) = short(&own)?;
    let listener = UnixListener::bind(near)?;
    std::fs::set_permissions(&own, Permissions::from_mode(0o600))?;
    let file = std::fs::metadata(&own)?;
    std::fs::rename(&own, path)?;
    *owned() = Some(identity(&file));
    Ok(listener)
}
