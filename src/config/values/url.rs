//! Base URLs of the upstream and the backend: parsing and printing. No name is resolved and nothing
//! is called (CONTRACT 9).
//!
//! Own code instead of `url`, which mends what it reads: it takes a backslash for a slash, resolves `..`
//! in a prefix, turns a host that was mistyped into punycode, and so hides mistakes that an operator
//! should see.

use super::units::Form;
use std::fmt;
use std::net::Ipv6Addr;

/// An absolute http or https URL without query, fragment or userinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// Whether the scheme is https.
    pub tls: bool,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port, the scheme's default when not given.
    pub port: u16,
    /// Path prefix without a trailing slash; empty for none.
    pub prefix: String,
}

const ALLOWED: &str = "http://host[:port][/prefix] or https://…, without user, query and fragment";

/// Endpoints that are copied together with the base URL, to which they are added.
const ENDPOINTS_OF_MODELS: [&str; 6] = [
    "/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/models",
    "/v1/responses",
    "/v1/messages",
];
const ENDPOINTS_OF_BACKEND: [&str; 2] = ["/process_request", "/process_response"];

/// A base URL. Its text is never quoted in a message: it may contain a password or a key.
pub(crate) fn base_url() -> Form<BaseUrl> {
    Form::new(ALLOWED, |text| parse(text).map_err(str::to_owned))
}

/// The model server's base URL: the `/v1` that clients know as part of it is left out, because the
/// routes bring their own.
pub(crate) fn upstream_url() -> Form<BaseUrl> {
    Form::new(ALLOWED, |text| {
        let mut url = parse(text)?;
        without_endpoint(&url, &ENDPOINTS_OF_MODELS)?;
        if let Some(rest) = url.prefix.strip_suffix("/v1") {
            url.prefix = rest.trim_end_matches('/').to_owned();
        }
        Ok(url)
    })
}

/// The monitoring backend's base URL.
pub(crate) fn backend_url() -> Form<BaseUrl> {
    Form::new(ALLOWED, |text| {
        let url = parse(text)?;
        without_endpoint(&url, &ENDPOINTS_OF_BACKEND)?;
        Ok(url)
    })
}

fn without_endpoint(url: &BaseUrl, endpoints: &[&str]) -> Result<(), String> {
    let ends_with = |endpoint: &&&str| url.prefix.ends_with(**endpoint);
    match endpoints.iter().find(ends_with) {
        Some(endpoint) => Err(format!(
            "ends with the endpoint {endpoint}, which calls add to it: leave it out"
        )),
        None => Ok(()),
    }
}

impl BaseUrl {
    /// Scheme, host and port as a browser's `Origin` has them: without the scheme's own port.
    pub(crate) fn origin(&self) -> String {
        let (scheme, own_port) = if self.tls {
            ("https", 443)
        } else {
            ("http", 80)
        };
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port == own_port {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{}", self.port),
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        let (open, close) = if self.host.contains(':') {
            ("[", "]")
        } else {
            ("", "")
        };
        write!(
            f,
            "{scheme}://{open}{}{close}:{}{}",
            self.host, self.port, self.prefix
        )
    }
}

/// The URL of a text; the error is what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<BaseUrl, &'static str> {
    let (scheme, rest) = text.split_once("://").ok_or("is not an absolute URL")?;
    let tls = match scheme.to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => return Err("has a scheme other than http and https"),
    };
    // Before anything is cut at a slash, so that no part of a password counts as a path.
    if rest.contains('@') {
        return Err("contains a user or password");
    }
    if rest.contains(['?', '#']) {
        return Err("contains a query or fragment");
    }
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = split_port(authority)?;
    let port = match port {
        None if tls => 443,
        None => 80,
        Some(digits) => port_number(digits).ok_or("has a port that is not 1 to 65535")?,
    };
    if !path
        .bytes()
        .all(|b| b.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&b))
    {
        return Err("has a path with characters that need percent-encoding");
    }
    let prefix = path.trim_end_matches('/').to_owned();
    Ok(BaseUrl {
        tls,
        host: host.to_ascii_lowercase(),
        port,
        prefix,
    })
}

/// Host without brackets, and the digits after its colon.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), &'static str> {
    const BAD_HOST: &str = "has no valid host name";
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (host, after) = bracketed.split_once(']').ok_or(BAD_HOST)?;
        host.parse::<Ipv6Addr>().map_err(|_| BAD_HOST)?;
        let port = after.strip_prefix(':');
        return if port.is_some() || after.is_empty() {
            Ok((host, port))
        } else {
            Err(BAD_HOST)
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let named = host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    if host.is_empty() || !named {
        Err(BAD_HOST)
    } else {
        Ok((host, port))
    }
}

fn port_number(digits: &str) -> Option<u16> {
    // A sign is no part of a port, though the integer parser takes one.
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port != 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart_and_printed_whole() {
        for (text, shown) in [
            ("http://model.example", "http://model.example:80"),
            ("HTTPS://Model.Example/", "https://model.example:443"),
            ("https://m:8443/api/v1/", "https://m:8443/api"),
            ("http://m/v1", "http://m:80"),
            ("http://m/v1/v1", "http://m:80/v1"),
            ("http://m/xv1", "http://m:80/xv1"),
            ("http://[::1]:8000/v1", "http://[::1]:8000"),
            ("http://10.0.0.1:8000", "http://10.0.0.1:8000"),
        ] {
            assert_eq!(
                upstream_url().parse(text).unwrap().to_string(),
                shown,
                "{text}"
            );
        }
        let backend = base_url().parse("http://b/v1/").unwrap();
        assert_eq!(backend.prefix, "/v1", "the backend's prefix is its own");
    }

    #[test]
    fn an_endpoint_is_no_base_url() {
        for text in [
            "https://m/v1/chat/completions",
            "https://m/proxy/chat/completions/",
            "https://m/v1/responses",
        ] {
            let refused = upstream_url().parse(text).unwrap_err();
            assert!(refused.contains("leave it out"), "{refused}");
        }
        assert!(backend_url().parse("http://b/process_request/").is_err());
        assert!(upstream_url().parse("http://m/models").is_ok());
    }

    #[test]
    fn other_urls_are_refused_and_never_quoted() {
        for text in [
            "",
            "model.example",
            "ftp://hidden",
            "http://",
            "http:///hidden",
            "http://user:hidden@host",
            "http://user:hid/den@host",
            "http://host?key=hidden",
            "http://host#hidden",
            "http://hidden:0",
            "http://hidden:+80",
            "http://hidden:99999",
            "http://hidden:",
            "http://[hidden]",
            "http://[::1]hidden",
            "http://hid den",
            "http://host/hid den",
            "http://hîdden",
        ] {
            let message = base_url().parse(text).unwrap_err();
            assert!(!message.contains("hid"), "{text}: {message}");
        }
    }
}
