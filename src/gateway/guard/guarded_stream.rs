//! A client's connection with a [`ClientGuard`] over everything that is read, the bytes of a long head collected (see
//! [`super::long_head`]), and bytes that were read already and are returned first (the preface of clear-text HTTP/2).

use super::client_guard::ClientGuard;
use super::refused_head::RefusedHead;
use async_trait::async_trait;
use bytes::{Buf, BytesMut};
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::SslDigest;
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    Stream, TimingDigest, UniqueID, UniqueIDType,
};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Reads `prefix`, then `inner`; writes to `inner`.
#[derive(Debug)]
pub(crate) struct GuardedStream {
    prefix: BytesMut,
    /// The prefix was collected: the guard has seen it.
    is_collected: bool,
    /// What came behind a request while it was answered; the guard has not seen it.
    behind: BytesMut,
    /// The client has sent very many small chunks: nothing is read for a while.
    pause: Option<Pin<Box<Sleep>>>,
    /// There was no memory for the head.
    refused: Option<RefusedHead>,
    guard: Option<ClientGuard>,
    inner: Stream,
}

/// Bytes of a long head that are read at a time.
const READ_AHEAD: usize = 4 << 10;
/// Bytes behind a request that are read while it is answered: a client that leaves is noticed behind them.
const WATCHED: usize = 16 << 10;

impl GuardedStream {
    /// Wraps a client's connection; `prefix` is read before `inner`.
    pub(crate) fn of_client(prefix: BytesMut, inner: Stream, guard: ClientGuard) -> Self {
        Self {
            prefix,
            is_collected: false,
            behind: BytesMut::new(),
            pause: None,
            refused: None,
            guard: Some(guard),
            inner,
        }
    }

    /// The guard of `stream`, None for an unguarded one.
    pub(crate) fn guard_of(stream: &Stream) -> Option<&ClientGuard> {
        stream.as_any().downcast_ref::<Self>()?.guard.as_ref()
    }

    /// Prepares a kept client connection for its next request, whose head has begun or not.
    pub(crate) fn for_next_request(stream: Stream, has_begun: bool) -> Stream {
        match Self::downcast(stream) {
            Ok(mut wrapped) => {
                wrapped.pause = None;
                if let Some(guard) = &mut wrapped.guard {
                    guard.start_head();
                    if has_begun {
                        guard.has_begun_head();
                    }
                }
                wrapped
            }
            Err(stream) => stream,
        }
    }

    /// Whether a client has sent its last request to the end and nothing behind it, so far as the guard knows.
    pub(crate) fn is_read_exactly(stream: &Stream) -> bool {
        Self::guard_of(stream).is_some_and(ClientGuard::is_read_exactly)
    }

    fn downcast(stream: Stream) -> Result<Box<Self>, Stream> {
        if !stream.as_any().is::<Self>() {
            return Err(stream);
        }
        match stream.into_any().downcast::<Self>() {
            Ok(wrapped) => Ok(wrapped),
            Err(_) => unreachable!("the type was checked just before"),
        }
    }

    /// Collects the next portion of a long head; ends early with what there is when the client sends no more.
    fn poll_collect(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(guard) = &mut self.guard else {
            return Poll::Ready(Ok(()));
        };
        while !guard.is_due() {
            self.prefix.reserve(READ_AHEAD);
            let seen = self.prefix.len();
            let reading = std::pin::pin!(self.inner.read_buf(&mut self.prefix));
            let read = reading.poll(cx).map_ok(drop);
            let has_come = !self.prefix[seen..].is_empty();
            ready!(guard.check(cx, read, &self.prefix[seen..]))?;
            if !has_come {
                break;
            }
        }
        guard.pass_on();
        self.is_collected = !self.prefix.is_empty();
        Poll::Ready(Ok(()))
    }

