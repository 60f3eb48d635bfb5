//! One line to a process and one back, over the control socket of a data folder.

use anyhow::{Context, Result, bail};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of a line at most.
const LINE: usize = 64 << 10;
/// Longest path of a Unix socket that every system takes.
const LONGEST: usize = 100;

/// Connects to the control socket of a running process within `limit`: where a process is stopped or hangs, the
/// queue of its socket may be full.
///
/// # Errors
/// When there is none, or it takes no connection in time ([`is_timeout`]).
///
/// [`is_timeout`]: crate::app::deadline::is_timeout
pub(crate) fn connect(path: &Path, limit: Duration) -> Result<UnixStream> {
    let (near, _folder) = short(path)?;
    connect_within(&near, limit).with_context(|| {
        format!(
            "no running monitor found for this data folder (no control socket at {})",
            path.display()
        )
    })
}

/// The standard library has no connection with a time limit over a Unix socket. The limit of writes bounds it.
fn connect_within(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_write_timeout(None)?;
    Ok(stream)
}

/// Reads the next line byte by byte, so that descriptors sent after it are not consumed.
pub(crate) fn read_line(stream: &mut UnixStream, limit: Duration) -> Result<String> {
    let until = Instant::now() + limit;
    let mut line = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let text = format!("no answer within {limit:?}");
            return Err(io::Error::new(ErrorKind::TimedOut, text).into());
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

/// The path itself, or one through an open folder where it is too long for a socket.
pub(crate) fn short(path: &Path) -> Result<(PathBuf, Option<std::fs::File>)> {
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
