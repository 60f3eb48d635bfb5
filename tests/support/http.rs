//! HTTP/1.1 as bytes: heads, bodies and a client connection. Reads a head byte by byte so that
//! nothing behind it is taken off the socket; knows nothing of the gateway.

use super::PATIENCE;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A clear-text or TLS stream.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// The head of a request or a response.
#[derive(Clone, Debug)]
pub struct Head {
    /// As it was on the wire, with the empty line.
    pub raw: Vec<u8>,
    /// Request line or status line.
    pub start_line: String,
    /// In wire order, names as written.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Takes a head apart.
    pub fn parse(raw: Vec<u8>) -> Self {
        let text = String::from_utf8_lossy(&raw).into_owned();
        let mut lines = text.trim_end().split("\r\n");
        let start_line = lines.next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        Self {
            raw,
            start_line,
            headers,
        }
    }

    /// The status of a response.
    pub fn status(&self) -> u16 {
        let word = self.start_line.split(' ').nth(1).unwrap_or_default();
        word.parse()
            .unwrap_or_else(|_| panic!("no status line: {}", self.start_line))
    }

    /// The target of a request.
    pub fn target(&self) -> &str {
        self.start_line.split(' ').nth(1).unwrap_or_default()
    }

    /// Every value of a header, in order.
    pub fn values(&self, name: &str) -> Vec<&str> {
        let named = |(n, _): &&(String, String)| n.eq_ignore_ascii_case(name);
        let all = self.headers.iter().filter(named);
        all.map(|(_, value)| value.as_str()).collect()
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.values(name).first().copied()
    }

    /// Whether the head carries a header of that name.
    pub fn has(&self, name: &str) -> bool {
        self.header(name).is_some()
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding")
            .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"))
    }

    fn length(&self) -> Option<u64> {
        self.header("content-length")?.parse().ok()
    }
}

/// Reads one head; None when the other side closed before its first byte.
pub fn read_head(stream: &mut dyn Stream) -> io::Result<Option<Head>> {
    let mut raw = Vec::new();
    let mut byte = [0];
    while !raw.ends_with(b"\r\n\r\n") {
        match read_once(stream, &mut byte)? {
            0 if raw.is_empty() => return Ok(None),
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            _ => raw.push(byte[0]),
        }
    }
    Ok(Some(Head::parse(raw)))
}

/// One read. A machine that stops the process for a moment interrupts a read that has a time limit; that is
/// no end of the connection.
fn read_once(stream: &mut dyn Stream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// How far a body has been read, by its framing.
#[derive(Debug)]
pub enum Body {
    /// Bytes still to come.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
    /// To the end of the connection.
    UntilClose,
    /// All read.
    Done,
}

impl Body {
    /// The framing of a request.
    pub fn of_request(head: &Head) -> Self {
        match head.length() {
            _ if head.is_chunked() => Self::Chunked,
            Some(0) | None => Self::Done,
            Some(length) => Self::Length(length),
        }
    }

    /// The framing of a response.
    pub fn of_response(head: &Head) -> Self {
        match head.length() {
            _ if matches!(head.status(), 100..=199 | 204 | 304) => Self::Done,
            _ if head.is_chunked() => Self::Chunked,
            Some(0) => Self::Done,
            Some(length) => Self::Length(length),
            None => Self::UntilClose,
        }
    }

    /// The next piece, in chunked coding exactly one chunk; None at the proper end.
    pub fn next(&mut self, stream: &mut dyn Stream) -> io::Result<Option<Vec<u8>>> {
        let piece = match self {
            Self::Done => None,
            Self::Chunked => read_chunk(stream)?,
            Self::UntilClose => Some(read_some(stream, u64::MAX)?).filter(|b| !b.is_empty()),
            Self::Length(0) => None,
            Self::Length(left) => {
                let bytes = read_some(stream, *left)?;
                if bytes.is_empty() {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                *left -= bytes.len() as u64;
                Some(bytes)
            }
        };
        if piece.is_none() {
            *self = Self::Done;
        }
        Ok(piece)
    }

    /// Everything to the end.
    pub fn read_all(&mut self, stream: &mut dyn Stream) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.next(stream)? {
            all.extend(piece);
        }
        Ok(all)
    }
}

fn read_some(stream: &mut dyn Stream, at_most: u64) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; at_most.min(64 * 1024) as usize];
    let count = read_once(stream, &mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

fn read_chunk(stream: &mut dyn Stream) -> io::Result<Option<Vec<u8>>> {
    let line = read_line(stream)?;
    let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, format!("chunk size {line:?}")))?;
    if size == 0 {
        while !read_line(stream)?.is_empty() {}
        return Ok(None);
    }
    let mut data = vec![0; size + 2];
    stream.read_exact(&mut data)?;
    data.truncate(size);
    Ok(Some(data))
}

fn read_line(stream: &mut dyn Stream) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    line.truncate(line.len() - 2);
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status line and headers.
    pub head: Head,
    /// With the transfer coding taken off, the content coding left on.
    pub body: Vec<u8>,
    /// False when the connection broke before the body's proper end.
    pub complete: bool,
}

