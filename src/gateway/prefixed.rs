//! A connection with something of ours in front of it: bytes that were read already and are given
//! back first (the preface of clear-text HTTP/2), or a first flush that is held back, so that a
//! small request's head and body leave in one packet.

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
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads `prefix`, then `inner`; writes to `inner`.
#[derive(Debug)]
pub(crate) struct Prefixed {
    prefix: BytesMut,
    hold_first_flush: bool,
    inner: Stream,
}

impl Prefixed {
    /// `prefix` comes before what `inner` has to read.
    pub(crate) fn reading(prefix: BytesMut, inner: Stream) -> Self {
        Self {
            prefix,
            hold_first_flush: false,
            inner,
        }
    }

    /// The first flush is left to the second one. The caller must flush again.
    pub(crate) fn holding_first_flush(inner: Stream) -> Self {
        Self {
            prefix: BytesMut::new(),
            hold_first_flush: true,
            inner,
        }
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
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.hold_first_flush) {
            return Poll::Ready(Ok(()));
        }
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
