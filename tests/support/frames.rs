//! HTTP/2 as frames over a blocking socket, for clients that no library would let misbehave so. Knows
//! no more of HPACK than literals.

use super::http::{connect, is_timeout};
use super::message::read_once;
use super::{KEY, PATIENCE};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// One frame's bytes.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut out = vec![length[1], length[2], length[3], kind, flags];
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// A header block of a request with the access key, uncompressed.
pub fn head(method: &str, path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", method),
        (":scheme", "http"),
        (":authority", "gateway.test"),
        (":path", path),
        ("x-monitor-api-key", KEY),
    ] {
        block.extend(field(name, value));
    }
    block
}

/// One header, literal and never indexed; no longer than 126 bytes each side.
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut out = vec![0x10, u8::try_from(name.len()).unwrap()];
    out.extend(name.as_bytes());
    out.push(u8::try_from(value.len()).unwrap());
    out.extend(value.as_bytes());
    out
}

/// A frame that came.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// A client's connection.
pub struct Frames {
    socket: TcpStream,
}

impl Frames {
    /// Connects and sends the preface with these settings.
    pub fn open(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let mut frames = Self {
            socket: connect(address),
        };
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        frames.send(&[preface, frame(SETTINGS, 0, 0, &payload)].concat());
        frames
    }

    /// Sends bytes.
    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).expect("the gateway takes the bytes");
    }

    /// Sends bytes to a side that may have closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// The next frame, None when the connection has ended.
    #[track_caller]
    pub fn next_frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.fill(&mut head)?;
        let [a, b, c, kind, flags, w, x, y, z] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.fill(&mut payload)?;
        let stream = u32::from_be_bytes([w, x, y, z]);
        Some(Frame {
            kind,
            flags,
            stream,
            payload,
        })
    }

    #[track_caller]
    fn fill(&mut self, buffer: &mut [u8]) -> Option<()> {
        match self.socket.read_exact(buffer) {
            Ok(()) => Some(()),
            Err(e) if is_timeout(&e) => panic!("no frame within {PATIENCE:?}"),
            Err(_) => None,
        }
    }

    /// The next frame that `wanted` picks; everything before it is passed over.
    #[track_caller]
    pub fn find(&mut self, wanted: impl Fn(&Frame) -> bool) -> Option<Frame> {
        loop {
            let frame = self.next_frame()?;
            if wanted(&frame) {
                return Some(frame);
            }
        }
    }

    /// Everything up to the end of the connection, which must come.
    #[track_caller]
    pub fn until_end(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.next_frame()).collect()
    }

    /// Sends `bytes` again and again until the connection ends; how often. Nothing is read.
    #[track_caller]
    pub fn flood(&mut self, bytes: &[u8], at_most: usize) -> usize {
        for turn in 0..at_most {
            if self.try_send(bytes).is_err() {
                return turn;
            }
        }
        panic!("{at_most} times and the connection stands");
    }

    /// Whether the other side has ended the connection; reads what is there and waits for nothing.
    pub fn has_ended(&mut self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        let mut buffer = [0; 4096];
        let ended = loop {
            match read_once(&mut self.socket, &mut buffer) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(e) => break !is_timeout(&e),
            }
        };
        self.socket.set_nonblocking(false).unwrap();
        ended
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
