//! One call over a connection: the request, the heads of the answer, its body.

use super::body::Body;
use super::early_answer::has_final_answer;
use super::reading::poll_read;
use super::response;
use bytes::{Buf, Bytes, BytesMut};
use pingora_core::Result;
use pingora_core::protocols::Stream;
use pingora_error::{Error, ErrorType, OrErr};
use pingora_http::ResponseHeader;
use pingora_timeout::timeout;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::AsyncWrite;

/// A write up to this size enters an idle connection whole or not at all.
const ATOMIC_WRITE: usize = 4 << 10;

/// The most interim responses before the final one.
const MOST_INTERIM: usize = 64;

/// A connection to a model server that carries one call.
pub(crate) struct Http1Session {
    stream: Stream,
    /// Read and not used yet: of a head, or behind it.
    ahead: BytesMut,
    header: Option<Box<ResponseHeader>>,
    body: Option<Body>,
    keeps_connection: bool,
    /// There are bytes behind the answer, so that nobody knows what the next answer would be.
    has_surplus: bool,
}

/// How much of a request was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Whole,
    /// The answer came first.
    InPart,
}

/// A request that could not be written.
pub(crate) struct WriteFailure {
    pub(crate) error: Box<Error>,
    /// The server has received no byte of it.
    pub(crate) is_unsent: bool,
}

