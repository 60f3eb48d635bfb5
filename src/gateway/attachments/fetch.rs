//! Downloads one file (§2.2, §7.3.2, CONTRACT 31): GET from addresses that the guard has admitted, checked
//! again at every redirect. There is no proxy, no cookie, no credential and no decompression: a file is what
//! the server sent.

use super::descriptor;
use super::file_error::FileError;
use super::file_memory::FileMemory;
use super::guard::{self, Guard};
use crate::http_client::{ClientError, HttpClient, UnreadAnswer, whole};
use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, LOCATION,
};
use http::{HeaderMap, HeaderName, Request};
use url::{Position, Url};

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;

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
}

impl Fetcher {
    pub(super) fn new(guard: Guard, max_bytes: u64) -> Self {
        Self { guard, max_bytes }
    }

    /// Downloads the file at `url`. The caller bounds the time.
    ///
    /// # Errors
    /// Why the file is skipped.
    pub(super) async fn get(
        &self,
        mut url: Url,
        memory: &mut FileMemory,
    ) -> Result<Fetched, FileError> {
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.request(&url).await?;
            let status = answer.status;
            match (status.as_u16(), text(&answer.headers, LOCATION)) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    url = guard::redirected(&url, &location)?;
                }
                _ if status.is_success() => return self.read(&url, answer, memory).await,
                (status, _) => return Err(FileError::Status(status)),
            }
        }
        Err(FileError::Unreachable("too many redirects"))
    }

    /// Sends one request from a client that connects to the admitted addresses only.
    async fn request(&self, url: &Url) -> Result<UnreadAnswer, FileError> {
        let addresses = self.guard.addresses(url).await?;
        let client = HttpClient::pinned(url.scheme() == "https", addresses)
            .map_err(|_| FileError::Unreachable("the system has no root certificates for https"))?;
        let request = Request::get(&url[..Position::AfterQuery])
            .header(ACCEPT, "*/*")
            .header(ACCEPT_ENCODING, "identity")
            .body(whole(Bytes::new()))
            .map_err(|_| FileError::Malformed("the url is not a valid request target"))?;
        client.open(request).await.map_err(file_error)
    }

    async fn read(
        &self,
        url: &Url,
        mut answer: UnreadAnswer,
        memory: &mut FileMemory,
    ) -> Result<Fetched, FileError> {
        let content = self.content(&mut answer, memory).await?;
        let headers = answer.headers;
        let disposition = text(&headers, CONTENT_DISPOSITION);
        let disposed = || descriptor::name_of_disposition(&disposition?);
        Ok(Fetched {
            content,
            name: descriptor::name_in(url).or_else(disposed),
            kind: kind(&headers),
        })
    }

    /// The body. Its buffer may have room for twice its bytes while it grows.
    async fn content(
        &self,
        answer: &mut UnreadAnswer,
        memory: &mut FileMemory,
    ) -> Result<Bytes, FileError> {
        let most = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
        if answer.announced_bytes() > self.max_bytes {
            return Err(FileError::TooLarge);
        }
        let mut content = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(file_error)? {
            let length = content.len() + chunk.len();
            if length > most {
                return Err(FileError::TooLarge);
            }
            memory.cover(2 * length).await?;
            content.extend_from_slice(&chunk);
        }
        Ok(content.freeze())
    }
}

fn file_error(error: ClientError) -> FileError {
    match error {
        ClientError::Connect => FileError::Unreachable("connection failed"),
        ClientError::Broken => FileError::Unreachable("the connection broke"),
        ClientError::Truncated => FileError::Unreachable("the download broke off"),
        ClientError::TooLarge(_) => FileError::TooLarge,
        ClientError::Late => FileError::Unreachable("no answer in time"),
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
