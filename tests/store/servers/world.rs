//! How these tests speak to servers that may be gone: one try that gives an answer or nothing, clients
//! that ask until a record is acknowledged, and the whole store as the export shows it.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};
use support::message::{Body, read_head};
use support::postgres::Database;
use support::request::Request;
use support::stack::{Builder, Stack};
use support::{KEY, PATIENCE};

/// A server over a database that it owns.
pub(crate) fn over(database: &Database, builder: Builder) -> Builder {
    let variables = database.owner_env().into_iter();
    variables.fold(builder, |builder, (name, value)| builder.env(name, value))
}

/// Makes two tests of each function: one gives it an analysis server over SQLite, one over PostgreSQL.
macro_rules! on_every_store {
    ($($name:ident)+) => {
        mod on_sqlite {
            $(
                #[test]
                fn $name() {
                    super::$name(&support::stack::Stack::analysis_server().start());
                }
            )+
        }
        mod on_postgres {
            $(
                #[test]
                #[ignore = "needs PostgreSQL"]
                fn $name() {
                    let server = support::postgres::Postgres::shared();
                    let builder = support::stack::Stack::analysis_server();
                    super::$name(&super::super::world::over(&server.database(), builder).start());
                }
            )+
        }
    };
}
pub(crate) use on_every_store;

/// A request with the first token.
pub(crate) fn authorised(request: Request) -> Request {
    request
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
}

/// A kept connection that is made again when it was lost.
#[derive(Default)]
pub(crate) struct Line(Option<(SocketAddr, TcpStream)>);

impl Line {
    /// Status and body of the answer; None where none came whole.
    pub(crate) fn call(
        &mut self,
        address: SocketAddr,
        request: &Request,
    ) -> Option<(u16, Vec<u8>)> {
        let stream = match self.0.take() {
            Some((at, stream)) if at == address => stream,
            _ => TcpStream::connect(address).ok()?,
        };
        let mut stream = stream;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(&request.bytes()).ok()?;
        let head = read_head(&mut stream).ok()??;
        let body = Body::of_response(&head).read_all(&mut stream).ok()?;
        if !head.has("connection") {
            self.0 = Some((address, stream));
        }
        Some((head.status(), body))
    }
}

/// What clients were told, and where they ask.
pub(crate) struct Load {
    application: String,
    servers: Mutex<Vec<SocketAddr>>,
    acknowledged: Mutex<HashMap<String, String>>,
    more: Condvar,
    unanswered: AtomicUsize,
    ended: AtomicBool,
}

impl Load {
    pub(crate) fn new(application: String, servers: Vec<SocketAddr>) -> Self {
        Self {
            application,
            servers: Mutex::new(servers),
            acknowledged: Mutex::default(),
            more: Condvar::new(),
            unanswered: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// From now on these servers are asked.
    pub(crate) fn ask(&self, servers: Vec<SocketAddr>) {
        *self.servers.lock().unwrap() = servers;
    }

    /// Posts one record after the other, each until it is acknowledged, whoever answers.
    pub(crate) fn client(&self, name: &str) {
        let mut line = Line::default();
        for number in 0.. {
            let exchange = format!("{name}-{number}");
            let Some(id) = self.keep(&mut line, &exchange) else {
                return;
            };
            self.acknowledged.lock().unwrap().insert(exchange, id);
            self.more.notify_all();
        }
    }

    /// The record's id; None once the load has ended.
    fn keep(&self, line: &mut Line, exchange: &str) -> Option<String> {
        let body = json!({
            "application_id": self.application,
            "message": format!("write to {exchange}@example.org"),
            "additional_parameters": {"request_id": exchange, "session_id": "s", "user_id": "u"},
        });
        let request = authorised(Request::post("/process_request/", body.to_string()));
        let spread: usize = exchange.bytes().map(usize::from).sum();
        for tried in 0.. {
            if self.ended.load(Ordering::SeqCst) {
                break;
            }
            let server = {
                let servers = self.servers.lock().unwrap();
                servers[(spread + tried) % servers.len()]
            };
            match line.call(server, &request) {
                Some((200, body)) => return Some(request_id(&body)),
                Some((503, _)) | None => {
                    self.unanswered.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                }
                Some((status, body)) => panic!("{status}: {}", String::from_utf8_lossy(&body)),
            }
        }
        None
    }

    /// Waits for that many more acknowledgements.
    #[track_caller]
    pub(crate) fn await_more(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE * 2;
        let mut acknowledged = self.acknowledged.lock().unwrap();
        let wanted = acknowledged.len() + count;
        while acknowledged.len() < wanted {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "nothing is acknowledged any more");
            acknowledged = self.more.wait_timeout(acknowledged, left).unwrap().0;
        }
    }

    /// Tries that nobody acknowledged.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::SeqCst)
    }

    /// Lets the clients come to their end.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Fails unless every acknowledged record is in the store once, under the id that was told, and
    /// no other exchange twice. Gives how many were acknowledged.
    #[track_caller]
    pub(crate) fn assert_kept(&self, server: &Stack) -> usize {
        let mut stored: HashMap<String, Vec<String>> = HashMap::new();
        for record in export(server) {
            let text = |name: &str| record[name].as_str().unwrap().to_owned();
            let ids = stored.entry(text("exchange_id")).or_default();
            ids.push(text("request_id"));
        }
        let acknowledged = self.acknowledged.lock().unwrap();
        for (exchange, id) in &*acknowledged {
            let ids = stored.get(exchange).map_or(&[][..], |ids| ids);
            assert_eq!(ids, std::slice::from_ref(id), "the records of {exchange}");
        }
        assert!(stored.values().all(|ids| ids.len() == 1));
        acknowledged.len()
    }
}

/// Every request record of a server's store.
#[track_caller]
pub(crate) fn export(server: &Stack) -> Vec<Value> {
    let response = server.analysis("/records/export?format=jsonl&stage=pre", KEY);
    assert_eq!(response.status(), 200, "{}", response.text());
    let text = response.text();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A number below `limit` that nobody foresees.
pub(crate) fn chance(limit: u64) -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1 % limit
}

fn request_id(body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap();
    answer["request_id"].as_str().unwrap().to_owned()
}
