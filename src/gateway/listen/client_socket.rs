//! A client's TCP connection with a small write buffer, so that the parts of a response head leave in one
//! segment. Pingora has the same buffer, but only its own listeners can set its size.

use super::tls_bytes::{TlsBytes, TlsReads};
use async_trait::async_trait;
use futures_util::FutureExt;
use pingora_core::Result;
use pingora_core::protocols::l4::socket::SocketAddr as Address;
use pingora_core::protocols::l4::stream::Stream as Tcp;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    TimingDigest, UniqueID, UniqueIDType,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter, ReadBuf};
use tokio::net::TcpStream;

/// About one TCP segment: a larger buffer would only delay bytes.
const WRITE_BUFFER: usize = 1460;

/// Reads from the connection, writes through the buffer.
#[derive(Debug)]
pub(super) struct ClientSocket {
    stream: BufWriter<Tcp>,
    /// Counts what is read for the TLS library; None in clear text.
    tls: Option<TlsReads>,
}

impl ClientSocket {
    /// # Errors
    /// When the client has already closed the connection.
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> Result<Self> {
        let mut stream = Tcp::from(stream);
        stream.set_nodelay()?;
        let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
        // A new digest is empty, so this cannot fail.
        let _ = digest.peer_addr.set(Some(Address::from(peer)));
        stream.set_socket_digest(digest);
        Ok(Self {
            stream: BufWriter::with_capacity(WRITE_BUFFER, stream),
            tls: None,
        })
    }

    /// The same below TLS.
    ///
    /// # Errors
    /// When the client has already closed the connection.
    pub(super) fn for_tls(
        stream: TcpStream,
        peer: SocketAddr,
        bytes: Arc<TlsBytes>,
    ) -> Result<Self> {
        let mut socket = Self::new(stream, peer)?;
        socket.tls = Some(TlsReads::new(bytes));
        Ok(socket)
    }

    fn note_written(&self, written: &Poll<io::Result<usize>>) {
        if let (Some(tls), Poll::Ready(Ok(_))) = (&self.tls, written) {
            tls.has_written();
        }
    }
}

impl Drop for ClientSocket {
    /// Flushes what a short answer left in the buffer, if the socket takes it at once.
    fn drop(&mut self) {
        if !self.stream.buffer().is_empty() {
            let _ = self.stream.flush().now_or_never();
        }
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(tls) = &mut this.tls else {
            return Pin::new(this.stream.get_mut()).poll_read(cx, buf);
        };
        ready!(tls.poll_room(cx))?;
        let before = buf.filled().len();
        let read = Pin::new(this.stream.get_mut()).poll_read(cx, buf);
        tls.add_read(&buf.filled()[before..]);
        read
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note_written(&written);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note_written(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[async_trait]
impl Peek for ClientSocket {}

#[async_trait]
impl Shutdown for ClientSocket {
    async fn shutdown(&mut self) {
        // A client that has left needs no FIN.
        let _ = AsyncWriteExt::shutdown(&mut self.stream).await;
    }
}

impl UniqueID for ClientSocket {
    fn id(&self) -> UniqueIDType {
        self.stream.get_ref().id()
    }
}

impl Ssl for ClientSocket {}

impl GetTimingDigest for ClientSocket {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_ref().get_timing_digest()
    }

    fn get_read_pending_time(&self) -> Duration {
        self.stream.get_ref().get_read_pending_time()
    }

    fn get_write_pending_time(&self) -> Duration {
        self.stream.get_ref().get_write_pending_time()
    }
}

impl GetProxyDigest for ClientSocket {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.stream.get_ref().get_proxy_digest()
    }
}

impl GetSocketDigest for ClientSocket {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_ref().get_socket_digest()
    }
}
