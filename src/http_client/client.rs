//! Sends requests to one server and reads answers of a limited size. Wraps hyper's pooled client, whose
//! types stay in this file.
//!
//! Not `reqwest`: it wraps the same client, and everything it adds (redirects, cookies, proxies from the
//! environment, decompression) would have to be turned off again. A download must connect to the address
//! that was checked, and must keep the bytes as they were sent.

use super::connector::{Resolver, connector, no_certificates, system_certificates};
use super::tls::ReloadableTls;
use bytes::{Bytes, BytesMut};
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use monitor_model::Secret;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::timeout;

/// How long an idle connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(30);
const AGENT: HeaderValue = HeaderValue::from_static("monitor-gateway");

/// The body of a request. Most are in memory as a whole and need no box.
pub type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;

/// A body that is in memory as a whole.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(bytes.into()))
}

/// A body in parts.
pub fn in_parts(
    body: impl hyper::body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
) -> Body {
    Either::Right(body.boxed_unsync())
}

/// `Bearer` and a key as a value of `Authorization`; None if the key cannot be sent in a header.
pub fn bearer(key: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Why there is no answer, or no complete one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No connection: no byte of the request was sent.
    #[error("no connection")]
    Connect,
    /// The connection broke before the head of the answer.
    #[error("the connection broke")]
    Broken,
    /// The answer broke off within its body.
    #[error("the answer broke off")]
    Truncated,
    /// The body of the answer is larger than the caller reads.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The answer was not complete in time.
    #[error("no complete answer in time")]
    Late,
}

/// An answer whose body was read to its end, or as far as it was allowed to be.
#[derive(Debug)]
pub struct Answer {
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer.
    pub headers: HeaderMap,
    /// The whole body, or why it could not be read.
    pub body: Result<Bytes, ClientError>,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub struct UnreadAnswer {
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer.
    pub headers: HeaderMap,
    body: Incoming,
}

type Connections = Client<HttpsConnector<HttpConnector<Resolver>>, Body>;

/// A client over HTTP/1.1. Clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    connections: Connections,
    /// Keeps no connection.
    fresh: Connections,
}

impl HttpClient {
    /// A client for a server that is called often: connections are kept. With `tls` it speaks https only, with
    /// the authorities and the certificate of `material`, or with the system's authorities if there is none.
    ///
    /// # Errors
    /// When the system's trusted certificates cannot be read.
    pub fn pooled(tls: bool, material: Option<&Arc<ReloadableTls>>) -> io::Result<Self> {
        let config = match (tls, material) {
            (true, Some(material)) => material.config(),
            (true, None) => system_certificates()?,
            (false, _) => no_certificates(),
        };
        let connector = connector(tls, config, Resolver::System(GaiResolver::new()));
        let mut builder = Client::builder(TokioExecutor::new());
        let builder = builder
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new());
        Ok(Self {
            connections: builder.build(connector.clone()),
            fresh: unpooled(connector),
        })
    }

    /// A client for one request to one of these addresses, whatever the name in its URL resolves to.
    ///
    /// # Errors
    /// When the system's trusted certificates cannot be read.
    pub fn pinned(tls: bool, addresses: Vec<SocketAddr>) -> io::Result<Self> {
        let config = match tls {
            true => system_certificates()?,
            false => no_certificates(),
        };
        let connector = connector(tls, config, Resolver::Pinned(addresses));
        let connections = unpooled(connector);
        Ok(Self {
            fresh: connections.clone(),
            connections,
        })
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// [`ClientError::Connect`] and [`ClientError::Broken`].
    pub async fn open(&self, request: Request<Body>) -> Result<UnreadAnswer, ClientError> {
        open(&self.connections, request).await
    }

    /// Like [`Self::open`], for a request that does no harm when it arrives twice. A server may close a connection
    /// while the request is on its way over it: if one breaks, the request is made `again` and sent over a new one.
    ///
    /// # Errors
    /// [`ClientError::Connect`] and [`ClientError::Broken`].
    pub async fn open_repeatable(
        &self,
        request: Request<Body>,
        again: impl FnOnce() -> Option<Request<Body>>,
    ) -> Result<UnreadAnswer, ClientError> {
        let answer = self.open(request).await;
        if !matches!(answer, Err(ClientError::Broken)) {
            return answer;
        }
        match again() {
            Some(again) => open(&self.fresh, again).await,
            None => answer,
        }
    }

    /// Sends a request and reads the answer with at most `largest` bytes of body; `within` bounds all of it.
    ///
    /// # Errors
    /// When no response head arrives, or the answer is not complete in time.
    pub async fn send(
        &self,
        request: Request<Body>,
        largest: usize,
        within: Duration,
    ) -> Result<Answer, ClientError> {
        whole_answer(self.open(request), largest, within).await
    }

    /// Like [`Self::send`], for a request that does no harm when it arrives twice: see [`Self::open_repeatable`].
    ///
    /// # Errors
    /// When no response head arrives, or the answer is not complete in time.
    pub async fn send_repeatable(
        &self,
        request: Request<Body>,
        again: impl FnOnce() -> Option<Request<Body>>,
        largest: usize,
        within: Duration,
    ) -> Result<Answer, ClientError> {
        whole_answer(self.open_repeatable(request, again), largest, within).await
    }
}