impl Http1Session {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            ahead: BytesMut::new(),
            header: None,
            body: None,
            keeps_connection: false,
            has_surplus: false,
        }
    }

    /// Writes head and body, in one system call where they are short. A blocked write ends once the server has
    /// answered: one that refuses a large body early, say with 413, reads no more of it.
    ///
    /// # Errors
    /// [`WriteFailure`] when the connection is lost, or when nothing could be written for `limit`.
    pub(crate) async fn write(
        &mut self,
        mut head: Bytes,
        body: &Bytes,
        limit: Duration,
    ) -> Result<Written, WriteFailure> {
        let mut body = body.clone();
        let total = head.len() + body.len();
        let writing = poll_fn(|cx| self.poll_write(cx, &mut head, &mut body));
        let error = match timeout(limit, writing).await {
            Ok(Ok(written)) => return Ok(written),
            Ok(Err(error)) => Error::because(ErrorType::WriteError, "writing the request", error),
            Err(_) => Error::explain(ErrorType::WriteTimedout, "writing the request"),
        };
        // TLS may send some of what it reports as not taken.
        let is_untouched =
            head.len() + body.len() == total && self.stream.get_ssl_digest().is_none();
        Err(WriteFailure {
            error,
            is_unsent: total <= ATOMIC_WRITE || is_untouched,
        })
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut Bytes,
        body: &mut Bytes,
    ) -> Poll<io::Result<Written>> {
        while head.has_remaining() || body.has_remaining() {
            let stream = Pin::new(&mut self.stream);
            let written = match head.is_empty() {
                true => stream.poll_write(cx, body),
                false => stream.poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(body)]),
            };
            match written {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    let of_head = count.min(head.len());
                    head.advance(of_head);
                    body.advance(count - of_head);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return self.poll_answer(cx).map(Ok),
            }
        }
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(flushed) => Poll::Ready(flushed.map(|()| Written::Whole)),
            Poll::Pending => self.poll_answer(cx).map(Ok),
        }
    }

    /// Ready once the server has answered or closed.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Written> {
        loop {
            let ahead = &mut self.ahead;
            let reading = poll_read(&mut self.stream, cx, |bytes| {
                ahead.extend_from_slice(bytes);
                bytes.is_empty()
            });
            let has_ended = ready!(reading).unwrap_or(true);
            if has_ended || has_final_answer(&self.ahead) {
                return Poll::Ready(Written::InPart);
            }
        }
    }

    /// Reads heads up to the final one. Interim responses (100, 103) end at the gateway.
    ///
    /// # Errors
    /// When the connection ends, or what comes is no answer.
    pub(crate) async fn read_final_head(&mut self) -> Result<()> {
        for _ in 0..=MOST_INTERIM {
            let header = self.read_head().await?;
            match header.status.as_u16() {
                101 => {
                    let why = "an upgrade that was not requested";
                    return Error::e_explain(ErrorType::InvalidHTTPHeader, why);
                }
                100..=199 => {}
                _ => {
                    let body = response::body(&header)?;
                    self.has_surplus = body.has_ended() && !self.ahead.is_empty();
                    self.keeps_connection =
                        response::keeps_connection(&header) && !matches!(body, Body::UntilClose);
                    self.body = Some(body);
                    self.header = Some(header);
                    // A copy, so that what is left keeps no buffer of the head in memory.
                    self.ahead = BytesMut::from(&*self.ahead);
                    return Ok(());
                }
            }
        }
        let why = "interim responses without end";
        Error::e_explain(ErrorType::InvalidHTTPHeader, why)
    }

    async fn read_head(&mut self) -> Result<Box<ResponseHeader>> {
        let mut seen = 0;
        loop {
            if let Some(header) = response::take_head(&mut self.ahead, seen)? {
                return Ok(header);
            }
            seen = self.ahead.len();
            let read = poll_fn(|cx| {
                let ahead = &mut self.ahead;
                poll_read(&mut self.stream, cx, |bytes| {
                    ahead.extend_from_slice(bytes);
                    bytes.len()
                })
            });
            let count = read.await;
            if count.or_err(ErrorType::ReadError, "reading the response head")? == 0 {
                let why = "the connection ended before a response head";
                return Error::e_explain(ErrorType::ConnectionClosed, why);
            }
        }
    }

    /// The final response head.
    pub(crate) fn header(&self) -> Option<&ResponseHeader> {
        self.header.as_deref()
    }

    /// The same, taken out.
    pub(crate) fn take_header(&mut self) -> Option<Box<ResponseHeader>> {
        self.header.take()
    }

    /// Whether the answer was read to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.body.as_ref().is_some_and(Body::has_ended)
    }

    /// The next bytes of the body, None at its end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the connection ends before the body, or its coding is broken.
    pub(crate) async fn read_body(&mut self) -> Result<Option<Bytes>> {
        poll_fn(|cx| self.poll_body(cx)).await
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>>> {
        let Some(body) = self.body.as_mut() else {
            return Poll::Ready(Ok(None));
        };
        while !body.has_ended() {
            let (part, count) = if self.ahead.is_empty() {
                let reading = poll_read(&mut self.stream, cx, |bytes| {
                    (body.decode(bytes), bytes.len())
                });
                match ready!(reading) {
                    Ok((_, 0)) if matches!(body, Body::UntilClose) => {
                        *body = Body::Length(0);
                        break;
                    }
                    Ok((_, 0)) => {
                        let why = "the connection ended before the response";
                        return Poll::Ready(Error::e_explain(ErrorType::ConnectionClosed, why));
                    }
                    Ok(read) => read,
                    Err(error) => {
                        let why = "reading the response";
                        return Poll::Ready(Error::e_because(ErrorType::ReadError, why, error));
                    }
                }
            } else {
                let ahead = std::mem::take(&mut self.ahead);
                (body.decode(&ahead), ahead.len())
            };
            let Ok(part) = part else {
                let why = "the response has broken chunks";
                return Poll::Ready(Error::e_explain(ErrorType::ReadError, why));
            };
            self.has_surplus |= part.used < count;
            if !part.data.is_empty() {
                return Poll::Ready(Ok(Some(part.data)));
            }
        }
        Poll::Ready(Ok(None))
    }

    /// The connection, where another call may follow on it.
    pub(crate) fn into_kept(self) -> Option<Stream> {
        let is_kept = self.keeps_connection && self.has_ended() && !self.has_surplus;
        is_kept.then_some(self.stream)
    }
}
