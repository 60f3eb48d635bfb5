//! Posts messages to `/process_request/` over kept connections. At a rate, a call's time counts from
//! when it was due, so that waiting behind a slow one is not hidden.

use super::message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::KEY;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How fast calls follow each other.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// Each connection calls again as soon as it is answered.
    Fast,
    /// So many a second over all connections.
    Rate(f64),
}

/// What to do.
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) application: String,
    pub(crate) connections: usize,
    pub(crate) pace: Pace,
    pub(crate) time: Duration,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) taken: Vec<Duration>,
    pub(crate) errors: u64,
    elapsed: Duration,
}

impl Outcome {
    /// Answers per second.
    pub(crate) fn rate(&self) -> f64 {
        self.taken.len() as f64 / self.elapsed.as_secs_f64()
    }
}

struct Plan {
    load: Load,
    start: Instant,
    next: AtomicU64,
}

impl Load {
    /// Runs to its end.
    pub(crate) fn run(self) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(self.drive())
    }

    async fn drive(self) -> Outcome {
        let connections = self.connections;
        let plan = Arc::new(Plan {
            load: self,
            start: Instant::now(),
            next: AtomicU64::new(0),
        });
        let tasks: Vec<_> = (0..connections)
            .map(|_| tokio::spawn(connection(plan.clone())))
            .collect();
        let mut outcome = Outcome {
            taken: Vec::new(),
            errors: 0,
            elapsed: Duration::ZERO,
        };
        for task in tasks {
            let (taken, errors) = task.await.unwrap();
            outcome.taken.extend(taken);
            outcome.errors += errors;
        }
        outcome.elapsed = plan.start.elapsed();
        outcome
    }
}

async fn connection(plan: Arc<Plan>) -> (Vec<Duration>, u64) {
    let mut stream = TcpStream::connect(plan.load.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut taken, mut errors) = (Vec::new(), 0);
    let mut buffer = Vec::with_capacity(8 << 10);
    loop {
        let number = plan.next.fetch_add(1, Ordering::Relaxed);
        let due = match plan.load.pace {
            Pace::Fast => Instant::now(),
            Pace::Rate(rate) => plan.start + Duration::from_secs_f64(number as f64 / rate),
        };
        if due.duration_since(plan.start) >= plan.load.time {
            return (taken, errors);
        }
        tokio::time::sleep_until(due.into()).await;
        let request = request(&plan.load, number);
        stream.write_all(&request).await.unwrap();
        match status(&mut stream, &mut buffer).await {
            200 => taken.push(due.elapsed()),
            _ => errors += 1,
        }
    }
}

fn request(load: &Load, number: u64) -> Vec<u8> {
    let text = message(usize::try_from(number).unwrap());
    let body = serde_json::json!({
        "application_id": load.application,
        "message": text,
        "additional_parameters": {
            "request_id": uuid::Uuid::new_v4(),
            "user_id": format!("user{}", number % 1000),
            "session_id": format!("session{}", number / 10),
        },
    })
    .to_string();
    format!(
        "POST /process_request/ HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Reads one answer; its status.
async fn status(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> u16 {
    buffer.clear();
    loop {
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "closed early");
        let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") else {
            continue;
        };
        let head = std::str::from_utf8(&buffer[..end]).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().unwrap())
            })
            .unwrap();
        if buffer.len() >= end + 4 + length {
            return head[9..12].parse().unwrap();
        }
    }
}
