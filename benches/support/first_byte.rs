//! The load that measures how long a proxy takes, once it has been sent the whole request, until the model server gets
//! the first byte of it. The mock tells when that was; all processes have the same clock.

use crate::load::{Caller, PATIENCE, Plan, Report, ready, summary};
use crate::wire::Wire;
use anyhow::{Context, Result};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// Now, in nanoseconds of the clock that all processes share.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// One call at a time; the latencies are those times. A proxy that sends the head on before it has the body needs none.
pub(crate) async fn measure(plan: &Plan, caller: Caller, mut wire: Wire) -> Result<Report> {
    for _ in 0..plan.warm_up {
        one(&caller, &mut wire).await.context("warm-up")?;
    }
    ready()?;
    let begin = Instant::now();
    let deadline = begin + Duration::from_millis(plan.max_millis);
    let mut taken = Vec::new();
    while (taken.len() as u64) < plan.max_calls && Instant::now() < deadline {
        taken.push(one(&caller, &mut wire).await?);
    }
    Ok(summary(taken, 0, begin.elapsed()))
}

async fn one(caller: &Caller, wire: &mut Wire) -> Result<u64> {
    let called = async {
        caller.send(wire).await?;
        let sent = now();
        let upstream = caller.answer(wire).await?;
        let upstream = upstream.context("the mock did not tell when it was called")?;
        anyhow::Ok(upstream.saturating_sub(sent))
    };
    timeout(PATIENCE, called).await.context("a call hangs")?
}
