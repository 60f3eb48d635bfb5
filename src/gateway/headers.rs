//! Headers: reads and strips the gateway's own, and removes what a proxy must not forward (CONTRACT 8).

use crate::edge::cors;
use crate::observe::BudgetLabel;
use http::header::{
    AUTHORIZATION, AsHeaderName, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE,
    EXPECT, HOST, LOCATION, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, Method, Version};
use monitor_model::stored_id;
use pingora_core::Result;
use pingora_error::{Error, ErrorType};
use pingora_http::{RequestHeader, ResponseHeader};
use uuid::Uuid;

pub(crate) use upstream_head::{UpstreamHead, UpstreamTarget};

mod upstream_head;

/// Names the application of a call.
pub(crate) const X_APPLICATION_ID: HeaderName = HeaderName::from_static("x-application-id");
const X_USER_ID: HeaderName = HeaderName::from_static("x-user-id");
const X_MONITOR_BUDGET: HeaderName = HeaderName::from_static("x-monitor-budget");
const X_SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");
/// A model server's key, as the Messages API has it.
const X_API_KEY: &str = "x-api-key";

/// The gateway-extension headers (§2.1), which are never forwarded on any route. Compared with `_` read as
/// `-`, because some servers treat both spellings as the same header.
pub(crate) const EXTENSION_HEADERS: [&str; 6] = [
    "x-monitor-api-key",
    "x-application-id",
    "x-user-id",
    "x-session-id",
    "x-attached-files",
    "x-attachedfiles",
];

/// Headers that concern one connection only (RFC 9110 §7.6.1), and `Expect`, which the gateway answers
/// itself. Their spellings with `_` are removed as well, and those of the headers that describe the body.
const HOP_BY_HOP: [&str; 11] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "http2-settings",
    "proxy-authorization",
    "proxy-authenticate",
    "expect",
];
const OF_BODIES: [&str; 3] = ["content-length", "content-type", "content-encoding"];
/// The lengths of these names, a bit each: most names of a request have another one.
const LENGTHS: u32 = lengths(&HOP_BY_HOP) | lengths(&OF_BODIES);

const fn lengths(names: &[&str]) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < names.len() {
        bits |= 1 << names[at].len();
        at += 1;
    }
    bits
}

/// Says of an answer that the gateway made it in place of the model's (`block_details: header`).
pub(crate) const REPLACED: &str = "x-monitor-replaced";

/// The header that identifies a call across systems (CONTRACT 5).
pub(crate) const REQUEST_ID: &str = "x-request-id";
const X_REQUEST_ID: HeaderName = HeaderName::from_static(REQUEST_ID);
/// Keeps proxies that collect answers, such as nginx, from collecting a stream.
pub(crate) const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

const LONGEST_REQUEST_ID: usize = 200;

/// Headers that have one value, and as clients write them.
static SINGLE_VALUED: [(HeaderName, &str); 5] = [
    (X_APPLICATION_ID, "X-Application-Id"),
    (X_USER_ID, "X-User-Id"),
    (X_SESSION_ID, "X-Session-Id"),
    (HOST, "Host"),
    (CONTENT_TYPE, "Content-Type"),
];

/// The ids in a request's gateway-extension headers, unparsed.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    pub(crate) application_id: Option<String>,
    pub(crate) user_id: Option<String>,
    pub(crate) session_id: Option<String>,
}

impl Extensions {
    /// Reads the headers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self {
            application_id: application_id(headers),
            user_id: id(headers, X_USER_ID),
            session_id: id(headers, X_SESSION_ID),
        }
    }
}

/// The application that a request names.
pub(crate) fn application_id(headers: &HeaderMap) -> Option<String> {
    id(headers, X_APPLICATION_ID)
}

/// The user that a request names, as its record has it.
pub(crate) fn user_id(headers: &HeaderMap) -> Option<String> {
    id(headers, X_USER_ID)
}

/// An empty value counts as absent. Invalid UTF-8 is replaced; an id over the stored length is cut and marked.
pub(crate) fn id(headers: &HeaderMap, name: impl AsHeaderName) -> Option<String> {
    let value = headers.get(name)?.as_bytes().trim_ascii();
    (!value.is_empty()).then(|| stored_id(&String::from_utf8_lossy(value)).into_owned())
}

/// The header with one value that a request has with different ones: two readers could disagree about which
/// counts. The same value twice is one.
pub(crate) fn ambiguous(headers: &HeaderMap) -> Option<&'static str> {
    let is_ambiguous = |(name, _): &&(HeaderName, &'static str)| {
        let values = headers.get_all(name).iter();
        let mut values = values.map(|value| value.as_bytes().trim_ascii());
        let first = values.next();
        values.any(|other| Some(other) != first)
    };
    let found = SINGLE_VALUED.iter().find(is_ambiguous);
    found.map(|(_, written)| *written)
}

