//! A connection with something of ours in front of it: bytes that were read already and are given
//! back first (the preface of clear-text HTTP/2), or a request's head that is held back until its
//! body comes, so that both leave in one write.

use async_trait::async_trait;
use bytes::{Buf, BytesMut};
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::SslDigest;
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    Stream, TimingDigest, UniqueID, UniqueIDType,
};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads `prefix`, then `inner`; writes to `inner`.
#[derive(Debug)]
pub(crate) struct Prefixed {
    prefix: BytesMut,
    held: Option<Held>,
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

impl Prefixed {
    /// `prefix` comes before what `inner` has to read.
    pub(crate) fn reading(prefix: BytesMut, inner: Stream) -> Self {
        Self {
            prefix,
            held: None,
            inner,
        }
    }

    /// What is written before the second flush leaves with it, if it is not long. The caller must
    /// flush twice.
    pub(crate) fn holding_first_flush(inner: Stream) -> Self {
        Self {
            prefix: BytesMut::new(),
            held: Some(Held::default()),
            inner,
        }
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

    /// The connection itself.
    pub(crate) fn into_inner(self) -> Stream {
        self.inner
    }
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let n = self.prefix.len().min(buf.remaining());
        buf.put_slice(&self.prefix[..n]);
        self.prefix.advance(n);
        Poll::Ready(Ok(()))
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
        ready!(self.poll_release(cx))?;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(held) = &mut self.held
            && !std::mem::replace(&mut held.flushed_once, true)
        {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_release(cx))?;
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
        if self.held.is_some() {
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