    /// Reads what the guard allows.
    fn poll_guarded(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let collects = self.guard.as_mut().is_some_and(ClientGuard::collects);
        if collects && !self.is_collected && self.behind.is_empty() {
            ready!(self.poll_collect(cx))?;
        }
        if self.is_collected {
            take(&mut self.prefix, buf);
            self.is_collected = !self.prefix.is_empty();
            return Poll::Ready(Ok(()));
        }
        if self.guard.as_mut().is_some_and(ClientGuard::has_ended) {
            return self.poll_end(cx);
        }
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        let chunks = self.guard.as_mut().and_then(ClientGuard::chunks);
        let before = buf.filled().len();
        let read = if !self.prefix.is_empty() {
            take(&mut self.prefix, buf);
            Poll::Ready(Ok(()))
        } else if !self.behind.is_empty() {
            take(&mut self.behind, buf);
            Poll::Ready(Ok(()))
        } else if let Some(most) = self.guard.as_mut().and_then(ClientGuard::most_read) {
            Pin::new(&mut (&mut self.inner).take(most)).poll_read(cx, buf)
        } else {
            Pin::new(&mut self.inner).poll_read(cx, buf)
        };
        let Some(guard) = &mut self.guard else {
            return read;
        };
        ready!(guard.check(cx, read, &buf.filled()[before..]))?;
        let (length, pause) = guard.join_chunks(chunks, &mut buf.filled_mut()[before..]);
        buf.set_filled(before + length);
        self.pause = pause.map(|pause| Box::pin(sleep(pause)));
        Poll::Ready(Ok(()))
    }

    /// Ready once the client has left or sends no more. What it sends behind its request is kept for the next one:
    /// pingora would take the first of it and look no further.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.behind.len() < WATCHED {
            let mut bytes = [0; 512];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.inner).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.behind.extend_from_slice(read.filled());
        }
        Poll::Pending
    }

    /// Reports what was written to a client to its guard.
    fn count_written(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let (Some(guard), Poll::Ready(Ok(bytes))) = (&mut self.guard, &written) {
            guard.add_sent(*bytes);
        }
        written
    }
}

/// Reads from bytes, which are freed when there are none left.
fn take(bytes: &mut BytesMut, buf: &mut ReadBuf<'_>) {
    let n = bytes.len().min(buf.remaining());
    buf.put_slice(&bytes[..n]);
    bytes.advance(n);
    if bytes.is_empty() {
        *bytes = BytesMut::new();
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.refused.is_none() {
            let read = this.poll_guarded(cx, buf);
            let exhausted = this.guard.as_mut().and_then(ClientGuard::take_exhausted);
            let Some(room) = exhausted else {
                return read;
            };
            this.prefix = BytesMut::new();
            this.refused = Some(RefusedHead::new(room));
        }
        match &mut this.refused {
            Some(refused) => refused.poll(&mut this.inner, cx).map(Err),
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.count_written(written)
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
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.count_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[async_trait]
impl Peek for GuardedStream {
    /// Peeks into the prefix alone, which holds the whole HTTP/2 preface if the client sent one.
    async fn try_peek(&mut self, buf: &mut [u8]) -> io::Result<bool> {
        let enough = self.prefix.len() >= buf.len();
        if enough {
            let n = buf.len();
            buf.copy_from_slice(&self.prefix[..n]);
        }
        Ok(enough)
    }
}

#[async_trait]
impl Shutdown for GuardedStream {
    async fn shutdown(&mut self) {
        Shutdown::shutdown(&mut *self.inner).await;
    }
}

impl UniqueID for GuardedStream {
    fn id(&self) -> UniqueIDType {
        self.inner.id()
    }
}

impl Ssl for GuardedStream {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.inner.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.inner.selected_alpn_proto()
    }
}

impl GetTimingDigest for GuardedStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.inner.get_timing_digest()
    }
}

impl GetProxyDigest for GuardedStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.inner.get_proxy_digest()
    }
}

impl GetSocketDigest for GuardedStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.inner.get_socket_digest()
    }
}
