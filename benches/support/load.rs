//! Role `load`: a closed loop of kept connections, or arrivals at a rate (`open`). It connects and warms up, prints `ready`, waits
//! for a line on stdin, runs its plan and prints one [`Report`] as a line of JSON.

use crate::answer::Answer;
use crate::prompt::Prompt;
use crate::wire::Wire;
use crate::{first_byte, open};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The access key of every call; as long as the configuration wants one to be.
pub const ACCESS_KEY: &str = "bench-key";
/// Beyond the planned time, after which a proxy that hangs fails the bench instead of stopping it.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Broken calls after which one connection gives up.
const MAX_ERRORS: u64 = 10;

/// What to send, where, and for how long.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub address: SocketAddr,
    /// What to send.
    pub prompt: Prompt,
    /// Bytes of each request's body.
    pub request_bytes: usize,
    /// What to ask of the mock.
    pub answer: Answer,
    /// Connections, each with one call under way; for held streams their number.
    pub connections: usize,
    /// Calls on each connection before `ready`.
    pub warm_up: u64,
    /// Calls at most, over all connections.
    pub max_calls: u64,
    /// Milliseconds at most.
    pub max_millis: u64,
    /// Calls a second that arrive whatever becomes of the others; None is a closed loop.
    pub rate: Option<f64>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Whole answers with status 200.
    pub count: u64,
    /// Calls that broke, or ended in anything else.
    pub errors: u64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// From the first call to the end of the last.
    pub seconds: f64,
}

