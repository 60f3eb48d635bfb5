//! Downloads one file (§2.2, §7.3.2, CONTRACT 31): GET from addresses that the guard has admitted, checked
//! again at every redirect. There is no proxy, no cookie, no credential and no decompression: a file is what
//! the server sent.

use super::descriptor;
use super::file_error::FileError;
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

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;

type PinnedClient = Client<HttpsConnector<HttpConnector<Pinned>>, Empty<Bytes>>;

/// A downloaded file, with the name and the media type from its response.
pub(super) struct Fetched {
    pub(super) content: Bytes,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
}

/// Downloads files of at most `max_bytes`.
pub(super) struct Fetcher {
    guard: Guard,
    max_bytes: u64,
    /// Loaded with the first https URL; None where the system has no root certificates.
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

    /// Downloads the file at `url`. The caller bounds the time.
    ///
    /// # Errors
    /// Why the file is skipped.
    pub(super) async fn get(&self, mut url: Url) -> Result<Fetched, FileError> {
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.request(&url).await?;
            let status = answer.status();
            match (status.as_u16(), text(answer.headers(), LOCATION)) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    url = guard::redirected(&url, &location)?;
                }
                _ if status.is_success() => return self.read(&url, answer).await,
                (status, _) => return Err(FileError::Status(status)),
            }
        }
        Err(FileError::Unreachable("too many redirects"))
    }

    async fn request(&self, url: &Url) -> Result<Response<Incoming>, FileError> {
        let client = self.client(url, self.guard.addresses(url).await?)?;
        let request = Request::get(&url[..Position::AfterQuery])
            .header(ACCEPT, "*/*")
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, "monitor-gateway")
            .body(Empty::new())
            .map_err(|_| FileError::Malformed("the url is not a valid request target"))?;
        client.request(request).await.map_err(|error| {
            FileError::Unreachable(match error.is_connect() {
                true => "connection failed",
                false => "the connection broke",
            })
        })
    }

    /// A client for one request, which connects to these addresses only.
    fn client(&self, url: &Url, addresses: Vec<SocketAddr>) -> Result<PinnedClient, FileError> {
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
        let tls = tls.ok_or(FileError::Unreachable(
            "the system has no root certificates for https",
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

    async fn read(&self, url: &Url, answer: Response<Incoming>) -> Result<Fetched, FileError> {
        let (head, mut body) = answer.into_parts();
        if body.size_hint().lower() > self.max_bytes {
            return Err(FileError::TooLarge);
        }
        let mut content = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| FileError::Unreachable("the download broke off"))?;
            if let Some(data) = frame.data_ref() {
                if (content.len() + data.len()) as u64 > self.max_bytes {
                    return Err(FileError::TooLarge);
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

/// The media type of the bytes. An encoded body, which was not requested, is not of its Content-Type.
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

/// Resolves every name to the addresses that the guard has admitted.
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

    /// A later DNS answer does not matter: the download connects to the admitted address (DNS rebinding).
    #[tokio::test]
    async fn a_name_is_not_looked_up_again_once_its_addresses_are_admitted() {
        let admitted = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = admitted.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut peer, _) = admitted.accept().await.unwrap();
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
        let client = fetcher.client(&url, vec![address]).unwrap();
        let request = Request::get(url.as_str()).body(Empty::new()).unwrap();
        let answer = client.request(request).await.unwrap();
        let fetched = fetcher.read(&url, answer).await.unwrap();
        assert_eq!(fetched.content, "hi");
        let head = server.await.unwrap();
        assert!(
            head.contains(&format!("host: rebound.invalid:{port}")),
            "{head}"
        );
    }
}
