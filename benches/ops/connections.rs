//! Many kept connections, all of which bring calls by turns.

use super::{Scale, calls, gateway};
use anyhow::Result;
use bench_support::results::Table;
use bench_support::world::{Load, World};

/// Calls a second over all of them.
const RATE: f64 = 1_000.0;
/// Descriptors of the load and of the gateway that are no client connections.
const OTHERS: usize = 500;

pub(super) fn run(scale: &Scale, world: &World, table: &mut Table) -> Result<()> {
    let stack = gateway(world, false).start();
    let process = stack.process.id();
    let connections = scale
        .connections
        .min(descriptors(process)?.saturating_sub(OTHERS))
        .min(stack.metric("monitor_connections_limit") as usize);
    let warm = calls(stack.gateway_addr, scale.loop_millis, None);
    Load::start(&warm, world)?.finish()?;
    let before = stack.process.memory() as f64;
    let mut plan = calls(stack.gateway_addr, scale.loop_millis, Some(RATE));
    (plan.connections, plan.warm_up) = (connections, 1);
    // Every one of them more than once.
    plan.max_millis = plan
        .max_millis
        .max(3_000 * connections as u64 / RATE as u64);
    let mut load = Load::start(&plan, world)?;
    let open = std::fs::read_dir(format!("/proc/{process}/fd"))?.count();
    anyhow::ensure!(open >= connections, "{open} of {connections} are open");
    let grown = stack.process.memory() as f64 - before;
    let report = load.finish()?;
    table.note("connections", "kept", connections as f64, "10000");
    table.note("connections", "calls, none failed", report.count as f64, "");
    let kib = (grown / 1024.0 / connections as f64 * 10.0).round() / 10.0;
    table.note("connections", "KiB each", kib, "");
    table.note("connections", "p99 µs", report.p99_us.round(), "");
    Ok(())
}

/// How many descriptors a process may have.
fn descriptors(process: u32) -> Result<usize> {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits"))?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    Ok(soft.unwrap_or(usize::MAX))
}
