//! Sends requests to one server and reads answers of a limited size. Wraps hyper's pooled client, whose
//! types stay in this file.
//!
//! Not `reqwest`: it wraps the same client, and everything it adds (redirects, cookies, proxies from the
//! environment, decompression) would have to be turned off again. A download must connect to the address
//! that was checked, and must keep the bytes as they were sent.

use super::tls::ReloadableTls;
use bytes::{Bytes, BytesMut};
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use monitor_model::Secret;
use rustls::{ClientConfig, RootCertStore};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use thiserror::Error;
use tokio::time::timeout;
use tower_service::Service;

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

/// A client over HTTP/1.1. Clones share their connections.
#[derive(Clone)]
pub struct HttpClient(Client<HttpsConnector<HttpConnector<Resolver>>, Body>);

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
        Ok(Self(builder.build(connector)))
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
        let mut builder = Client::builder(TokioExecutor::new());
        Ok(Self(builder.pool_max_idle_per_host(0).build(connector)))
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// [`ClientError::Connect`] and [`ClientError::Broken`].
    pub async fn open(&self, mut request: Request<Body>) -> Result<UnreadAnswer, ClientError> {
        request.headers_mut().insert(USER_AGENT, AGENT);
        let answer = self.0.request(request).await;
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
        let answer = async {
            let UnreadAnswer {
                status,
                headers,
                body,
            } = self.open(request).await?;
            Ok(Answer {
                status,
                headers,
                body: read(body, largest).await,
            })
        };
        timeout(within, answer)
            .await
            .unwrap_or(Err(ClientError::Late))
    }
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

fn connector(
    tls: bool,
    config: ClientConfig,
    resolver: Resolver,
) -> HttpsConnector<HttpConnector<Resolver>> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    // A client waits for the verdict: no byte of a request may wait for the acknowledgement of another.
    tcp.set_nodelay(true);
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    let builder = match tls {
        true => builder.https_only(),
        false => builder.https_or_http(),
    };
    builder.enable_http1().wrap_connector(tcp)
}

/// The system's authorities, read once, before the first call over TLS.
fn system_certificates() -> io::Result<ClientConfig> {
    static READ: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = READ.get() {
        return Ok(config.clone());
    }
    let config = ClientConfig::builder().with_native_roots()?;
    Ok(READ.get_or_init(|| config.with_no_client_auth()).clone())
}

/// The configuration for http, which checks no certificate.
fn no_certificates() -> ClientConfig {
    ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

/// Resolves the names of servers.
#[derive(Clone)]
enum Resolver {
    System(GaiResolver),
    /// Every name resolves to these addresses, which were checked before.
    Pinned(Vec<SocketAddr>),
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::System(resolver) => resolver.poll_ready(context),
            Self::Pinned(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, name: Name) -> Self::Future {
        match self {
            Self::System(resolver) => {
                let found = resolver.call(name);
                Box::pin(async { Ok(found.await?.collect::<Vec<_>>().into_iter()) })
            }
            Self::Pinned(addresses) => {
                let addresses = addresses.clone().into_iter();
                Box::pin(async { Ok(addresses) })
            }
        }
    }
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
