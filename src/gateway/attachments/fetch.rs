//! One download (§2.2, §7.3.2, CONTRACT 31): GET from addresses that the guard has judged, and again at
//! every redirect. No proxy, no cookies, no credentials, and nothing is decompressed: a file is what
//! was sent.

use super::descriptor;
use super::fault::Fault;
use super::guard::{self, Guard};
use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, LOCATION,
    USER_AGENT,
};
use http::{HeaderMap, HeaderName, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use url::{Position, Url};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

type Web = Client<HttpsConnector<HttpConnector<Pinned>>, Empty<Bytes>>;

/// A downloaded file and what its answer says of it.
pub(super) struct Fetched {
    pub(super) content: Bytes,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
}

/// Downloads files of at most so many bytes.
pub(super) struct Fetcher {
    guard: Guard,
    max_bytes: u64,
    /// Read when the first https URL comes; None where the system has no certificates.
    tls: OnceLock<Option<ClientConfig>>,
}

impl Fetcher {
    pub(super) fn new(guard: Guard, max_bytes: u64) -> Self {
        Self {
            guard,
            max_bytes,
            tls: OnceLock::new(),
        }
    }

    /// # Errors
    /// The file's [`Fault`]; the time is the caller's to bound.
    pub(super) async fn get(&self, mut url: Url) -> Result<Fetched, Fault> {
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.ask(&url).await?;
            let status = answer.status();
            match (status.as_u16(), text(answer.headers(), LOCATION)) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    url = guard::redirected(&url, &location)?;
                }
                _ if status.is_success() => return self.read(&url, answer).await,
                (status, _) => return Err(Fault::Status(status)),
            }
        }
        Err(Fault::Unreachable("it is redirected too often"))
    }

    async fn ask(&self, url: &Url) -> Result<Response<Incoming>, Fault> {
        let web = self.web(url, self.guard.addresses(url).await?)?;
        let request = Request::get(&url[..Position::AfterQuery])
            .header(ACCEPT, "*/*")
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, "monitor-gateway")
            .body(Empty::new())
            .map_err(|_| Fault::Malformed("its url cannot be asked for"))?;
        web.request(request).await.map_err(|error| {
            Fault::Unreachable(match error.is_connect() {
                true => "no connection",
                false => "the connection broke",
            })
        })
    }

    /// A client for one hop: it reaches these addresses and nothing else.
    fn web(&self, url: &Url, addresses: Vec<SocketAddr>) -> Result<Web, Fault> {
        let mut tcp = HttpConnector::new_with_resolver(Pinned(addresses));
        tcp.enforce_http(false);
        let tls = match url.scheme() {
            "https" => self.tls.get_or_init(system_certificates).clone(),
            _ => Some(
                ClientConfig::builder()
                    .with_root_certificates(RootCertStore::empty())
                    .with_no_client_auth(),
            ),
        };
        let tls = tls.ok_or(Fault::Unreachable(
            "the system has no certificates for https",
        ))?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Ok(Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(connector))
    }

    async fn read(&self, url: &Url, answer: Response<Incoming>) -> Result<Fetched, Fault> {
        let (head, mut body) = answer.into_parts();
        if body.size_hint().lower() > self.max_bytes {
            return Err(Fault::TooLarge);
        }
        let mut content = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Fault::Unreachable("the download broke off"))?;
            if let Some(data) = frame.data_ref() {
                if (content.len() + data.len()) as u64 > self.max_bytes {
                    return Err(Fault::TooLarge);
                }
                content.extend_from_slice(data);
            }
        }
        let disposition = text(&head.headers, CONTENT_DISPOSITION);
        let disposed = || descriptor::name_of_disposition(&disposition?);
        Ok(Fetched {
            content: content.freeze(),
            name: descriptor::name_in(url).or_else(disposed),
            kind: kind(&head.headers),
        })
    }
}

/// What the bytes are: those of an encoding that was not asked for are not what Content-Type names.
fn kind(headers: &HeaderMap) -> Option<String> {
    match text(headers, CONTENT_ENCODING).as_deref().map(str::trim) {
        None | Some("" | "identity") => descriptor::media_type(&text(headers, CONTENT_TYPE)?),
        Some("gzip" | "x-gzip") => Some("application/gzip".into()),
        Some(_) => Some(descriptor::UNKNOWN_TYPE.into()),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn system_certificates() -> Option<ClientConfig> {
    let config = ClientConfig::builder().with_native_roots().ok()?;
    Some(config.with_no_client_auth())
}

/// Resolves every name to the addresses that were judged.
#[derive(Clone)]
struct Pinned(Vec<SocketAddr>);

impl tower_service::Service<Name> for Pinned {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        ready(Ok(self.0.clone().into_iter()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::FilesSettings;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// What a name means later is nothing to a download: the judged address is the one asked.
    #[tokio::test]
    async fn a_name_is_not_looked_up_again_once_its_addresses_are_judged() {
        let judged = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = judged.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut peer, _) = judged.accept().await.unwrap();
            let mut head = [0; 1024];
            let read = peer.read(&mut head).await.unwrap();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
            peer.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(head[..read].to_vec()).unwrap()
        });
        let settings = FilesSettings {
            max_bytes: 2,
            max_concurrency: 1,
            timeout: Duration::from_secs(60),
            allow_networks: Vec::new(),
            allow_hosts: Vec::new(),
        };
        let fetcher = Fetcher::new(Guard::new(&settings), settings.max_bytes);
        let port = address.port();
        let url = Url::parse(&format!("http://rebound.invalid:{port}/a")).unwrap();
        let web = fetcher.web(&url, vec![address]).unwrap();
        let request = Request::get(url.as_str()).body(Empty::new()).unwrap();
        let answer = web.request(request).await.unwrap();
        let fetched = fetcher.read(&url, answer).await.unwrap();
        assert_eq!(fetched.content, "hi");
        let head = server.await.unwrap();
        assert!(
            head.contains(&format!("host: rebound.invalid:{port}")),
            "{head}"
        );
    }
}
