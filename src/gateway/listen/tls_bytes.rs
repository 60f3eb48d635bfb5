//! The bytes of a TLS connection that were read and have given no plaintext yet: a handshake in progress, a record
//! whose end is missing. The TLS library keeps them, so they count for the client's address
//! (`limits.client_bytes`); without room for them the connection is not read from until others have given some back.

use crate::gateway::limits::{HeadShare, SHORT_HEAD};
use async_trait::async_trait;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::{SslDigest, TlsStream};
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    TimingDigest, UniqueID, UniqueIDType,
};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The longest ClientHello. Those of browsers and libraries, with keys of post-quantum algorithms, have 2 KiB.
const LONGEST_HELLO: usize = 16 << 10;
/// So many bytes of a record without its end are not counted: an idle connection's own buffer is as large.
const SHORT: usize = 4 << 10;
/// What the TLS library keeps at most: a message of the handshake, in several records.
const MOST_KEPT: usize = 80 << 10;
/// Kind, version and length.
const RECORD_HEAD: usize = 5;
/// Between two attempts to count what was read.
const ATTEMPT: Duration = Duration::from_millis(200);

/// What one connection has unfinished, shared by the socket below the TLS library and the stream above it.
pub(super) struct TlsBytes {
    /// Read since the last plaintext; after it, what was read of the record that had begun already.
    unfinished: AtomicUsize,
    /// Read of the record whose end is missing.
    of_record: AtomicUsize,
    /// The handshake is over.
    is_established: AtomicBool,
    /// The ClientHello was answered.
    has_answered: AtomicBool,
    /// None for trusted proxies, which have the connections of many clients.
    share: Option<Mutex<HeadShare>>,
}

impl TlsBytes {
    /// For a handshake that begins.
    pub(super) fn new(share: Option<HeadShare>) -> Arc<Self> {
        Arc::new(Self {
            unfinished: AtomicUsize::new(0),
            of_record: AtomicUsize::new(0),
            is_established: AtomicBool::new(false),
            has_answered: AtomicBool::new(false),
            share: share.map(Mutex::new),
        })
    }

    fn unfinished(&self) -> usize {
        self.unfinished.load(Ordering::Relaxed)
    }

    fn is_hello_too_long(&self) -> bool {
        !self.has_answered.load(Ordering::Relaxed) && self.unfinished() > LONGEST_HELLO
    }

    /// Counts what is unfinished; false where the client has no room for it. A handshake counts from its first byte.
    fn cover(&self) -> bool {
        let unfinished = self.unfinished().min(MOST_KEPT);
        let free = match self.is_established.load(Ordering::Relaxed) {
            true => SHORT,
            false => 0,
        };
        let Some(share) = &self.share else {
            return true;
        };
        if unfinished < free {
            return true;
        }
        let counted = SHORT_HEAD + (unfinished - free).max(1);
        lock(share).cover(counted).is_ok()
    }

    /// The handshake is over, or plaintext was read: what is unfinished begins anew.
    fn finish(&self) {
        let was_counted = !self.is_established.swap(true, Ordering::Relaxed);
        let begun = self.of_record.load(Ordering::Relaxed);
        let unfinished = self.unfinished.swap(begun, Ordering::Relaxed);
        if let Some(share) = &self.share
            && (was_counted || unfinished >= SHORT)
            && begun < SHORT
        {
            lock(share).release();
        }
    }
}

fn lock(share: &Mutex<HeadShare>) -> MutexGuard<'_, HeadShare> {
    share.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for TlsBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unfinished = self.unfinished();
        f.debug_struct("TlsBytes")
            .field("unfinished", &unfinished)
            .finish_non_exhaustive()
    }
}

/// The socket's end of it.
#[derive(Debug)]
pub(super) struct TlsReads {
    bytes: Arc<TlsBytes>,
    records: Records,
    /// Runs while there is no room.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl TlsReads {
    pub(super) fn new(bytes: Arc<TlsBytes>) -> Self {
        Self {
            bytes,
            records: Records::default(),
            waiting: None,
        }
    }

