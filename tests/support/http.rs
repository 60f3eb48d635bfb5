//! A client's connection over HTTP/1.1, and the responses that come over it; knows nothing of the gateway.

use super::PATIENCE;
use super::message::{Body, Head, Stream, read_head, read_once};
use serde_json::Value;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

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

    /// Connects from another address of this machine, such as 127.0.0.2.
    pub fn open_from(local: &str, address: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let connecting = async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(SocketAddr::new(local.parse().unwrap(), 0))?;
            socket.connect(address).await?.into_std()
        };
        let socket = runtime.unwrap().block_on(connecting).unwrap();
        socket.set_nonblocking(false).unwrap();
        let socket = bounded(socket).unwrap();
        let control = socket.try_clone().unwrap();
        Self::over(Box::new(socket), control)
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
        let end = Instant::now() + silence;
        while let Some(left) = end
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        {
            self.control.set_read_timeout(Some(left)).unwrap();
            match self.control.peek(&mut [0]) {
                Err(e) if is_timeout(&e) || e.kind() == ErrorKind::Interrupted => {}
                outcome => panic!("bytes or an end where silence belongs: {outcome:?}"),
            }
        }
        self.control.set_read_timeout(Some(PATIENCE)).unwrap();
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
        match read_once(self.stream.as_mut(), &mut byte) {
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
    bounded(TcpStream::connect(address)?)
}

fn bounded(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Whether a read ended because its time was up.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
