//! A request as a test writes it: what it names is what is sent, beside `Host`, the access key and
//! the framing.

use super::KEY;
use super::http::{Conn, Response};
use std::net::SocketAddr;

/// The chat completion that tests send unless they are about bodies.
pub const HELLO: &str = r#"{"model":"test-model","messages":[{"role":"user","content":"hello"}]}"#;
/// The same, asking for a stream.
pub const HELLO_STREAM: &str =
    r#"{"model":"test-model","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
/// Path of chat completions.
pub const CHAT: &str = "/v1/chat/completions";
/// Path of embeddings.
pub const EMBEDDINGS: &str = "/v1/embeddings";
/// Path of the model list.
pub const MODELS: &str = "/v1/models";

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    path: String,
    key: bool,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    chunk_size: Option<usize>,
}

impl Request {
    /// Any request, with the access key and without a body.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.into(),
            path: path.into(),
            key: true,
            headers: Vec::new(),
            body: None,
            chunk_size: None,
        }
    }

    /// GET.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// POST of JSON.
    pub fn post(path: &str, body: impl AsRef<[u8]>) -> Self {
        Self::json("POST", path, body)
    }

    /// JSON by any method.
    pub fn json(method: &str, path: &str, body: impl AsRef<[u8]>) -> Self {
        let mut request = Self::new(method, path).header("Content-Type", "application/json");
        request.body = Some(body.as_ref().to_vec());
        request
    }

    /// A chat completion.
    pub fn chat(body: impl AsRef<[u8]>) -> Self {
        Self::post(CHAT, body)
    }

    /// One valid request per /v1 endpoint of §4.1.
    pub fn every_endpoint() -> [Self; 3] {
        [
            Self::chat(HELLO),
            Self::post(EMBEDDINGS, r#"{"model":"test-model","input":"hello"}"#),
            Self::get(MODELS),
        ]
    }

    /// Leaves the access key out.
    pub fn without_key(mut self) -> Self {
        self.key = false;
        self
    }

    /// Adds a header; a name given twice is sent twice.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Says what the body is instead of JSON.
    pub fn content_type(mut self, kind: &str) -> Self {
        self.headers.retain(|(name, _)| name != "Content-Type");
        self.header("Content-Type", kind)
    }

    /// Sends the body in chunks of that many bytes instead of by length.
    pub fn chunked(mut self, size: usize) -> Self {
        self.chunk_size = Some(size);
        self
    }

    /// Where it goes.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The bytes of head and body.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.head();
        let body = self.body.as_deref().unwrap_or_default();
        match self.chunk_size {
            None => out.extend(body),
            Some(size) => {
                for piece in body.chunks(size) {
                    out.extend(chunk(piece));
                }
                out.extend(b"0\r\n\r\n");
            }
        }
        out
    }

    /// The bytes of the head alone.
    pub fn head(&self) -> Vec<u8> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: gateway.test\r\n",
            self.method, self.path
        );
        if self.key {
            head += &format!("X-Monitor-Api-Key: {KEY}\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        match (&self.body, self.chunk_size) {
            (Some(body), None) => head += &format!("Content-Length: {}\r\n", body.len()),
            (Some(_), Some(_)) => head += "Transfer-Encoding: chunked\r\n",
            (None, _) => {}
        }
        (head + "\r\n").into_bytes()
    }

    /// Sends it on a connection of its own.
    #[track_caller]
    pub fn send(&self, address: SocketAddr) -> Conn {
        let mut conn = Conn::open(address);
        conn.send(&self.bytes());
        conn
    }

    /// The status of the answer, None when the listener does not serve yet or no more.
    pub fn try_status(&self, address: SocketAddr) -> Option<u16> {
        let mut conn = Conn::try_open(address).ok()?;
        conn.try_send(&self.bytes()).ok()?;
        Some(conn.try_head()?.status())
    }

    /// Sends it and reads the whole answer.
    #[track_caller]
    pub fn call(&self, address: SocketAddr) -> Response {
        self.send(address).response()
    }
}

/// One chunk of the chunked transfer coding.
pub fn chunk(data: &[u8]) -> Vec<u8> {
    let mut out = format!("{:x}\r\n", data.len()).into_bytes();
    out.extend(data);
    out.extend(b"\r\n");
    out
}
