//! A TCP server of threads whose every connection runs a script written in the test. Counts
//! connections, heads and whole requests apart from each other, because "not called" and "called
//! and refused" differ only there.

use super::PATIENCE;
use super::http::is_timeout;
use super::message::{Body, Head, Stream, read_head, read_once, uninterrupted};
use super::request::chunk;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A request that arrived whole.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its head as it was on the wire.
    pub head: Head,
    /// Its body, transfer coding taken off.
    pub body: Vec<u8>,
    /// Which connection brought it, counted from 0.
    pub connection: usize,
}

/// What a server has seen so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Connections accepted.
    pub connections: usize,
    /// Request heads read.
    pub heads: Vec<Head>,
    /// Requests read to their end.
    pub requests: Vec<Received>,
    /// Those of them that the script noted as answered with success.
    pub accepted: Vec<Received>,
}

/// [`Seen`] under a lock that can be waited on.
#[derive(Default)]
pub struct Ledger {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Ledger {
    /// A copy of what was seen.
    pub fn now(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until `check` finds what it looks for.
    #[track_caller]
    pub fn wait<T>(&self, what: &str, check: impl Fn(&Seen) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.lock().unwrap();
        loop {
            if let Some(found) = check(&seen) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never happened: {what}; seen {seen:?}");
            seen = self.changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Forgets all of it, for tests that go on for long.
    pub fn forget(&self) {
        let mut seen = self.seen.lock().unwrap();
        (seen.heads, seen.requests) = (Vec::new(), Vec::new());
        seen.accepted = Vec::new();
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap());
        self.changed.notify_all();
    }
}

/// Turns an accepted socket into the stream that the script speaks over; None refuses it.
pub type Wrap = Box<dyn Fn(TcpStream) -> Option<Box<dyn Stream>> + Send + Sync>;
/// What one connection does from accept to close.
pub type Script = Box<dyn Fn(&mut Peer) + Send + Sync>;

/// A listening server; it stops accepting when dropped.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it has seen.
    pub ledger: Arc<Ledger>,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Listens on a free loopback port and runs `script` on every connection.
    pub fn start(wrap: Wrap, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ledger = Arc::new(Ledger::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (book, stopped) = (ledger.clone(), stop.clone());
        std::thread::spawn(move || accept(&listener, &book, &stopped, &Arc::new((wrap, script))));
        Self {
            address,
            ledger,
            stop,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accept loop, which then sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(
    listener: &TcpListener,
    ledger: &Arc<Ledger>,
    stop: &AtomicBool,
    run: &Arc<(Wrap, Script)>,
) {
    for socket in listener.incoming().flatten() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let mut connection = 0;
        ledger.note(|seen| {
            connection = seen.connections;
            seen.connections += 1;
        });
        let (ledger, run) = (ledger.clone(), run.clone());
        std::thread::spawn(move || {
            let _ = socket.set_nodelay(true);
            let Ok(control) = socket.try_clone() else {
                return;
            };
            if let Some(stream) = run.0(socket) {
                run.1(&mut Peer {
                    stream,
                    control,
                    ledger,
                    body: Body::Done,
                    head: None,
                    early: Vec::new(),
                    connection,
                });
            }
        });
    }
}

/// The server's end of one connection. Dropping it closes; with unread bytes the kernel resets.
pub struct Peer {
    stream: Box<dyn Stream>,
    control: TcpStream,
    ledger: Arc<Ledger>,
    body: Body,
    head: Option<Head>,
    early: Vec<u8>,
    /// Counted from 0.
    pub connection: usize,
}

impl Peer {
    /// Reads one request head and nothing behind it; None when the connection ends first.
    pub fn read_head(&mut self) -> Option<Head> {
        let head = read_head(self.stream.as_mut()).ok()??;
        self.body = Body::of_request(&head);
        self.head = Some(head.clone());
        self.early.clear();
        self.ledger.note(|seen| seen.heads.push(head.clone()));
        Some(head)
    }

    /// Reads the body of the head read last; None when it breaks off.
    pub fn read_body(&mut self) -> Option<Vec<u8>> {
        self.body.read_all(self.stream.as_mut()).ok()
    }

    /// Reads one whole request; None when the connection ends first.
    pub fn read_request(&mut self) -> Option<Received> {
        let head = self.read_head()?;
        let body = self.read_body()?;
        let request = Received {
            head,
            body,
            connection: self.connection,
        };
        self.ledger.note(|seen| seen.requests.push(request.clone()));
        Some(request)
    }

    /// Notes that this request is answered with success.
    pub fn note_accepted(&self, request: Received) {
        self.ledger.note(|seen| seen.accepted.push(request));
    }

    /// Reads a piece of the body of about that size.
    pub fn read_some_of_body(&mut self, size: usize) {
        let mut read = 0;
        while read < size {
            match self.body.next(self.stream.as_mut()) {
                Ok(Some(piece)) => {
                    read += piece.len();
                    self.early.extend(piece);
                }
                _ => return,
            }
        }
    }

    /// Reads what is left of the body and notes the request as whole; None when it breaks off.
    pub fn read_rest_of_request(&mut self) -> Option<()> {
        let head = self.head.take()?;
        let mut body = std::mem::take(&mut self.early);
        body.extend(self.read_body()?);
        let connection = self.connection;
        let request = Received {
            head,
            body,
            connection,
        };
        self.ledger.note(|seen| seen.requests.push(request));
        Some(())
    }

    /// Waits until the other side has closed and reads nothing meanwhile, at most `limit` long.
    pub fn until_released(&mut self, limit: Duration) {
        let start = Instant::now();
        let _ = self.stream.flush();
        while start.elapsed() < limit && !self.control_is_gone() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A connection that the other side has given up with unsent bytes is reset: writing says so.
    fn control_is_gone(&self) -> bool {
        matches!(self.control.take_error(), Ok(Some(_)))
    }

    /// Sends bytes; a side that has gone is no failure of the script.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
        let _ = self.stream.flush();
    }

    /// Sends one chunk of the chunked transfer coding.
    pub fn send_chunk(&mut self, data: impl AsRef<[u8]>) {
        self.send(chunk(data.as_ref()));
    }

    /// Closes the connection in both directions, now.
    pub fn close(&mut self) {
        let _ = self.control.shutdown(Shutdown::Both);
    }

    /// Returns once a byte that nobody has read waits in the socket, so that closing resets.
    pub fn await_unread(&mut self) {
        let mut byte = [0];
        let _ = uninterrupted(|| self.control.peek(&mut byte));
    }

    /// How long it took until the other side closed; None when it did not within `limit`.
    pub fn closed_within(&mut self, limit: Duration) -> Option<Duration> {
        let start = Instant::now();
        let _ = self.control.set_read_timeout(Some(limit));
        let mut buffer = [0; 4096];
        loop {
            match read_once(self.stream.as_mut(), &mut buffer) {
                Ok(0) => return Some(start.elapsed()),
                Ok(_) if start.elapsed() < limit => {}
                Err(e) if !is_timeout(&e) => return Some(start.elapsed()),
                _ => return None,
            }
        }
    }
}
