//! The head that a model server gets: the client's without what concerns the gateway and the client's connection, with
//! the server's Host and path (CONTRACT 8).

use super::{REQUEST_ID, content_length, is_extension, is_hop_by_hop, nominated};
use crate::config::BaseUrl;
use http::{HeaderName, HeaderValue, Version};
use pingora_core::Result;
use pingora_error::{Error, ErrorType, OrErr};
use pingora_http::{HeaderNameVariant, RequestHeader};

const USUAL_HEAD: usize = 1 << 10;

/// The server's address, as its requests have it.
pub(crate) struct UpstreamTarget {
    host: HeaderValue,
    prefix: String,
}

impl UpstreamTarget {
    /// None where the URL's host cannot stand in a header.
    pub(crate) fn new(base: &BaseUrl) -> Option<Self> {
        Some(Self {
            host: authority(base).try_into().ok()?,
            prefix: base.prefix.clone(),
        })
    }
}

/// The `Host` of a URL, without the default port of its scheme.
pub(super) fn authority(base: &BaseUrl) -> String {
    let implied = if base.tls { 443 } else { 80 };
    let host = if base.host.contains(':') {
        format!("[{}]", base.host)
    } else {
        base.host.clone()
    };
    if base.port == implied {
        host
    } else {
        format!("{host}:{}", base.port)
    }
}

/// A client's head with what is different for the server.
pub(crate) struct UpstreamHead<'a> {
    client: &'a RequestHeader,
    target: String,
    nominated: Vec<HeaderName>,
    removed: Vec<HeaderName>,
    set: Vec<Set>,
    version: Version,
}

/// A header that the gateway sets, in place of the client's.
struct Set {
    /// As it is written.
    name: &'static str,
    value: HeaderValue,
}

impl<'a> UpstreamHead<'a> {
    /// `length` is that of a body that the gateway holds whole; without it pingora frames the body.
    ///
    /// # Errors
    /// Where the target cannot be written in a request line.
    pub(crate) fn new(
        client: &'a RequestHeader,
        server: &UpstreamTarget,
        request_id: &str,
        length: Option<usize>,
    ) -> Result<Self> {
        let path = client.uri.path_and_query();
        let path = path.map_or("/", |path| path.as_str());
        let target = format!("{}{path}", server.prefix);
        if target
            .bytes()
            .any(|byte| matches!(byte, 0 | b'\n' | b'\r' | b' '))
        {
            return Error::e_explain(ErrorType::InvalidHTTPHeader, "the request target");
        }
        let mut head = Self {
            client,
            target,
            nominated: nominated(&client.headers),
            removed: Vec::new(),
            set: Vec::with_capacity(4),
            version: client.version,
        };
        head.set("Host", server.host.clone());
        let id = HeaderValue::from_str(request_id);
        head.set(
            REQUEST_ID,
            id.or_err(ErrorType::InvalidHTTPHeader, "the request id")?,
        );
        if let Some(length) = length {
            head.version = Version::HTTP_11;
            head.set("Content-Length", length.into());
        } else if let Some(length) = content_length(&client.headers) {
            head.set("Content-Length", length.into());
        }
        Ok(head)
    }

    /// Sets a header in place of the client's. `name` is as it is written.
    pub(crate) fn set(&mut self, name: &'static str, value: HeaderValue) {
        self.set.push(Set { name, value });
    }

    /// Leaves a header out.
    pub(crate) fn remove(&mut self, name: HeaderName) {
        self.removed.push(name);
    }

    fn passes(&self, name: &HeaderName) -> bool {
        !(is_hop_by_hop(name)
            || is_extension(name)
            || self.nominated.contains(name)
            || self.removed.contains(name))
    }

    /// The head as HTTP/1.1 writes it, with the client's spelling of names.
    ///
    /// # Errors
    /// None that a head which was read can cause.
    pub(crate) fn to_http1(&self) -> Result<Vec<u8>> {
        let mut wire = Vec::with_capacity(USUAL_HEAD);
        let method = self.client.method.as_str();
        for part in [method, " ", &self.target, " HTTP/1.1\r\n"] {
            wire.extend_from_slice(part.as_bytes());
        }
        // The same order as that of `map`, which knows the spelling alone.
        let mut names = self.client.headers.iter().map(|(name, _)| name);
        // Which of the set headers stand already.
        let mut standing = 0_u32;
        self.client.map(|spelling, value| {
            let Some(name) = names.next().filter(|name| self.passes(name)) else {
                return Ok(());
            };
            let spelling = match &spelling {
                HeaderNameVariant::Case(name) => name.as_slice(),
                HeaderNameVariant::Titled(name) => name.as_bytes(),
            };
            let set = self.set.iter();
            let set = set.enumerate().find(|(_, set)| set.is_named(name));
            let value = match set {
                None => value,
                Some((at, _)) if standing & 1 << at != 0 => return Ok(()),
                Some((at, set)) => {
                    standing |= 1 << at;
                    &set.value
                }
            };
            write_line(&mut wire, spelling, value);
            Ok(())
        })?;
        for (at, set) in self.set.iter().enumerate() {
            if standing & 1 << at == 0 {
                write_line(&mut wire, set.name.as_bytes(), &set.value);
            }
        }
        wire.extend_from_slice(b"\r\n");
        Ok(wire)
    }

