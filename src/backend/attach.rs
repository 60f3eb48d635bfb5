//! The request that attaches a file to a record (CONTRACT 29): one multipart body with one
//! `attached_files` part. Where the file comes from is the gateway's business.

use crate::http_client::{Body, in_parts};
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http_body_util::StreamBody;
use hyper::body::Frame;
use thiserror::Error;
use uuid::Uuid;

/// The field of every part.
const FIELD: &str = "attached_files";

/// One attached file.
#[derive(Clone)]
pub struct Attachment {
    /// The file name, without path separators and control characters.
    pub name: String,
    /// The media type: visible ASCII and spaces.
    pub content_type: String,
    /// The content of the file.
    pub content: Bytes,
}

/// Why the backend has not taken a file. The messages contain nothing of it.
#[derive(Debug, Error)]
pub enum AttachError {
    /// The backend refuses it (4xx); sending it again would not help.
    #[error("the backend refused it (status {0})")]
    Refused(u16),
    /// The backend cannot be reached, or asks to wait.
    #[error("the backend did not take it: {0}")]
    Unavailable(&'static str),
    /// The backend was asked, and is too slow or broken.
    #[error("the backend did not take it: {0}")]
    Failed(String),
}

impl AttachError {
    /// The error for a status that is not a success.
    pub fn of_status(status: u16) -> Self {
        match status {
            408 | 429 => Self::Unavailable("it asks to wait"),
            // The backend's store, or a proxy before it, has nothing against the file.
            502..=504 => Self::Unavailable("it is not ready"),
            400..=499 => Self::Refused(status),
            _ => Self::Failed(format!("status {status}")),
        }
    }
}

/// A body with its Content-Type and its length.
pub(super) struct Multipart {
    pub(super) body: Body,
    pub(super) content_type: HeaderValue,
    pub(super) length: u64,
}

/// None if the media type cannot be the value of a header.
pub(super) fn multipart(file: Attachment) -> Option<Multipart> {
    let boundary = Uuid::new_v4().simple();
    HeaderValue::try_from(&file.content_type).ok()?;
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{FIELD}\"; filename=\"{}\"\r\n\
         Content-Type: {}\r\n\r\n",
        quoted(&file.name),
        file.content_type,
    );
    let parts = [
        Bytes::from(head),
        file.content,
        Bytes::from(format!("\r\n--{boundary}--\r\n")),
    ];
    let length = parts.iter().map(|part| part.len() as u64).sum();
    let content_type = format!("multipart/form-data; boundary={boundary}");
    Some(Multipart {
        body: in_parts(StreamBody::new(stream::iter(
            parts.map(|part| Ok(Frame::data(part))),
        ))),
        content_type: HeaderValue::try_from(content_type).ok()?,
        length,
    })
}

/// Escapes a file name as browsers do (WHATWG HTML, multipart form data).
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn the_body_is_as_long_as_it_says_and_a_name_cannot_leave_its_quotes() {
        let file = Attachment {
            name: "a\"; x=\"\r\nb.txt".into(),
            content_type: "text/plain".into(),
            content: Bytes::from_static(b"content"),
        };
        let multipart = multipart(file).unwrap();
        let length = multipart.length;
        let body = multipart.body.collect().await.unwrap().to_bytes();
        assert_eq!(body.len() as u64, length);
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(
            text.contains("filename=\"a%22; x=%22%0D%0Ab.txt\"\r\n"),
            "{text}"
        );
        assert!(text.contains("\r\n\r\ncontent\r\n--"), "{text}");
    }

    #[test]
    fn a_media_type_that_would_break_the_head_is_refused() {
        let file = Attachment {
            name: "a".into(),
            content_type: "text/plain\r\nX: y".into(),
            content: Bytes::new(),
        };
        assert!(multipart(file).is_none());
    }
}