/// Runs the plan given as JSON.
pub fn run(plan: &str) -> Result<()> {
    let plan: Plan = serde_json::from_str(plan).context("plan")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = if plan.answer == Answer::Held {
        runtime.block_on(hold(&plan))?
    } else {
        runtime.block_on(drive(&plan))?
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Opens every stream, waits for its first frame, and keeps all open until told to go on. Some are opened at the same
/// time, since HAProxy keeps a first frame back for 200 ms.
async fn hold(plan: &Plan) -> Result<Report> {
    const AT_ONCE: usize = 100;
    let request: Arc<[u8]> = request(plan).into();
    let mut streams = Vec::with_capacity(plan.connections);
    while streams.len() < plan.connections {
        let mut opening = JoinSet::new();
        for _ in 0..AT_ONCE.min(plan.connections - streams.len()) {
            opening.spawn(open_stream(plan.address, request.clone()));
        }
        while let Some(opened) = opening.join_next().await {
            streams.push(opened??);
        }
    }
    ready()?;
    Ok(Report {
        count: streams.len() as u64,
        errors: 0,
        p50_us: 0.0,
        p99_us: 0.0,
        seconds: 0.0,
    })
}

async fn open_stream(address: SocketAddr, request: Arc<[u8]>) -> Result<Wire> {
    let mut wire = connect(address).await?;
    let opened = async {
        wire.send(&request).await?;
        let head = wire.head().await?.context("closed before its head")?;
        wire.some_body().await?;
        anyhow::Ok(head.status)
    };
    match timeout(PATIENCE, opened)
        .await
        .context("a held stream sent nothing")??
    {
        200 => Ok(wire),
        status => bail!("a held stream was answered with {status}"),
    }
}

async fn drive(plan: &Plan) -> Result<Report> {
    let request: Arc<[u8]> = request(plan).into();
    let caller = Caller {
        request,
        address: plan.address,
        expected: plan.answer.body_bytes() as u64,
    };
    if plan.answer == Answer::Timed {
        let wire = connect(plan.address).await?;
        return first_byte::measure(plan, caller, wire).await;
    }
    let mut wires = Vec::with_capacity(plan.connections);
    for _ in 0..plan.connections {
        let mut wire = connect(plan.address).await?;
        for _ in 0..plan.warm_up {
            timeout(PATIENCE, caller.call(&mut wire))
                .await
                .context("warm-up hangs")?
                .context("warm-up")?;
        }
        wires.push(wire);
    }
    ready()?;
    let begin = Instant::now();
    let (latencies, errors) = match plan.rate {
        Some(rate) => open::arrive(caller, wires, plan, rate).await?,
        None => close(caller, wires, plan).await?,
    };
    Ok(summary(latencies, errors, begin.elapsed()))
}

/// One call under way on every connection.
async fn close(mut caller: Caller, wires: Vec<Wire>, plan: &Plan) -> Result<(Vec<u64>, u64)> {
    let deadline = Instant::now() + Duration::from_millis(plan.max_millis);
    let left = Arc::new(AtomicU64::new(plan.max_calls));
    let tasks: Vec<_> = wires
        .into_iter()
        .map(|wire| tokio::spawn(caller.clone().repeat(wire, deadline, Arc::clone(&left))))
        .collect();
    caller.request = Arc::new([]);
    let mut latencies = Vec::new();
    let mut errors = 0;
    let patience = Duration::from_millis(plan.max_millis) + PATIENCE;
    for task in tasks {
        let (mine, broken) = timeout(patience, task).await.context("a call hangs")??;
        latencies.extend(mine);
        errors += broken;
    }
    Ok((latencies, errors))
}

/// One kind of call, repeated.
#[derive(Clone)]
pub struct Caller {
    request: Arc<[u8]>,
    address: SocketAddr,
    expected: u64,
}

impl Caller {
    /// One call; an error when its answer is not whole, or not what the plan asks for.
    pub async fn call(&self, wire: &mut Wire) -> Result<()> {
        self.send(wire).await?;
        self.answer(wire).await.map(drop)
    }

    /// Sends one request.
    pub(crate) async fn send(&self, wire: &mut Wire) -> Result<()> {
        Ok(wire.send(&self.request).await?)
    }

    /// Reads its answer, and what that says of when the call came.
    pub(crate) async fn answer(&self, wire: &mut Wire) -> Result<Option<u64>> {
        let head = wire.head().await?.context("closed before the head")?;
        let received = wire.body(head.framing).await?;
        if head.status != 200 || received != self.expected {
            bail!(
                "status {}, {received} of {} bytes",
                head.status,
                self.expected
            );
        }
        if head.close {
            bail!("the connection was not kept");
        }
        Ok(head.called_at)
    }

    /// Calls until the deadline or until no call is left: latencies in nanoseconds, and errors.
    async fn repeat(
        self,
        mut wire: Wire,
        deadline: Instant,
        left: Arc<AtomicU64>,
    ) -> (Vec<u64>, u64) {
        let mut latencies = Vec::with_capacity(1 << 16);
        let mut errors = 0;
        let take = || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
        };
        let mut begin = Instant::now();
        while errors < MAX_ERRORS && begin < deadline && take() {
            let called = self.call(&mut wire).await;
            let end = Instant::now();
            match called {
                Ok(()) => latencies.push((end - begin).as_nanos() as u64),
                Err(error) => {
                    eprintln!("load: {error:#}");
                    errors += 1;
                    let Ok(fresh) = connect(self.address).await else {
                        break;
                    };
                    wire = fresh;
                }
            }
            begin = end;
        }
        (latencies, errors)
    }
}

async fn connect(address: SocketAddr) -> Result<Wire> {
    let stream = TcpStream::connect(address).await.context("connecting")?;
    Ok(Wire::new(stream)?)
}

fn request(plan: &Plan) -> Vec<u8> {
    let body = plan
        .prompt
        .body(plan.request_bytes, plan.answer.is_stream());
    let mut request = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nUser-Agent: bench\r\nAuthorization: Bearer upstream\r\n\
         X-Monitor-Api-Key: {ACCESS_KEY}\r\nX-Bench: {}\r\nContent-Length: {}\r\n\r\n",
        plan.prompt.path(),
        plan.address,
        plan.answer.name(),
        body.len(),
    )
    .into_bytes();
    request.extend_from_slice(&body);
    request
}

/// Says `ready` and waits for the word to go on; ends when whoever started this is gone.
pub(crate) fn ready() -> Result<()> {
    println!("ready");
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line)? == 0 {
        bail!("nobody waits for the result");
    }
    Ok(())
}

pub(crate) fn summary(mut latencies: Vec<u64>, errors: u64, length: Duration) -> Report {
    latencies.sort_unstable();
    let at = |share: f64| {
        let index = (latencies.len() as f64 * share) as usize;
        let value = latencies.get(index.min(latencies.len().saturating_sub(1)));
        value.map_or(0.0, |nanos| *nanos as f64 / 1e3)
    };
    Report {
        count: latencies.len() as u64,
        errors,
        p50_us: at(0.50),
        p99_us: at(0.99),
        seconds: length.as_secs_f64(),
    }
}
