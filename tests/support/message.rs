//! Messages of HTTP/1.1 as bytes: heads, and bodies by their framing. Reads a head byte by byte so that nothing behind
//! it is taken off the socket.

use std::io::{self, ErrorKind, Read, Write};

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

/// One read that an interruption does not end.
pub fn read_once<R: Read + ?Sized>(stream: &mut R, buffer: &mut [u8]) -> io::Result<usize> {
    uninterrupted(|| stream.read(buffer))
}

/// What `call` gives. A machine that stops the process for a moment interrupts a call that has a time limit; that
/// is no end of the connection.
pub fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
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