async fn open(
    connections: &Connections,
    mut request: Request<Body>,
) -> Result<UnreadAnswer, ClientError> {
    request.headers_mut().insert(USER_AGENT, AGENT);
    let answer = connections.request(request).await;
    let answer = answer.map_err(|error| match error.is_connect() {
        true => ClientError::Connect,
        false => ClientError::Broken,
    })?;
    let (head, body) = answer.into_parts();
    Ok(UnreadAnswer {
        status: head.status,
        headers: head.headers,
        body,
    })
}

async fn whole_answer(
    opening: impl Future<Output = Result<UnreadAnswer, ClientError>>,
    largest: usize,
    within: Duration,
) -> Result<Answer, ClientError> {
    let answer = async {
        let UnreadAnswer {
            status,
            headers,
            body,
        } = opening.await?;
        Ok(Answer {
            status,
            headers,
            body: read(body, largest).await,
        })
    };
    let answer = timeout(within, answer).await;
    answer.unwrap_or(Err(ClientError::Late))
}

fn unpooled(connector: HttpsConnector<HttpConnector<Resolver>>) -> Connections {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0).build(connector)
}

impl UnreadAnswer {
    /// The body, at most `largest` bytes.
    ///
    /// # Errors
    /// [`ClientError::Truncated`] and [`ClientError::TooLarge`].
    pub async fn read(self, largest: usize) -> Result<Bytes, ClientError> {
        read(self.body, largest).await
    }

    /// The bytes of body that the head announces; 0 where it does not say.
    pub fn announced_bytes(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// The next part of the body; None at its end.
    ///
    /// # Errors
    /// [`ClientError::Truncated`] when the connection ends before the body does.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|_| ClientError::Truncated)?;
            if let Ok(chunk) = frame.into_data() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}

/// Reads a body. One that arrives in one chunk is not copied.
async fn read(mut body: Incoming, largest: usize) -> Result<Bytes, ClientError> {
    if body.size_hint().lower() > largest as u64 {
        return Err(ClientError::TooLarge(largest));
    }
    let (mut first, mut joined) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ClientError::Truncated)?;
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        if first.len() + joined.len() + chunk.len() > largest {
            return Err(ClientError::TooLarge(largest));
        }
        if first.is_empty() && joined.is_empty() {
            first = chunk;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut first));
            joined.extend_from_slice(&chunk);
        }
    }
    Ok(match joined.is_empty() {
        true => first,
        false => joined.freeze(),
    })
}

#[cfg(test)]
mod tests;
