//! Clients that never stop: fresh connections, kept ones and streams, each answer checked to its
//! last byte. One that fails is remembered with what it saw.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use support::http::Conn;
use support::request::{HELLO, Request};
use support::tls::Client;
use support::upstream::{DONE, Upstream, delta, json, sse};

const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"fine"}}]}"#;
const STREAM: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

/// How a client uses its connections.
#[derive(Clone, Copy)]
enum Kind {
    Fresh,
    Kept,
    Stream,
}

/// What a client sends, again and again.
#[derive(Clone)]
struct Task {
    address: SocketAddr,
    kind: Kind,
    request: Vec<u8>,
    /// What every answer is; none: any.
    answer: Option<&'static str>,
    /// None: clear text.
    tls: Option<Arc<Client>>,
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
        Self::calling(gateway, None)
    }

    /// The same over TLS.
    pub(crate) fn over_tls(gateway: SocketAddr, client: Client) -> Self {
        Self::calling(gateway, Some(Arc::new(client)))
    }

    fn calling(gateway: SocketAddr, tls: Option<Arc<Client>>) -> Self {
        let task = |kind, body| Task {
            address: gateway,
            kind,
            request: Request::chat(body).bytes(),
            answer: Some(ANSWER),
            tls: tls.clone(),
        };
        Self::at([
            task(Kind::Fresh, HELLO),
            task(Kind::Kept, HELLO),
            task(Kind::Stream, STREAM),
        ])
    }

    /// Four clients with fresh and four with kept connections that ask for something else.
    pub(crate) fn asking(address: SocketAddr, request: &Request) -> Self {
        let task = |kind| Task {
            address,
            kind,
            request: request.bytes(),
            answer: None,
            tls: None,
        };
        Self::at([task(Kind::Fresh), task(Kind::Kept)])
    }

    fn at<const N: usize>(tasks: [Task; N]) -> Self {
        let tally = Arc::new(Tally::default());
        let clients = tasks.iter().flat_map(|task| std::iter::repeat_n(task, 4));
        let clients = clients.map(|task| {
            let (task, tally) = (task.clone(), tally.clone());
            std::thread::spawn(move || client(&task, &tally))
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

fn client(task: &Task, tally: &Tally) {
    let kind = task.kind;
    let mut kept: Option<Conn> = None;
    while !tally.stop.load(Ordering::Relaxed) {
        match call(task, &mut kept) {
            Ok((text, goes_on)) => {
                let right = match kind {
                    Kind::Stream => text.ends_with("data: [DONE]\n\n") && text.contains("w19"),
                    _ => task.answer.is_none_or(|answer| text == answer),
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
fn call(task: &Task, kept: &mut Option<Conn>) -> Result<(String, bool), String> {
    if kept.is_none() {
        let fresh = match &task.tls {
            None => Conn::try_open(task.address).map_err(|error| format!("connecting: {error}")),
            Some(client) => client
                .connect(task.address)
                .ok_or("no handshake".to_owned()),
        };
        *kept = Some(fresh?);
    }
    let conn = kept.as_mut().unwrap();
    conn.try_send(&task.request)
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
