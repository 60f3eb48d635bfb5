//! A connection to a mail server that ends after so many bytes of answers. Whoever sits between may answer a line without
//! an end before the connection is encrypted, and the reader of lines has no bound of its own.

use lettre::transport::smtp::client::AsyncTokioStream;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Bytes of all answers of a connection, those of its encryption included.
const MOST_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Bounded {
    socket: TcpStream,
    left: usize,
}

impl Bounded {
    /// Connects to the first address that takes it, and waits so long for each.
    pub(super) async fn connect(addresses: &[SocketAddr], longest: Duration) -> Option<Self> {
        for address in addresses {
            if let Ok(Ok(socket)) = timeout(longest, TcpStream::connect(*address)).await {
                let left = MOST_BYTES;
                return Some(Self { socket, left });
            }
        }
        None
    }
}

impl AsyncTokioStream for Bounded {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }
}

impl AsyncRead for Bounded {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.left == 0 {
            // As if the server had closed it.
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let read = Pin::new(&mut this.socket).poll_read(context, into);
        let count = into.filled().len().saturating_sub(before);
        this.left = this.left.saturating_sub(count);
        read
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}
