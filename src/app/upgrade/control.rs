//! The Unix socket in the data folder on which a running process takes orders: from the process
//! that is to follow it, and from `monitor upgrade` and `monitor reload`. Who may open it may give
//! orders; it is readable and writable by the service's own user only.

use super::super::sockets::Sockets;
use super::{Upgrades, start};
use crate::app::reload::Reloads;
use anyhow::{Context, Result, bail};
use std::fs::{Metadata, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a line at most.
const LINE: usize = 64 << 10;
/// How long the first line of whoever connects may take.
const ORDER: Duration = Duration::from_secs(5);
/// Between two looks at a process that ends.
const LOOK: Duration = Duration::from_millis(10);
/// Longest path of a Unix socket that every system takes.
const LONGEST: usize = 100;

/// A running process's end of the socket.
pub(in crate::app) struct Control {
    pub(in crate::app) upgrades: Arc<Upgrades>,
    pub(in crate::app) reloads: Arc<Reloads>,
    pub(in crate::app) sockets: Sockets,
}

impl Control {
    /// Takes orders at `path` from now on, in the place of whoever did; on a thread of its own.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub(in crate::app) fn open(self, path: &Path) -> Result<()> {
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
            "take" => self.upgrades.hand_over(stream, &self.sockets),
            "upgrade" => {
                self.upgrades.orders.fetch_add(1, Ordering::Relaxed);
                let said = start::next_process(&self.upgrades)
                    .and_then(|pid| Ok(writeln!(stream, "ok: process {pid} serves")?));
                self.upgrades.orders.fetch_sub(1, Ordering::Relaxed);
                said
            }
            // Somebody wants to know whether anybody is here.
            "ping" => Ok(writeln!(stream, "ok: here")?),
            "reload" => {
                let said = self.reloads.reload()?;
                Ok(writeln!(stream, "ok: {said}")?)
            }
            _ => bail!("unknown order"),
        }
    }
}

/// Sends one order and gives the answer.
///
/// # Errors
/// When no process takes orders there, or it says that it failed.
pub(super) fn order(path: &Path, order: &str, limit: Duration) -> Result<String> {
    let mut stream = connect(path)?;
    writeln!(stream, "{order}")?;
    let answer = read_line(&mut stream, limit)?;
    match answer.strip_prefix("ok: ") {
        Some(said) => Ok(said.to_owned()),
        None => bail!("{}", answer.strip_prefix("failed: ").unwrap_or(&answer)),
    }
}

/// The socket that this process takes orders on: device and number of its file.
static OWN: Mutex<Option<(u64, u64)>> = Mutex::new(None);

fn owned() -> MutexGuard<'static, Option<(u64, u64)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// A process that is about to end in order takes no orders any more, and leaves nothing of its own behind.
pub(in crate::app) fn close(path: &Path) {
    let own = owned().take();
    let there = std::fs::metadata(path).ok().as_ref().map(identity);
    if own.is_some()
        && own == there
        && let Err(error) = std::fs::remove_file(path)
    {
        log::warn!("{} cannot be removed: {error}", path.display());
    }
}

/// Whether the process that took orders there ended without [`close`]: it was killed, or failed.
pub(in crate::app) fn is_deserted(path: &Path) -> bool {
    let until = Instant::now() + ORDER;
    while Instant::now() < until {
        let mut stream = match connect(path) {
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
        // It is on its way out, in order or not: the next look tells.
        std::thread::sleep(LOOK);
    }
    false
}

/// Connects to the process that runs with this data folder.
///
/// # Errors
/// When there is none.
pub(super) fn connect(path: &Path) -> Result<UnixStream> {
    let (near, _folder) = short(path)?;
    UnixStream::connect(near).with_context(|| {
        format!(
            "no process of this data folder takes orders at {}",
            path.display()
        )
    })
}

/// The next line, byte by byte: descriptors that come behind it are not for whoever reads lines.
pub(super) fn read_line(stream: &mut UnixStream, limit: Duration) -> Result<String> {
    let until = Instant::now() + limit;
    let mut line = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!("no answer within {limit:?}");
        }
        stream.set_read_timeout(Some(left))?;
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => bail!("the other end is gone"),
            Ok(_) if byte == *b"\n" => return Ok(String::from_utf8(line)?),
            Ok(_) if line.len() < LINE => line.extend(byte),
            Ok(_) => bail!("a line over {LINE} bytes"),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A socket under a name of its own first: whoever connects meets the one process or the other, and
/// never nobody.
fn listen(path: &Path) -> Result<UnixListener> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let own = path.with_extension(std::process::id().to_string());
    // Of a process that had this number and died.
    let _ = std::fs::remove_file(&own);
    let (near, _folder) = short(&own)?;
    let listener = UnixListener::bind(near)?;
    std::fs::set_permissions(&own, Permissions::from_mode(0o600))?;
    let file = std::fs::metadata(&own)?;
    std::fs::rename(&own, path)?;
    *owned() = Some(identity(&file));
    Ok(listener)
}

/// The path itself, or one through an open folder where it is too long for a socket.
fn short(path: &Path) -> Result<(PathBuf, Option<std::fs::File>)> {
    if path.as_os_str().len() <= LONGEST {
        return Ok((path.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        bail!("{} names no file", path.display());
    };
    let folder = std::fs::File::open(folder)
        .with_context(|| format!("{} cannot be opened", folder.display()))?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    let near = Path::new("/proc/self/fd")
        .join(number.to_string())
        .join(name);
    Ok((near, Some(folder)))
}