    /// Resolves when more may be read.
    pub(super) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.bytes.is_hello_too_long() {
            let text = format!("the ClientHello is longer than {LONGEST_HELLO} bytes");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        while !self.bytes.cover() {
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(ATTEMPT)));
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        self.waiting = None;
        Poll::Ready(Ok(()))
    }

    pub(super) fn add_read(&mut self, bytes: &[u8]) {
        self.records.push(bytes);
        let of_record = self.records.begun();
        self.bytes.of_record.store(of_record, Ordering::Relaxed);
        let unfinished = &self.bytes.unfinished;
        unfinished.fetch_add(bytes.len(), Ordering::Relaxed);
    }

    pub(super) fn has_written(&self) {
        self.bytes.has_answered.store(true, Ordering::Relaxed);
    }
}

/// Follows the records of a connection by their heads (RFC 8446 §5.1).
#[derive(Debug, Default)]
struct Records {
    head: [u8; RECORD_HEAD],
    head_filled: usize,
    length: usize,
    left: usize,
}

impl Records {
    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = match self.left {
                0 => bytes.len().min(RECORD_HEAD - self.head_filled),
                left => bytes.len().min(left),
            };
            let (now, rest) = bytes.split_at(taken);
            bytes = rest;
            if self.left > 0 {
                self.left -= taken;
                continue;
            }
            self.head[self.head_filled..][..taken].copy_from_slice(now);
            self.head_filled += taken;
            if self.head_filled == RECORD_HEAD {
                self.head_filled = 0;
                self.length = usize::from(u16::from_be_bytes([self.head[3], self.head[4]]));
                self.left = self.length;
            }
        }
    }

    /// Bytes of the record whose end is missing.
    fn begun(&self) -> usize {
        match self.left {
            0 => self.head_filled,
            left => RECORD_HEAD + self.length - left,
        }
    }
}

/// A client's TLS connection after its handshake.
#[derive(Debug)]
pub(super) struct TlsClient<S> {
    inner: TlsStream<S>,
    bytes: Arc<TlsBytes>,
}

impl<S> TlsClient<S> {
    /// The handshake is over.
    pub(super) fn new(inner: TlsStream<S>, bytes: Arc<TlsBytes>) -> Self {
        bytes.finish();
        Self { inner, bytes }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsClient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.bytes.finish();
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsClient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl<S> Peek for TlsClient<S> {}

#[async_trait]
impl<S: AsyncRead + AsyncWrite + Sync + Unpin + Send> Shutdown for TlsClient<S> {
    async fn shutdown(&mut self) {
        Shutdown::shutdown(&mut self.inner).await;
    }
}

impl<S: UniqueID> UniqueID for TlsClient<S> {
    fn id(&self) -> UniqueIDType {
        self.inner.id()
    }
}

impl<S> Ssl for TlsClient<S> {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.inner.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.inner.selected_alpn_proto()
    }
}

impl<S: GetTimingDigest> GetTimingDigest for TlsClient<S> {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.inner.get_timing_digest()
    }
}

impl<S: GetProxyDigest> GetProxyDigest for TlsClient<S> {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.inner.get_proxy_digest()
    }
}

impl<S: GetSocketDigest> GetSocketDigest for TlsClient<S> {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.inner.get_socket_digest()
    }
}

#[cfg(test)]
mod tests {
    use super::Records;

    #[test]
    fn what_has_begun_of_a_record_is_counted_however_its_bytes_come() {
        let record =
            |length: u8| [&[23, 3, 3, 0, length][..], &vec![7; usize::from(length)]].concat();
        let bytes = [record(9), record(0), record(200)[..100].to_vec()].concat();
        for size in 1..bytes.len() {
            let mut records = Records::default();
            bytes.chunks(size).for_each(|piece| records.push(piece));
            assert_eq!(records.begun(), 100, "pieces of {size}");
        }
        let mut records = Records::default();
        records.push(&record(3));
        assert_eq!(records.begun(), 0);
        records.push(&[23, 3]);
        assert_eq!(records.begun(), 2);
    }
}