    /// The head as pingora writes it, over HTTP/1.1 or HTTP/2.
    ///
    /// # Errors
    /// None that a head which was read can cause.
    pub(crate) fn to_header(&self) -> Result<RequestHeader> {
        let mut head = self.client.clone();
        let names = self.client.headers.keys();
        for name in names.filter(|name| !self.passes(name)) {
            head.remove_header(name);
        }
        for set in &self.set {
            head.insert_header(set.name, set.value.clone())?;
        }
        head.set_version(self.version);
        head.set_raw_path(self.target.as_bytes())?;
        Ok(head)
    }
}

impl Set {
    fn is_named(&self, name: &HeaderName) -> bool {
        self.name.eq_ignore_ascii_case(name.as_str())
    }
}

fn write_line(wire: &mut Vec<u8>, name: &[u8], value: &HeaderValue) {
    for part in [name, b": ", value.as_bytes(), b"\r\n"] {
        wire.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use pingora_core::protocols::http::v1::client::http_req_header_to_wire;

    fn target(prefix: &str) -> UpstreamTarget {
        UpstreamTarget {
            host: HeaderValue::from_static("model.example:8080"),
            prefix: prefix.into(),
        }
    }

    #[test]
    fn both_forms_of_a_head_are_written_alike() {
        const LINES: [(&str, &str); 12] = [
            ("Host", "gateway"),
            ("hOST", "again"),
            ("Content-Length", "5"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "X-Custom, close"),
            ("X-Custom", "1"),
            ("x-Monitor-Api-Key", "k"),
            ("X_USER_ID", "u"),
            ("X-Request-ID", "theirs"),
            ("Accept", "a"),
            ("accept", "b"),
            ("Accept-Encoding", "gzip"),
        ];
        for chosen in 0_u32..1 << LINES.len() {
            let path: &[u8] = b"/v1/chat/completions?a=%20";
            let mut client = RequestHeader::build("POST", path, None).unwrap();
            let lines = LINES.iter().enumerate();
            for (_, (name, value)) in lines.filter(|(at, _)| chosen & 1 << at != 0) {
                client.append_header((*name).to_owned(), *value).unwrap();
            }
            let target = target("/base");
            let mut head = UpstreamHead::new(&client, &target, "id-1", Some(7)).unwrap();
            head.set("accept-encoding", HeaderValue::from_static("identity"));
            head.remove(http::header::ACCEPT);
            let wire = String::from_utf8(head.to_http1().unwrap()).unwrap();
            let header = head.to_header().unwrap();
            let expected = http_req_header_to_wire(&header).unwrap();
            let expected = String::from_utf8(expected.to_vec()).unwrap();
            // Pingora moves a header where another one was removed, and writes names that it sets as they are given.
            assert_eq!(lines_of(&wire), lines_of(&expected), "{chosen:b}");
        }
    }

    /// The request line, and the other lines in their order, their names in lower case.
    fn lines_of(head: &str) -> Vec<String> {
        let lines = head.split("\r\n").enumerate().map(|(at, line)| match at {
            0 => line.to_owned(),
            _ => match line.split_once(':') {
                Some((name, value)) => format!("{}:{value}", name.to_ascii_lowercase()),
                None => line.to_owned(),
            },
        });
        let mut lines: Vec<_> = lines.collect();
        lines[1..].sort();
        lines
    }

    #[test]
    fn names_are_written_as_the_client_spells_them() {
        let mut client = RequestHeader::build("POST", b"/v1/chat/completions", None).unwrap();
        client.append_header("hOsT".to_owned(), "gateway").unwrap();
        client.append_header("aCCept".to_owned(), "a").unwrap();
        let wire = UpstreamHead::new(&client, &target(""), "id-1", Some(0)).unwrap();
        let wire = String::from_utf8(wire.to_http1().unwrap()).unwrap();
        assert_eq!(
            wire,
            "POST /v1/chat/completions HTTP/1.1\r\nhOsT: model.example:8080\r\naCCept: a\r\n\
             x-request-id: id-1\r\nContent-Length: 0\r\n\r\n"
        );
    }
}
