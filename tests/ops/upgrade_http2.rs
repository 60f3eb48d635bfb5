//! Upgrades under clients that speak HTTP/2: what a connection has taken is answered, and what it has not goes
//! out on another.

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::line::{Line, await_end};
use support::request::{CHAT, HELLO};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};
use support::{KEY, eventually};
use tokio::net::TcpStream;

const CLIENTS: usize = 4;
const UPGRADES: usize = 2;
/// Calls between two upgrades.
const CALLS: u64 = 100;

type Sender = SendRequest<Full<Bytes>>;

/// What clients share.
#[derive(Default)]
struct Shared {
    ends: AtomicBool,
    calls: AtomicU64,
}

async fn connect(address: SocketAddr) -> Result<Sender, String> {
    let socket = TcpStream::connect(address).await;
    let socket = socket.map_err(|error| format!("connecting: {error}"))?;
    let shaken = handshake(TokioExecutor::new(), TokioIo::new(socket)).await;
    let (sender, connection) = shaken.map_err(|error| format!("greeting: {error}"))?;
    tokio::spawn(connection);
    Ok(sender)
}

fn hello() -> Request<Full<Bytes>> {
    Request::post(format!("http://gateway.test{CHAT}"))
        .header("content-type", "application/json")
        .header("x-monitor-api-key", KEY)
        .body(Full::new(Bytes::from(HELLO)))
        .unwrap()
}

/// One call; None where the connection has not taken it.
async fn call(sender: &mut Sender) -> Result<Option<()>, String> {
    if sender.ready().await.is_err() {
        return Ok(None);
    }
    let response = match sender.send_request(hello()).await {
        Ok(response) => response,
        Err(error) if error.is_canceled() => return Ok(None),
        Err(error) => return Err(format!("no answer: {error:?}")),
    };
    let status = response.status();
    let body = response.into_body().collect().await;
    let body = body.map_err(|error| format!("a cut answer: {error:?}"))?;
    match (status.as_u16(), body.to_bytes() == ANSWER) {
        (200, true) => Ok(Some(())),
        other => Err(format!("a wrong answer: {other:?}")),
    }
}

async fn client(address: SocketAddr, shared: Arc<Shared>) -> Result<(), String> {
    let mut sender = connect(address).await?;
    while !shared.ends.load(Ordering::Relaxed) {
        match call(&mut sender).await? {
            Some(()) => drop(shared.calls.fetch_add(1, Ordering::Relaxed)),
            None => sender = connect(address).await?,
        }
    }
    Ok(())
}

#[test]
fn contract_35_upgrades_under_clients_of_http2_drop_no_call() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let (mut line, shared) = (Line::default(), Arc::new(Shared::default()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| runtime.spawn(client(stack.gateway_addr, shared.clone())))
        .collect();
    let calls = || shared.calls.load(Ordering::Relaxed);
    for _ in 0..UPGRADES {
        let until = calls() + CALLS;
        eventually("calls", || (calls() > until).then_some(()));
        line.upgrade(&stack, "gateway");
    }
    let until = calls() + CALLS;
    eventually("calls in the last one", || (calls() > until).then_some(()));
    shared.ends.store(true, Ordering::Relaxed);
    for client in clients {
        runtime.block_on(client).unwrap().unwrap();
    }
    await_end(stack.process.id() as i32);
}
