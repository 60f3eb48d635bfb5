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
    /// while the request is on its way over it: if a connection breaks, the request is sent once more over a new one.
    ///
    /// # Errors
    /// [`ClientError::Connect`] and [`ClientError::Broken`].
    pub async fn open_repeatable(
        &self,
        request: Request<Body>,
    ) -> Result<UnreadAnswer, ClientError> {
        let again = copy(&request);
        match (self.open(request).await, again) {
            (Err(ClientError::Broken), Some(again)) => open(&self.fresh, again).await,
            (answer, _) => answer,
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
        largest: usize,
        within: Duration,
    ) -> Result<Answer, ClientError> {
        whole_answer(self.open_repeatable(request), largest, within).await
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

/// A request once more; None for one whose body is not in memory.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let Either::Left(body) = request.body() else {
        return None;
    };
    let mut copy = Request::new(Either::Left(body.clone()));
    request.method().clone_into(copy.method_mut());
    request.uri().clone_into(copy.uri_mut());
    request.headers().clone_into(copy.headers_mut());
    Some(copy)
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// A server that gives one answer; its task returns the request head.
    async fn once(answer: &'static str) -> (SocketAddr, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut peer, _) = listener.accept().await.unwrap();
            let mut head = [0; 1024];
            let read = peer.read(&mut head).await.unwrap();
            peer.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(head[..read].to_vec()).unwrap()
        });
        (address, server)
    }

    /// A download connects to the address that was checked, whatever its name resolves to later.
    #[tokio::test]
    async fn a_pinned_client_resolves_no_name() {
        let (address, server) = once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await;
        let client = HttpClient::pinned(false, vec![address]).unwrap();
        let url = format!("http://rebound.invalid:{}/a", address.port());
        let request = Request::get(url).body(whole("")).unwrap();
        let mut answer = client.open(request).await.unwrap();
        assert_eq!(answer.announced_bytes(), 2);
        assert_eq!(answer.chunk().await.unwrap().unwrap(), "hi");
        assert!(answer.chunk().await.unwrap().is_none());
        let head = server.await.unwrap();
        let host = format!("host: rebound.invalid:{}", address.port());
        assert!(head.contains(&host), "{head}");
    }

    /// A server may close a connection while the next request is on its way over it.
    #[tokio::test]
    async fn a_repeatable_request_over_a_connection_that_breaks_is_sent_once_more() {
        const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let mut requests = Vec::new();
            // The second request of the first connection, and the first of the third, get no answer.
            for answered in [1, 1, 0, 0] {
                let (mut peer, _) = listener.accept().await.unwrap();
                for number in 0..=answered {
                    let mut head = [0; 1024];
                    let read = peer.read(&mut head).await.unwrap();
                    requests.push(head[..read].to_vec());
                    if number < answered {
                        peer.write_all(ANSWER).await.unwrap();
                    }
                }
            }
            requests
        });
        let client = HttpClient::pooled(false, None).unwrap();
        let request = || {
            let request = Request::post(format!("http://{address}/")).header("a", "b");
            request.body(whole("body")).unwrap()
        };
        let send = || client.send_repeatable(request(), 4, Duration::from_secs(60));
        assert_eq!(send().await.unwrap().body.unwrap(), "hi");
        // Once more over a new connection, which is not kept.
        assert_eq!(send().await.unwrap().body.unwrap(), "hi");
        // Not a third time.
        assert_eq!(send().await.unwrap_err(), ClientError::Broken);
        let requests = server.await.unwrap();
        assert!(requests[0].ends_with(b"body"));
        let whole = requests.iter().filter(|request| **request == requests[0]);
        assert_eq!(whole.count(), 5);
    }

    #[tokio::test]
    async fn the_chunks_of_an_answer_are_joined() {
        let chunks = "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n";
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer: &'static str = format!("{head}{chunks}").leak();
        let (address, _server) = once(answer).await;
        let client = HttpClient::pooled(false, None).unwrap();
        let request = Request::get(format!("http://{address}/")).body(whole(""));
        let answer = client.send(request.unwrap(), 4, Duration::from_secs(60));
        assert_eq!(answer.await.unwrap().body.unwrap(), "abcd");
    }

    #[tokio::test]
    async fn an_answer_over_the_bound_keeps_its_head() {
        for answer in [
            "HTTP/1.1 418 X\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 418 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ] {
            let (address, _server) = once(answer).await;
            let client = HttpClient::pooled(false, None).unwrap();
            let request = Request::get(format!("http://{address}/")).body(whole(""));
            let answer = client.send(request.unwrap(), 2, Duration::from_secs(60));
            let answer = answer.await.unwrap();
            assert_eq!(answer.status.as_u16(), 418);
            assert_eq!(answer.body.unwrap_err(), ClientError::TooLarge(2));
        }
    }
}