impl Response {
    /// The status.
    pub fn status(&self) -> u16 {
        self.head.status()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("no JSON ({e}): {}", String::from_utf8_lossy(&self.body)))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A client's connection.
pub struct Conn {
    stream: Box<dyn Stream>,
    control: TcpStream,
    body: Body,
    pending: Vec<u8>,
}

impl Conn {
    /// Connects.
    pub fn open(address: SocketAddr) -> Self {
        Self::try_open(address).expect("the listener accepts")
    }

    /// Connects where somebody listens.
    pub fn try_open(address: SocketAddr) -> io::Result<Self> {
        let socket = try_connect(address)?;
        let control = socket.try_clone()?;
        Ok(Self::over(Box::new(socket), control))
    }

    /// Wraps a stream, such as a TLS one, whose socket is `control`.
    pub fn over(stream: Box<dyn Stream>, control: TcpStream) -> Self {
        let (body, pending) = (Body::Done, Vec::new());
        Self {
            stream,
            control,
            body,
            pending,
        }
    }

    /// Waits so long for each read, where an answer takes much work.
    pub fn patient(self, limit: Duration) -> Self {
        self.control.set_read_timeout(Some(limit)).unwrap();
        self
    }

    /// Sends bytes.
    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).expect("the gateway takes the bytes");
    }

    /// Sends bytes to a side that may already have closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next head, None when the gateway closed instead.
    pub fn try_head(&mut self) -> Option<Head> {
        self.head_or_end().ok()
    }

    /// The next head, or how the connection ended instead.
    #[track_caller]
    fn head_or_end(&mut self) -> io::Result<Head> {
        let head = match read_head(self.stream.as_mut()) {
            Ok(head) => head.ok_or(ErrorKind::UnexpectedEof)?,
            Err(e) if is_timeout(&e) => {
                panic!("no answer in time ({PATIENCE:?} unless more patient)")
            }
            Err(e) => return Err(e),
        };
        self.body = Body::of_response(&head);
        self.pending.clear();
        Ok(head)
    }

    /// The next head.
    #[track_caller]
    pub fn head(&mut self) -> Head {
        self.head_or_end()
            .unwrap_or_else(|end| panic!("a closed connection instead of an answer: {end:?}"))
    }

    /// The next head that is not an informational one.
    #[track_caller]
    pub fn final_head(&mut self) -> Head {
        loop {
            let head = self.head();
            if head.status() >= 200 {
                return head;
            }
        }
    }

    /// Body bytes up to and with `needle`; what follows stays for the next read.
    #[track_caller]
    pub fn read_until(&mut self, needle: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = super::find(&self.pending, needle) {
                let rest = self.pending.split_off(at + needle.len());
                return std::mem::replace(&mut self.pending, rest);
            }
            match self.body.next(self.stream.as_mut()) {
                Ok(Some(piece)) => self.pending.extend(piece),
                other => panic!(
                    "{other:?} instead of {:?}, after {:?}",
                    String::from_utf8_lossy(needle),
                    String::from_utf8_lossy(&self.pending)
                ),
            }
        }
    }

    /// Like [`Conn::read_until`], after the response head where that is still to come.
    #[track_caller]
    pub fn read_head_once_and_until(&mut self, needle: &[u8]) -> Vec<u8> {
        if matches!(self.body, Body::Done) {
            assert_eq!(self.final_head().status(), 200);
        }
        self.read_until(needle)
    }

    /// Asserts that no byte comes for `silence`.
    #[track_caller]
    pub fn assert_quiet(&mut self, silence: Duration) {
        assert!(
            self.pending.is_empty(),
            "{:?}",
            String::from_utf8_lossy(&self.pending)
        );
        self.control.set_read_timeout(Some(silence)).unwrap();
        let mut byte = [0];
        let outcome = self.control.peek(&mut byte);
        self.control.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(
            matches!(&outcome, Err(e) if is_timeout(e)),
            "bytes or an end where silence belongs: {outcome:?}"
        );
    }

    /// The rest of the body, and whether it ended properly.
    #[track_caller]
    pub fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut all = std::mem::take(&mut self.pending);
        loop {
            match self.body.next(self.stream.as_mut()) {
                Ok(Some(piece)) => all.extend(piece),
                Ok(None) => return (all, true),
                Err(e) if is_timeout(&e) => panic!("the body stalls after {} bytes", all.len()),
                Err(_) => return (all, false),
            }
        }
    }

    /// The next whole response, past informational ones.
    #[track_caller]
    pub fn response(&mut self) -> Response {
        let head = self.final_head();
        let (body, complete) = self.rest();
        Response {
            head,
            body,
            complete,
        }
    }

    /// Whether the gateway closes the connection without another byte.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(e) => !is_timeout(&e),
        }
    }
}

/// A connected socket with bounded reads.
pub fn connect(address: SocketAddr) -> TcpStream {
    try_connect(address).expect("the listener accepts")
}

fn try_connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Whether a read ended because its time was up.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
