//! Sends descriptors over a Unix socket in one message: the labels as a line of JSON, and the sockets.

use crate::app::process::sockets::Label;
use anyhow::{Context, Result, bail, ensure};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Sockets of one process at most.
const MOST: usize = 64;
/// Bytes of the labels at most.
const LABELS: usize = 16 << 10;

/// Sends copies; the sender keeps its own.
///
/// # Errors
/// When there are more than [`MOST`], or the other end is gone.
pub(crate) fn send(stream: &UnixStream, sockets: &[(Label, OwnedFd)]) -> Result<()> {
    ensure!(
        sockets.len() <= MOST,
        "more than {MOST} listening sockets cannot be handed over"
    );
    let labels: Vec<&Label> = sockets.iter().map(|(label, _)| label).collect();
    let mut line = serde_json::to_vec(&labels)?;
    line.push(b'\n');
    ensure!(line.len() <= LABELS, "the sockets' names are too long");
    let fds: Vec<BorrowedFd<'_>> = sockets.iter().map(|(_, fd)| fd.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ensure!(
        ancillary.push(SendAncillaryMessage::ScmRights(&fds)),
        "the sockets do not fit into one message"
    );
    let sent = sendmsg(
        stream,
        &[IoSlice::new(&line)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )
    .context("the other process does not take the sockets")?;
    ensure!(
        sent == line.len(),
        "the sockets' names were sent only in part"
    );
    Ok(())
}

/// Receives what [`send`] sends.
///
/// # Errors
/// When the other end is gone or sends something else; with its own text if it refuses.
pub(crate) fn receive(stream: &UnixStream) -> Result<Vec<(Label, OwnedFd)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut line = vec![0; LABELS];
    let received = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut line)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .context("the running process hands nothing over")?;
    line.truncate(received.bytes);
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if let Some(refusal) = line.strip_prefix(b"failed: ") {
        let words = String::from_utf8_lossy(refusal);
        bail!("the running process hands nothing over: {}", words.trim());
    }
    let labels: Vec<Label> = serde_json::from_slice(&line)
        .context("the running process is of a version that hands nothing over")?;
    ensure!(
        labels.len() == fds.len(),
        "the running process sent {} names and {} sockets",
        labels.len(),
        fds.len()
    );
    Ok(labels.into_iter().zip(fds).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::app::process::sockets::Sockets;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_socket_that_was_sent_accepts_what_comes_to_its_address() {
        let sockets = Sockets::default();
        let bound = sockets
            .claim("gateway", "127.0.0.1:0".parse().unwrap())
            .unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&ours, &sockets.copies().unwrap()).unwrap();
        sockets.close();
        let (label, socket) = receive(&theirs).unwrap().pop().unwrap();
        assert_eq!((label.what.as_str(), label.bound), ("gateway", bound));
        let _client = TcpStream::connect(bound).unwrap();
        let listener = TcpListener::from(socket);
        listener.set_nonblocking(false).unwrap();
        listener.accept().unwrap();
    }

    #[test]
    fn a_refusal_comes_with_its_words() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"failed: it is stopping\n").unwrap();
        let error = receive(&theirs).unwrap_err().to_string();
        assert!(error.ends_with("it is stopping"), "{error}");
    }
}