/// The client's X-Request-Id if there is one of at most 200 visible ASCII characters, else a new UUID.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    let mut values = headers.get_all(X_REQUEST_ID).iter();
    let first = values.next();
    first
        .filter(|first| values.all(|other| other == first))
        .and_then(|value| value.to_str().ok())
        .filter(|id| {
            (1..=LONGEST_REQUEST_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
        })
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// Removes what describes the client's body: another one goes to the upstream.
pub(crate) fn for_edited_body(head: &mut UpstreamHead<'_>) {
    head.remove(CONTENT_ENCODING);
    for name in DIGESTS {
        head.remove(HeaderName::from_static(name));
    }
}

/// The length of a request's body. The header may be repeated or a list; `check_framing` and pingora have
/// checked that all values agree.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    value.split(',').next()?.trim().parse().ok()
}

/// The headers of an answer to remove: those that concern the upstream's connection only, and those that only the
/// gateway may send.
fn removed(headers: &HeaderMap) -> Vec<HeaderName> {
    let nominated = nominated(headers);
    let is_removed = |name: &&HeaderName| {
        is_hop_by_hop(name) || is_own_of_answers(name) || nominated.contains(name)
    };
    headers.keys().filter(is_removed).cloned().collect()
}

/// Headers that `Connection` lists, except those that say what the body is or who calls: RFC 9110 §7.6.1 forbids to
/// list what every recipient is meant to get, and a call must not lose its key by it.
fn nominated(headers: &HeaderMap) -> Vec<HeaderName> {
    const KEPT: [HeaderName; 5] = [
        AUTHORIZATION,
        CONTENT_ENCODING,
        CONTENT_TYPE,
        CONTENT_LENGTH,
        HOST,
    ];
    let lists = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let names = lists.flat_map(|list| list.split(','));
    names
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .filter(|name| !KEPT.contains(name) && name.as_str() != X_API_KEY)
        .collect()
}

fn is_extension(name: &HeaderName) -> bool {
    name.as_str().starts_with('x') && EXTENSION_HEADERS.iter().any(|own| is_spelling(own, name))
}

/// Whether only the gateway says this of an answer.
fn is_own_of_answers(name: &HeaderName) -> bool {
    let is = |own: &str| is_spelling(own, name);
    name.as_str().starts_with('x') && (is(REPLACED) || is(X_MONITOR_BUDGET.as_str()))
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    let text = name.as_str();
    let has_length = text.len() < 32 && LENGTHS >> text.len() & 1 == 1;
    has_length
        && (HOP_BY_HOP.contains(&text)
            || (text.contains('_')
                && HOP_BY_HOP
                    .iter()
                    .chain(&OF_BODIES)
                    .any(|hop| is_spelling(hop, name))))
}

/// Whether `name` equals `dashed` when each `_` is read as `-`.
fn is_spelling(dashed: &str, name: &HeaderName) -> bool {
    let same = |(a, b): (u8, u8)| a == if b == b'_' { b'-' } else { b };
    dashed.len() == name.as_str().len() && dashed.bytes().zip(name.as_str().bytes()).all(same)
}

/// The path of a request; empty for a target that is neither a path nor an http(s) URL (RFC 9112 §3.2.2).
pub(crate) fn path(head: &RequestHeader) -> &str {
    let target = head.raw_path();
    let begins = |with: &[u8]| {
        target
            .get(..with.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(with))
    };
    if begins(b"/") || begins(b"http://") || begins(b"https://") {
        return head.uri.path();
    }
    ""
}

