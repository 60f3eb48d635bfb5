//! Just enough HTTP/1.1 for the mock and the load: heads, and bodies that are counted and thrown
//! away. Not a parser to learn from: it trusts both of its peers.

use crate::answer::Answer;
use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BUFFER_BYTES: usize = 64 * 1024;

/// One connection with its read buffer.
pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// What a head says about the rest.
pub struct Head {
    /// Status of a response; 0 in a request.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// `x-bench`, where given.
    pub answer: Option<Answer>,
    /// Whether the peer said `Connection: close`.
    pub close: bool,
    /// Whether it is a request that carries several records.
    pub batch: bool,
    /// `x-bench-called` of a response, where given: when the call came, in nanoseconds.
    pub called_at: Option<u64>,
}

/// How a body ends.
#[derive(Clone, Copy)]
pub enum Framing {
    Length(u64),
    Chunked,
}

impl Wire {
    /// Takes over a connected stream.
    pub fn new(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
        })
    }

    /// Sends all of `bytes`.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The next head; `None` when the peer closed between two messages.
    pub async fn head(&mut self) -> Result<Option<Head>> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(length) = memchr::memmem::find(unread, b"\r\n\r\n") {
                let head = parse(&unread[..length])?;
                self.start += length + 4;
                return Ok(Some(head));
            }
            let waiting = self.start < self.end;
            match self.fill().await {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && !waiting => {
                    return Ok(None);
                }
                other => other?,
            }
        }
    }

    /// Reads a body to its end and returns its decoded length.
    pub async fn body(&mut self, framing: Framing) -> Result<u64> {
        match framing {
            Framing::Length(length) => self.skip(length).await,
            Framing::Chunked => self.chunks().await,
        }
    }

    /// Reads a body of that length to its end and returns how many lines it has.
    pub async fn lines(&mut self, length: u64) -> Result<usize> {
        let (mut left, mut lines) = (length, 0);
        loop {
            let take = left.min((self.end - self.start) as u64);
            let taken = &self.buffer[self.start..self.start + take as usize];
            lines += memchr::memchr_iter(b'\n', taken).count();
            self.start += take as usize;
            left -= take;
            if left == 0 {
                return Ok(lines);
            }
            self.fill().await?;
        }
    }

    /// Waits until at least one byte behind the head has come.
    pub async fn some_body(&mut self) -> Result<()> {
        while self.start == self.end {
            self.fill().await?;
        }
        Ok(())
    }

    /// Reads and drops whatever comes until the peer closes.
    pub async fn until_closed(&mut self) {
        loop {
            self.start = self.end;
            if self.fill().await.is_err() {
                return;
            }
        }
    }

    async fn chunks(&mut self) -> Result<u64> {
        let mut total = 0;
        loop {
            let size = self.line().await?;
            let size = std::str::from_utf8(&size).ok();
            let size = size.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
            let size = size.ok_or_else(|| invalid("chunk size"))?;
            total += size;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(total);
            }
            self.skip(size + 2).await?;
        }
    }

    async fn line(&mut self) -> Result<Vec<u8>> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(length) = memchr::memmem::find(unread, b"\r\n") {
                let line = unread[..length].to_vec();
                self.start += length + 2;
                return Ok(line);
            }
            self.fill().await?;
        }
    }

    async fn skip(&mut self, length: u64) -> Result<u64> {
        let mut left = length;
        loop {
            let take = left.min((self.end - self.start) as u64);
            self.start += take as usize;
            left -= take;
            if left == 0 {
                return Ok(length);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            if self.start == 0 {
                return Err(invalid("head or line larger than the buffer"));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        match self.stream.read(&mut self.buffer[self.end..]).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }
}

fn parse(head: &[u8]) -> Result<Head> {
    let head = std::str::from_utf8(head).map_err(|_| invalid("head"))?;
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = match first.strip_prefix("HTTP/1.1 ") {
        Some(rest) => rest
            .get(..3)
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| invalid("status"))?,
        None => 0,
    };
    let mut parsed = Head {
        status,
        framing: Framing::Length(0),
        answer: None,
        close: false,
        batch: first.contains(" /process_batch/ "),
        called_at: None,
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            let length = value.parse().map_err(|_| invalid("content-length"))?;
            parsed.framing = Framing::Length(length);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            parsed.framing = Framing::Chunked;
        } else if name.eq_ignore_ascii_case("x-bench") {
            parsed.answer = Answer::named(value.as_bytes());
        } else if name.eq_ignore_ascii_case("x-bench-called") {
            parsed.called_at = value.parse().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            parsed.close = value.eq_ignore_ascii_case("close");
        }
    }
    Ok(parsed)
}

fn invalid(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
