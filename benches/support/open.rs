//! The open loop of the role `load`: calls arrive at random moments at a mean rate, whether or not
//! earlier ones are answered, so that a slow answer shows in the latency of those behind it.

use crate::load::{Caller, PATIENCE, Plan};
use crate::wire::Wire;
use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Start of the arrivals' random numbers: every run has the same arrivals.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Calls as `plan` says, at `rate` a second over the connected `wires`: latencies from the arrival
/// on, in nanoseconds, and errors.
pub async fn arrive(
    caller: Caller,
    wires: Vec<Wire>,
    plan: &Plan,
    rate: f64,
) -> Result<(Vec<u64>, u64)> {
    let (give_back, mut free) = mpsc::unbounded_channel();
    for wire in wires {
        give_back.send(wire)?;
    }
    let (done, mut results) = mpsc::unbounded_channel();
    let mut arrivals = pace(plan, rate);
    while let Some(arrived) = arrivals.recv().await {
        let wire = timeout(PATIENCE, free.recv())
            .await
            .context("all connections hang")?;
        let mut wire = wire.context("a connection that is in use keeps the channel open")?;
        let (caller, give_back, done) = (caller.clone(), give_back.clone(), done.clone());
        tokio::spawn(async move {
            let called = caller.call(&mut wire).await;
            // The receivers outlive this task, or nobody wants the result.
            let _ = done.send(called.map(|()| arrived.elapsed().as_nanos() as u64));
            let _ = give_back.send(wire);
        });
    }
    drop(done);
    let (mut latencies, mut errors) = (Vec::new(), 0);
    while let Some(result) = timeout(PATIENCE, results.recv())
        .await
        .context("a call hangs")?
    {
        match result {
            Ok(latency) => latencies.push(latency),
            Err(error) => {
                eprintln!("load: {error:#}");
                errors += 1;
            }
        }
    }
    Ok((latencies, errors))
}

/// The moments at which calls arrive, from a thread of its own: a runtime's timers are too coarse.
fn pace(plan: &Plan, rate: f64) -> mpsc::UnboundedReceiver<Instant> {
    let (sender, arrivals) = mpsc::unbounded_channel();
    let (calls, length) = (plan.max_calls, Duration::from_millis(plan.max_millis));
    std::thread::spawn(move || {
        let begin = Instant::now();
        let (mut due, mut random) = (Duration::ZERO, SEED);
        for _ in 0..calls {
            due += Duration::from_secs_f64(-unit(&mut random).ln() / rate);
            if due > length {
                return;
            }
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
            if sender.send(Instant::now()).is_err() {
                return;
            }
        }
    });
    arrivals
}

/// The next number of (0, 1], by xorshift.
fn unit(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((*state >> 11) + 1) as f64 / (1u64 << 53) as f64
}
