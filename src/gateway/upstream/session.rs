//! One call to a model server, over HTTP/1.1 or HTTP/2.

use super::http1::{Http1Session, WriteFailure, Written};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue};
use pingora_core::Result;
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::protocols::http::v1::client::http_req_header_to_wire;
use pingora_core::protocols::http::v2::{self, client::Http2Session};
use pingora_error::{Error, ErrorType};
use pingora_http::{RequestHeader, ResponseHeader};
use std::time::Duration;
use tokio::time::timeout;

/// How long an early answer is awaited after a request could not be written whole.
const EARLY_ANSWER: Duration = Duration::from_millis(500);

/// A connection that carries one call.
pub(crate) enum UpstreamSession {
    Http1(Box<Http1Session>),
    /// Pingora's session over HTTP/2.
    Http2(Box<HttpSession>),
}

/// A request head as the connection takes it.
#[derive(Clone)]
pub(crate) enum WireHead {
    Http1(Vec<u8>),
    /// For a connection whose protocol is negotiated.
    Any(Box<RequestHeader>),
}

impl UpstreamSession {
    pub(super) fn http1(stream: Stream) -> Self {
        Self::Http1(Box::new(Http1Session::new(stream)))
    }

    /// Writes head and body, at most `limit` long.
    ///
    /// # Errors
    /// [`WriteFailure`] when the connection is lost or stands still.
    pub(crate) async fn write(
        &mut self,
        head: WireHead,
        body: &Bytes,
        limit: Duration,
    ) -> Result<Written, WriteFailure> {
        match (self, head) {
            (Self::Http1(session), WireHead::Http1(head)) => {
                session.write(head.into(), body, limit).await
            }
            (Self::Http1(session), WireHead::Any(head)) => {
                let wire = http_req_header_to_wire(&head).ok_or_else(not_writable)?;
                session.write(wire.freeze(), body, limit).await
            }
            (Self::Http2(session), WireHead::Any(head)) => {
                Box::pin(write_http2(session, head, body)).await
            }
            (Self::Http2(_), WireHead::Http1(_)) => Err(not_writable()),
        }
    }

    /// Reads heads up to the final one.
    ///
    /// # Errors
    /// When the connection ends, or what comes is no answer.
    pub(crate) async fn read_final_head(&mut self) -> Result<()> {
        match self {
            Self::Http1(session) => session.read_final_head().await,
            Self::Http2(session) => Box::pin(read_http2_head(session)).await,
        }
    }

    /// Waits for an answer after a failed write. Over HTTP/2 the write has waited for it already.
    ///
    /// # Errors
    /// When none comes.
    pub(crate) async fn read_early_answer(&mut self) -> Result<()> {
        let late = || Err(Error::new_up(ErrorType::ConnectionClosed));
        match self {
            Self::Http1(session) => timeout(EARLY_ANSWER, session.read_final_head())
                .await
                .unwrap_or_else(|_| late()),
            Self::Http2(_) => late(),
        }
    }

    /// The final response head.
    pub(crate) fn header(&self) -> Option<&ResponseHeader> {
        match self {
            Self::Http1(session) => session.header(),
            Self::Http2(session) => session.response_header(),
        }
    }

    /// The same, taken out where nothing else needs it.
    pub(crate) fn take_header(&mut self) -> Option<Box<ResponseHeader>> {
        match self {
            Self::Http1(session) => session.take_header(),
            Self::Http2(session) => session.response_header().cloned().map(Box::new),
        }
    }

    /// The next bytes of the body, None at its end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the connection ends before the body, or its framing is broken.
    pub(crate) async fn read_body(&mut self) -> Result<Option<Bytes>> {
        match self {
            Self::Http1(session) => session.read_body().await,
            Self::Http2(session) => session.read_response_body().await,
        }
    }

    /// What [`Self::read_body`] would return without waiting.
    pub(crate) fn read_available(&mut self) -> Option<Result<Option<Bytes>>> {
        let has_ended = match self {
            Self::Http1(session) => session.has_ended(),
            Self::Http2(session) => session.response_done(),
        };
        match has_ended {
            true => None,
            false => self.read_body().now_or_never(),
        }
    }
}

fn not_writable() -> WriteFailure {
    let error = Error::explain(ErrorType::InvalidHTTPHeader, "the request head");
    let is_unsent = false;
    WriteFailure { error, is_unsent }
}

async fn write_http2(
    session: &mut HttpSession,
    head: Box<RequestHeader>,
    body: &Bytes,
) -> Result<Written, WriteFailure> {
    let is_unsent = is_short(&head);
    // The exchange measures its own timeouts.
    session.set_read_timeout(None);
    if let Err(error) = session.write_request_header(head).await {
        return Err(WriteFailure { error, is_unsent });
    }
    let HttpSession::H2(session) = session else {
        return Err(not_writable());
    };
    let written = write_http2_body(session, body).await;
    let is_unsent = false;
    written.map_err(|error| WriteFailure { error, is_unsent })
}

/// Writes the body over HTTP/2. When the stream was reset, the upstream may have answered before.
async fn write_http2_body(session: &mut Http2Session, body: &Bytes) -> Result<Written> {
    let Some(mut writer) = session.take_request_body_writer() else {
        return Ok(Written::Whole);
    };
    let limit = session.write_timeout;
    let failed = tokio::select! {
        biased;
        written = v2::write_body(&mut writer, body.clone(), true, limit) => match written {
            Ok(()) => return Ok(Written::Whole),
            Err(error) => error,
        },
        answered = session.read_response_header() => {
            return answered.map(|()| Written::InPart);
        }
    };
    match timeout(EARLY_ANSWER, session.read_response_header()).await {
        Ok(Ok(())) => Ok(Written::InPart),
        _ => Err(failed),
    }
}

/// Whether one write sends the head whole or not at all. Part of a longer one may have arrived.
fn is_short(head: &RequestHeader) -> bool {
    const SHORT: usize = 2 << 10;
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    head.raw_path().len() + head.headers.iter().map(line).sum::<usize>() <= SHORT
}

/// Reads heads up to the final one. Pingora panics when a body is read behind an interim head.
async fn read_http2_head(session: &mut HttpSession) -> Result<()> {
    let has_head = |session: &Http2Session| session.response_header().is_some();
    if session.as_http2().is_some_and(has_head) {
        return Ok(());
    }
    let invalid = |why| Error::e_explain(ErrorType::InvalidHTTPHeader, why);
    loop {
        session.read_response_header().await?;
        match session.response_header().map(|head| head.status.as_u16()) {
            Some(101) => return invalid("an upgrade that was not requested"),
            Some(100..=199) => {}
            Some(_) => return Ok(()),
            None => return invalid("no response head"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_head_that_one_write_sends_whole_is_short() {
        let mut head = RequestHeader::build("POST", b"/v1/chat/completions", None).unwrap();
        head.insert_header("authorization", "Bearer key").unwrap();
        assert!(is_short(&head));
        head.insert_header("x-long", "x".repeat(2 << 10)).unwrap();
        assert!(!is_short(&head));
    }
}
