//! The cases of telemetry over HTTP through the spool: what it costs beside the
//! bare proxy, records delivered within the measurement, and what an outage leaves, delivered once the
//! backend is there. The subject's figures stand in the gateway's column. A record that is lost fails
//! the bench.

use super::cases::{Case, Scale, Sizes, idle, looped, run_loop, warm};
use super::facts::{forget_peak, peak_bytes, resident_bytes};
use super::table::{Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::{Result, bail};
use bench_support::load::Plan;
use bench_support::process::{Cpu, Folder, Launch, Process, free_addresses};
use bench_support::world::{Load, World};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const MIB: f64 = (1 << 20) as f64;
/// Between two looks at how far the delivery is.
const LOOK: Duration = Duration::from_millis(50);
/// How long the first record may take to be delivered once the backend is there.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);

/// One round of a case whose subject is `subject`, with calls of these sizes: CPU until the last record is delivered, latency.
pub(crate) fn measure(
    case: &Case,
    subject: Target,
    sizes: Sizes,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let mut alone = Vec::new();
    for (target, column) in [(Target::Bare, Target::Bare), (subject, Target::Gateway)] {
        let running = Running::start(target, world)?;
        let plan = Plan {
            request_bytes: sizes.request_bytes,
            answer: sizes.answer,
            ..looped(running.address, scale)
        };
        let (findings, _) = run_loop(plan, world, &running)?;
        for (measure, value) in findings {
            table.add(case, column, measure, value);
        }
        alone.push(idle(running.address, scale, world)?.p50_us);
        if target != Target::Bare {
            running.settle()?;
            nothing_lost(&running)?;
        }
    }
    let added = alone[1] - alone[0];
    table.add(case, Target::Gateway, Measure::TelemetryP50, added);
    Ok(Records::default())
}

/// One round of an outage: calls while nobody listens at the backend's address, then a backend there.
pub(crate) fn backlog(
    case: &Case,
    subject: Target,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let [address] = free_addresses()?;
    let away = World {
        backend: address,
        batches: address,
        ..world.clone()
    };
    let running = Running::start(subject, &away)?;
    warm(scale, &away, &running)?;
    forget_peak(running.process.id());
    let before = resident_bytes(running.process.id())?;
    let calls = Plan {
        max_calls: scale.backlog_calls,
        max_millis: 600_000,
        ..looped(running.address, scale)
    };
    Load::start(&calls, &away)?.finish()?;
    let _backend = backend(subject, address, &away)?;
    let rate = delivered(&running)?;
    nothing_lost(&running)?;
    let grown = peak_bytes(running.process.id())? - before;
    for (measure, value) in [(Measure::Delivered, rate), (Measure::SpoolMib, grown / MIB)] {
        table.add(case, Target::Gateway, measure, value);
    }
    Ok(Records::default())
}

/// A backend at that address.
fn backend(subject: Target, address: SocketAddr, world: &World) -> Result<(Process, Folder)> {
    let folder = Folder::create("late-backend")?;
    let role = match subject {
        Target::SpoolBatch | Target::SpoolEncrypted => "batches",
        _ => "backend",
    };
    let launch = Launch {
        name: "late-backend",
        program: &world.bench,
        arguments: vec!["--role".to_owned(), role.to_owned(), address.to_string()],
        environment: Vec::new(),
        cpu: Cpu::Surroundings,
    };
    let mut process = Process::start(launch, world.pinning, folder.path())?;
    process.line()?;
    Ok((process, folder))
}

/// Records a second, from the beginning of the last look that showed none delivered to the last record;
/// how long the gateway waits before it asks again is not counted.
fn delivered(running: &Running) -> Result<f64> {
    let began = Instant::now();
    let mut since = began;
    loop {
        let look = Instant::now();
        if running.metrics()?.records().stored > 0.0 {
            break;
        }
        since = look;
        if began.elapsed() > FIRST_PATIENCE {
            bail!("no record is delivered: {}", running.process.last_words());
        }
        std::thread::sleep(LOOK);
    }
    let stored = running.settle()?.stored;
    Ok(stored / since.elapsed().as_secs_f64())
}

fn nothing_lost(running: &Running) -> Result<()> {
    let metrics = running.metrics()?;
    let (lost, records) = (
        metrics.sum("monitor_spool_lost_total", ""),
        metrics.records(),
    );
    if lost > 0.0 || records.stored < records.made {
        let Records { stored, made } = records;
        bail!("{lost} records lost, {stored} of {made} delivered");
    }
    Ok(())
}