/// Whether the client asks to go on by WebSocket.
pub(crate) fn asks_for_websocket(head: &RequestHeader) -> bool {
    let upgrade = head.headers.get(UPGRADE);
    upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Whether the client waits for `100 Continue` before it sends its body.
pub(crate) fn expects_continue(head: &RequestHeader) -> bool {
    head.version == Version::HTTP_11
        && head
            .headers
            .get(EXPECT)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Turns the upstream's response head into the client's: removes hop-by-hop headers, sets the request id,
/// and chooses chunked coding for a body of unknown length to an HTTP/1.1 client.
pub(crate) fn for_client(
    head: &mut ResponseHeader,
    client: Version,
    request_id: &str,
) -> Result<()> {
    for name in removed(&head.headers) {
        head.remove_header(&name);
    }
    echo_request_id(head, request_id)?;
    if is_event_stream(head) {
        // With a length, a client might wait for the whole stream.
        head.remove_header(&CONTENT_LENGTH);
        head.insert_header(X_ACCEL_BUFFERING, "no")?;
    }
    let bodiless = head.status.is_informational() || matches!(head.status.as_u16(), 204 | 304);
    let sized = head.headers.contains_key(CONTENT_LENGTH);
    if client == Version::HTTP_11 && !sized && !bodiless {
        head.insert_header(TRANSFER_ENCODING, "chunked")?;
    }
    head.set_version(Version::HTTP_11);
    Ok(())
}

/// The error of an answer that [`leads_past_gateway`].
pub(crate) const REDIRECTED: &str = "Redirected";

/// Whether a client that follows the answer would call somebody else, with its access key and its prompt as it is. A
/// path alone leads back to the gateway.
pub(crate) fn leads_past_gateway(head: &ResponseHeader) -> bool {
    let is_path = |location: &[u8]| match location {
        [b'/'] => true,
        [b'/', second, ..] => {
            !matches!(second, b'/' | b'\\') && location.iter().all(u8::is_ascii_graphic)
        }
        _ => false,
    };
    let locations = head.headers.get_all(LOCATION).iter();
    head.status.is_redirection() && !locations.map(|value| value.as_bytes()).all(is_path)
}

/// Says whether the page of a website may read the answer. The settings decide that, where they name a website, and
/// not the upstream.
pub(crate) fn for_website(head: &mut ResponseHeader, website: &cors::Origin) -> Result<()> {
    if *website == cors::Origin::Off {
        return Ok(());
    }
    for name in &cors::OWN {
        head.remove_header(name);
    }
    for (name, value) in website.headers() {
        head.append_header(name, value)?;
    }
    Ok(())
}

/// Tells the client which budget is spent or nearly, where one is.
pub(crate) fn for_budget(head: &mut ResponseHeader, budget: Option<BudgetLabel>) -> Result<()> {
    match budget {
        Some(budget) => {
            head.insert_header(X_MONITOR_BUDGET, format!("warn;budget={}", budget.as_str()))
        }
        None => Ok(()),
    }
}

/// Headers that are digests or validators of a body's bytes.
pub(crate) const DIGESTS: [&str; 5] = [
    "etag",
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
];

/// Like [`for_client`] for another body than the upstream's: no header is left that describes its bytes.
pub(crate) fn for_other_body(head: &mut ResponseHeader, request_id: &str) -> Result<()> {
    for_client(head, Version::HTTP_10, request_id)?;
    head.remove_header(&CONTENT_LENGTH);
    head.remove_header(&CONTENT_ENCODING);
    for name in DIGESTS {
        head.remove_header(name);
    }
    Ok(())
}

/// Whether the answer is an event stream (§2.3), compressed or not.
pub(crate) fn is_event_stream(head: &ResponseHeader) -> bool {
    const KIND: &[u8] = b"text/event-stream";
    let kind = head.headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    kind.and_then(|kind| kind.get(..KIND.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(KIND))
}

/// Sets the call's request id (CONTRACT 5). An upstream's own id moves to `X-Upstream-Request-Id`.
fn echo_request_id(head: &mut ResponseHeader, request_id: &str) -> Result<()> {
    if let Some(theirs) = head
        .headers
        .get(X_REQUEST_ID)
        .filter(|theirs| *theirs != request_id)
    {
        let theirs = theirs.clone();
        head.insert_header("x-upstream-request-id", theirs)?;
    }
    head.insert_header(X_REQUEST_ID, request_id)
}

/// Refuses ambiguous framing that RFC 9112 would let a server repair (CONTRACT 10). `raw` is the head as
/// received, because pingora removes a Content-Length beside Transfer-Encoding when it parses the head.
pub(crate) fn check_framing(head: &RequestHeader, raw: &[u8]) -> Result<()> {
    let codings = || head.headers.get_all(TRANSFER_ENCODING).iter();
    if codings().count() > 1
        || codings().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
    {
        return Error::e_explain(
            ErrorType::InvalidHTTPHeader,
            "a Transfer-Encoding other than chunked",
        );
    }
    let both = head.headers.contains_key(TRANSFER_ENCODING)
        && raw.split(|byte| *byte == b'\n').any(|line| {
            line.split(|byte| *byte == b':')
                .next()
                .is_some_and(|name| name.trim_ascii().eq_ignore_ascii_case(b"content-length"))
        });
    if both {
        return Error::e_explain(
            ErrorType::InvalidHTTPHeader,
            "both Content-Length and Transfer-Encoding",
        );
    }
    if memchr::memchr_iter(b'\n', raw).any(|at| at == 0 || raw[at - 1] != b'\r') {
        return Error::e_explain(ErrorType::InvalidHTTPHeader, "a line feed on its own");
    }
    if head.method == Method::CONNECT {
        return Error::e_explain(ErrorType::InvalidHTTPHeader, "CONNECT");
    }
    let mut lengths = head.headers.get_all(CONTENT_LENGTH).iter();
    let first = lengths.next();
    if lengths.any(|other| Some(other) != first) {
        return Error::e_explain(ErrorType::InvalidHTTPHeader, "two different Content-Length");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
