//! A connection with something of ours in front of it. Towards a client: a watch over its heads, and
//! bytes that were read already and are given back first (the preface of clear-text HTTP/2). Towards
//! an upstream: a request's head that is held back until its body comes, so that both leave in one
//! write, and an eye on an answer that comes while the body is still being written.

use super::early::{AnsweredEarly, has_final_answer};
use super::watch::Watch;
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

/// Reads `prefix`, then `inner`; writes to `inner`.
#[derive(Debug)]
pub(crate) struct Prefixed {
    prefix: BytesMut,
    held: Option<Held>,
    watch: Option<Watch>,
    /// A write that waits ends when the other side answers meanwhile.
    answerable: bool,
    inner: Stream,
}

/// What is written before the second flush.
#[derive(Debug, Default)]
struct Held {
    bytes: BytesMut,
    flushed_once: bool,
}

/// More than this is not held.
const LONGEST_HELD: usize = 64 << 10;
/// So much of an early answer is taken off the connection while the request is written.
const AHEAD: usize = 4 << 10;

impl Prefixed {
    /// A client's connection. `prefix` comes before what `inner` has to read.
    pub(crate) fn watched(prefix: BytesMut, inner: Stream, watch: Watch) -> Self {
        Self {
            prefix,
            held: None,
            watch: Some(watch),
            answerable: false,
            inner,
        }
    }

    /// An upstream's connection, which may be one of these already. With `holding`, what is written
    /// before the second flush leaves with it, if it is not long, and the caller must flush twice.
    pub(crate) fn answerable(stream: Stream, holding: bool) -> Box<Self> {
        let held = holding.then(Held::default);
        match Self::of(stream) {
            Ok(mut wrapped) => {
                wrapped.held = held;
                wrapped
            }
            Err(inner) => Box::new(Self {
                prefix: BytesMut::new(),
                held,
                watch: None,
                answerable: true,
                inner,
            }),
        }
    }

    /// The watch, where `stream` has one.
    pub(crate) fn watch_of(stream: &Stream) -> Option<&Watch> {
        stream.as_any().downcast_ref::<Self>()?.watch.as_ref()
    }

    /// `stream` again, in wait of its next head.
    pub(crate) fn awaiting_head(stream: Stream) -> Stream {
        match Self::of(stream) {
            Ok(mut wrapped) => {
                if let Some(watch) = &mut wrapped.watch {
                    watch.awaits_head();
                }
                wrapped
            }
            Err(stream) => stream,
        }
    }

    /// The connection itself.
    pub(crate) fn unwrapped(stream: Stream) -> Stream {
        match Self::of(stream) {
            Ok(wrapped) => wrapped.inner,
            Err(stream) => stream,
        }
    }

    /// Whether bytes stand before the connection that nobody has read.
    pub(crate) fn has_unread(stream: &Stream) -> bool {
        let wrapped = stream.as_any().downcast_ref::<Self>();
        wrapped.is_some_and(|wrapped| !wrapped.prefix.is_empty())
    }

    fn of(stream: Stream) -> Result<Box<Self>, Stream> {
        if !stream.as_any().is::<Self>() {
            return Err(stream);
        }
        match stream.into_any().downcast::<Self>() {
            Ok(wrapped) => Ok(wrapped),
            Err(_) => unreachable!("its type was asked for just before"),
        }
    }

    /// What a write that waits gives: an error once the other side has answered or gone.
    fn unless_answered(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        while self.answerable {
            self.prefix.reserve(AHEAD);
            let seen = self.prefix.len();
            let reading = std::pin::pin!(self.inner.read_buf(&mut self.prefix));
            if let Err(gone) = ready!(reading.poll(cx)) {
                return Poll::Ready(gone);
            }
            if self.prefix.len() == seen || has_final_answer(&self.prefix) {
                return Poll::Ready(io::Error::other(AnsweredEarly));
            }
        }
        Poll::Pending
    }

    /// Writes what is held.
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(held) = &mut self.held else {
            return Poll::Ready(Ok(()));
        };
        while held.bytes.has_remaining() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, &held.bytes))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            held.bytes.advance(written);
        }
        self.held = None;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Prefixed {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = if this.prefix.is_empty() {
            Pin::new(&mut this.inner).poll_read(cx, buf)
        } else {
            let n = this.prefix.len().min(buf.remaining());
            buf.put_slice(&this.prefix[..n]);
            this.prefix.advance(n);
            Poll::Ready(Ok(()))
        };
        match &mut this.watch {
            None => read,
            Some(watch) => watch.judge(cx, read, &buf.filled()[before..]),
        }
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(held) = &mut self.held
            && held.bytes.len() + buf.len() <= LONGEST_HELD
        {
            held.bytes.extend_from_slice(buf);
            return Poll::Ready(Ok(buf.len()));
        }
        let written = match self.poll_release(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.inner).poll_write(cx, buf),
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        match written {
            Poll::Pending => self.unless_answered(cx).map(Err),
            written => written,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(held) = &mut self.held
            && !std::mem::replace(&mut held.flushed_once, true)
        {
            return Poll::Ready(Ok(()));
        }
        match self.poll_release(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.inner).poll_flush(cx),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.unless_answered(cx).map(Err),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.held.is_some() || self.answerable {
            let first = bufs.iter().find(|buf| !buf.is_empty());
            return self.poll_write(cx, first.map_or(&[], |buf| buf));
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[async_trait]
impl Peek for Prefixed {
    /// Answers from the prefix alone: it holds the whole preface whenever one was sent.
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
impl Shutdown for Prefixed {
    async fn shutdown(&mut self) {
        Shutdown::shutdown(&mut *self.inner).await;
    }
}

impl UniqueID for Prefixed {
    fn id(&self) -> UniqueIDType {
        self.inner.id()
    }
}

impl Ssl for Prefixed {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.inner.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.inner.selected_alpn_proto()
    }
}

impl GetTimingDigest for Prefixed {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.inner.get_timing_digest()
    }
}

impl GetProxyDigest for Prefixed {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.inner.get_proxy_digest()
    }
}

impl GetSocketDigest for Prefixed {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.inner.get_socket_digest()
    }
}
