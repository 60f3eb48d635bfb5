//! Calls with and without reloads, by turns: what those add to the 99th percentile. At an eighth of what it
//! takes in a closed loop, so that calls wait for what a reload does and not for each other.

use super::{Scale, calls, gateway, half_load, median};
use anyhow::{Context, Result};
use bench_support::results::Table;
use bench_support::world::{Load, World};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::stack::Stack;

/// One reload after another, so far apart.
const PERIOD: Duration = Duration::from_millis(100);

pub(super) fn run(scale: &Scale, world: &World, table: &mut Table) -> Result<()> {
    let stack = gateway(world, false).start();
    let rate = half_load(&stack, scale, world)? / 4.0;
    let plan = calls(stack.gateway_addr, scale.loop_millis, Some(rate));
    let (mut quiet_p99, mut added, mut reloads) = (Vec::new(), Vec::new(), 0);
    for _ in 0..scale.rounds {
        let before = Load::start(&plan, world)?.finish()?;
        let mut load = Load::start(&plan, world)?;
        let (report, done) = while_reloading(&stack, || load.finish())?;
        let after = Load::start(&plan, world)?.finish()?;
        // Whatever drifts while the rounds go on lies on both sides.
        let quiet = (before.p99_us + after.p99_us) / 2.0;
        added.push(report.p99_us - quiet);
        quiet_p99.push(quiet);
        reloads += done;
    }
    table.note("reload", "reloads", reloads as f64, "");
    table.note("reload", "calls/s", rate.round(), "");
    table.note("reload", "p99 µs without", median(quiet_p99).round(), "");
    let added = median(added).round();
    table.note("reload", "added p99 µs", added, "≤ 1000");
    Ok(())
}

/// Reloads until `work` is done; gives what that gave, and how many there were.
fn while_reloading<T>(stack: &Stack, work: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
    let (ended, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let control = stack.data_dir().join("control-gateway.sock");
    let configuration = stack.configuration();
    let text = std::fs::read_to_string(&configuration)?;
    let reloading = || -> Result<()> {
        while !ended.load(Ordering::Relaxed) {
            let round = done.fetch_add(1, Ordering::Relaxed);
            let varied = format!("{text}stream: {{heartbeat: {}s}}\n", 30 + round % 5);
            std::fs::write(&configuration, varied)?;
            reload(&control)?;
            std::thread::sleep(PERIOD);
        }
        Ok(())
    };
    let worked = std::thread::scope(|scope| {
        let reloads = scope.spawn(reloading);
        let worked = work();
        ended.store(true, Ordering::Relaxed);
        let reloaded = reloads.join().expect("the thread that reloads");
        reloaded.and(worked)
    })?;
    std::fs::write(&configuration, &text)?;
    Ok((worked, done.into_inner()))
}

fn reload(control: &Path) -> Result<()> {
    let mut order = UnixStream::connect(control).context("the control socket")?;
    order.write_all(b"reload\n")?;
    let mut said = String::new();
    order.read_to_string(&mut said)?;
    anyhow::ensure!(said.starts_with("ok: "), "{said}");
    Ok(())
}
