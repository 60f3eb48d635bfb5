//! Clients that never stop: fresh connections, kept ones and streams, each answer checked to its
//! last byte. One that fails is remembered with what it saw.

use crate::support::http::Conn;
use crate::support::request::{HELLO, Request};
use crate::support::upstream::{DONE, Upstream, delta, json, sse};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"fine"}}]}"#;
const STREAM: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

/// How a client uses its connections.
#[derive(Clone, Copy)]
enum Kind {
    Fresh,
    Kept,
    Stream,
}

/// What they did.
#[derive(Default)]
pub(crate) struct Tally {
    stop: AtomicBool,
    /// Answers that were right.
    pub(crate) calls: AtomicU64,
    /// Streams among them.
    pub(crate) streams: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// Clients at work.
pub(crate) struct Crowd {
    pub(crate) tally: Arc<Tally>,
    clients: Vec<JoinHandle<()>>,
}

/// A model server that answers at once, and streams some frames where it is asked to.
pub(crate) fn model() -> Upstream {
    let frames: Vec<String> = (0..20).map(|n| delta(0, &format!("w{n} "))).collect();
    let mut frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    frames.push(DONE);
    let stream = sse(&frames);
    Upstream::answering(move |request| match request.body == STREAM.as_bytes() {
        true => stream.clone(),
        false => json(200, ANSWER),
    })
}

impl Crowd {
    /// Four clients of each kind.
    pub(crate) fn start(gateway: SocketAddr) -> Self {
        let tally = Arc::new(Tally::default());
        let kinds = [Kind::Fresh, Kind::Kept, Kind::Stream];
        let clients = kinds.iter().flat_map(|kind| [*kind; 4]);
        let clients = clients.map(|kind| {
            let tally = tally.clone();
            std::thread::spawn(move || client(gateway, kind, &tally))
        });
        Self {
            clients: clients.collect(),
            tally,
        }
    }

    /// Lets them finish what they do; fails with what any of them saw.
    #[track_caller]
    pub(crate) fn end(self) -> (u64, u64) {
        self.tally.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().unwrap();
        }
        let failures = self.tally.failures.lock().unwrap();
        let calls = self.tally.calls.load(Ordering::Relaxed);
        let shown: Vec<_> = failures.iter().take(5).collect();
        assert!(
            failures.is_empty(),
            "{} of {calls} failed: {shown:?}",
            failures.len()
        );
        (calls, self.tally.streams.load(Ordering::Relaxed))
    }
}

fn client(gateway: SocketAddr, kind: Kind, tally: &Tally) {
    let body = match kind {
        Kind::Stream => STREAM,
        _ => HELLO,
    };
    let request = Request::chat(body).bytes();
    let mut kept: Option<Conn> = None;
    while !tally.stop.load(Ordering::Relaxed) {
        match call(gateway, &mut kept, &request) {
            Ok((text, goes_on)) => {
                let right = match kind {
                    Kind::Stream => text.ends_with("data: [DONE]\n\n") && text.contains("w19"),
                    _ => text == ANSWER,
                };
                if !right {
                    note(tally, format!("a wrong answer of {} bytes", text.len()));
                }
                tally.calls.fetch_add(1, Ordering::Relaxed);
                tally
                    .streams
                    .fetch_add(u64::from(matches!(kind, Kind::Stream)), Ordering::Relaxed);
                if !goes_on || matches!(kind, Kind::Fresh) {
                    kept = None;
                }
            }
            Err(what) => {
                note(tally, what);
                kept = None;
            }
        }
    }
}

/// One call, on the kept connection where there is one; whether the connection goes on.
fn call(
    gateway: SocketAddr,
    kept: &mut Option<Conn>,
    request: &[u8],
) -> Result<(String, bool), String> {
    if kept.is_none() {
        let fresh = Conn::try_open(gateway).map_err(|error| format!("connecting: {error}"))?;
        *kept = Some(fresh);
    }
    let conn = kept.as_mut().unwrap();
    conn.try_send(request)
        .map_err(|error| format!("sending: {error}"))?;
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| conn.response()));
    let answer = answer.map_err(|_| "no whole answer".to_owned())?;
    if answer.status() != 200 {
        return Err(format!("status {}", answer.status()));
    }
    let closes = answer.head.header("connection") == Some("close");
    Ok((answer.text(), !closes))
}

fn note(tally: &Tally, what: String) {
    tally.failures.lock().unwrap().push(what);
}
