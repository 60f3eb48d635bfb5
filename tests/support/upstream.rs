//! The model server of the test world, scripted to the byte. It keeps every head and body it was
//! sent and never interprets them.

use super::message::Stream;
use super::server::{Peer, Received, Script, Seen, Server, Wrap};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// An answer of the reference format, with white space that a parser would lose.
pub const ANSWER: &str = "{\"id\":\"c-1\",  \"object\":\"chat.completion\",\"created\":1,\"model\":\"test-model\",\n \
\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"general greeting\"},\"finish_reason\":\"stop\"}],\
\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}";

/// The head of a chunked event stream.
pub const SSE_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
/// The last frame of a stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// A scripted model server.
pub struct Upstream {
    server: Server,
    scheme: &'static str,
}

impl Upstream {
    /// Runs `script` on every connection.
    pub fn scripted(script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::over("http", Box::new(clear), Box::new(script))
    }

    /// Like [`Upstream::scripted`] over a stream of the test's choice.
    pub fn over(scheme: &'static str, wrap: Wrap, script: Script) -> Self {
        let server = Server::start(wrap, script);
        Self { server, scheme }
    }

    /// Answers every request on kept connections.
    pub fn answering(answer: impl Fn(&Received) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::scripted(move |peer| {
            while let Some(request) = peer.read_request() {
                let bytes = answer(&request);
                peer.send(bytes);
            }
        })
    }

    /// Answers everything with the same bytes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::answering(move |_| bytes.clone())
    }

    /// Answers everything with JSON.
    pub fn json(status: u16, body: &str) -> Self {
        Self::raw(json(status, body))
    }

    /// Answers everything with [`ANSWER`].
    pub fn ok() -> Self {
        Self::json(200, ANSWER)
    }

    /// Answers everything with an event stream, one chunk per frame.
    pub fn sse(frames: &[&str]) -> Self {
        Self::raw(sse(frames))
    }

    /// Reads one request per connection and then does what the test says, when it says so.
    pub fn fed() -> (Self, Feed) {
        let (sender, receiver) = channel();
        let steps = Mutex::new(receiver);
        let upstream = Self::scripted(move |peer| {
            if peer.read_head().is_some() {
                follow(peer, &steps.lock().unwrap());
            }
        });
        (upstream, Feed(sender))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// UPSTREAM_URL without a path.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.server.address)
    }

    /// What it has seen.
    pub fn seen(&self) -> Seen {
        self.server.ledger.now()
    }

    /// Forgets what it has seen, but for the number of connections.
    pub fn forget(&self) {
        self.server.ledger.forget();
    }

    /// Connections accepted.
    pub fn connections(&self) -> usize {
        self.seen().connections
    }

    /// Request heads read.
    pub fn heads(&self) -> usize {
        self.seen().heads.len()
    }

    /// The latest whole request.
    #[track_caller]
    pub fn last(&self) -> Received {
        self.seen()
            .requests
            .pop()
            .expect("a request reached the upstream")
    }

    /// Waits until that many request heads were read.
    #[track_caller]
    pub fn await_heads(&self, count: usize) {
        self.server
            .ledger
            .wait(&format!("{count} heads at the upstream"), |seen| {
                (seen.heads.len() >= count).then_some(())
            });
    }

    /// Asserts that nothing reached it, not even a connection.
    #[track_caller]
    pub fn assert_untouched(&self) {
        let seen = self.seen();
        assert_eq!(
            (seen.connections, seen.heads.len()),
            (0, 0),
            "the upstream was contacted: {seen:?}"
        );
    }
}

/// What a fed upstream does next.
enum Step {
    Send(Vec<u8>),
    Chunk(Vec<u8>),
    End,
    Reset,
    Close,
    AwaitClose(Duration, Sender<Option<Duration>>),
    Report(Sender<()>),
}

/// The test's hand on a fed upstream. Dropping it closes the connection.
pub struct Feed(Sender<Step>);

impl Feed {
    /// Sends bytes as they are.
    pub fn send(&self, bytes: impl AsRef<[u8]>) {
        self.step(Step::Send(bytes.as_ref().to_vec()));
    }

    /// Sends one chunk.
    pub fn chunk(&self, data: impl AsRef<[u8]>) {
        self.step(Step::Chunk(data.as_ref().to_vec()));
    }

    /// Sends the last chunk: the proper end of a chunked body.
    pub fn end(&self) {
        self.step(Step::End);
    }

    /// Breaks the connection with a TCP reset.
    pub fn reset(&self) {
        self.step(Step::Reset);
    }

    /// Closes the connection in an orderly way.
    pub fn close(&self) {
        self.step(Step::Close);
    }

    /// How long it takes until the gateway closes, None when it does not within `limit`.
    pub fn closed_within(&self, limit: Duration) -> Option<Duration> {
        let (sender, receiver) = channel();
        self.step(Step::AwaitClose(limit, sender));
        receiver.recv().expect("the upstream's script runs")
    }

    /// Returns once everything before it is on the wire.
    pub fn settled(&self) {
        let (sender, receiver) = channel();
        self.step(Step::Report(sender));
        receiver.recv().expect("the upstream's script runs");
    }

    fn step(&self, step: Step) {
        self.0.send(step).expect("the upstream's script runs");
    }
}

/// The request's body is left unread until the script must close cleanly: with unread bytes a close
/// is a reset, which std cannot ask for otherwise.
fn follow(peer: &mut Peer, steps: &Receiver<Step>) {
    while let Ok(step) = steps.recv() {
        match step {
            Step::Send(bytes) => peer.send(bytes),
            Step::Chunk(data) => peer.send_chunk(data),
            Step::End => peer.send("0\r\n\r\n"),
            Step::Report(reply) => {
                let _ = reply.send(());
            }
            Step::Reset => return peer.await_unread(),
            Step::Close => {
                peer.read_body();
                return;
            }
            Step::AwaitClose(limit, reply) => {
                let _ = reply.send(peer.closed_within(limit));
                return;
            }
        }
    }
}

/// A socket as it is.
pub fn clear(socket: TcpStream) -> Option<Box<dyn Stream>> {
    Some(Box::new(socket))
}

/// A response with a JSON body.
pub fn json(status: u16, body: &str) -> Vec<u8> {
    response(
        status,
        "Content-Type: application/json\r\n",
        body.as_bytes(),
    )
}

/// A response with a body by length; `headers` are whole lines.
pub fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut out = format!(
        "HTTP/1.1 {status} Said\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    out.extend(body);
    out
}

/// A whole event stream, one chunk per frame.
pub fn sse(frames: &[&str]) -> Vec<u8> {
    let mut out = SSE_HEAD.as_bytes().to_vec();
    for frame in frames {
        out.extend(super::request::chunk(frame.as_bytes()));
    }
    out.extend(b"0\r\n\r\n");
    out
}

/// A frame of the reference format that adds `text` to choice `index`.
pub fn delta(index: u32, text: &str) -> String {
    let chunk = serde_json::json!({
        "id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
        "choices": [{"index": index, "delta": {"content": text}, "finish_reason": null}],
    });
    format!("data: {chunk}\n\n")
}
