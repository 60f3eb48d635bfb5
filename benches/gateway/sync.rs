//! The cases of sync mode: what the check adds to a call at half load. The load
//! is half of what the subject takes in a closed loop, until its last record is delivered; at that rate calls arrive at random at the bare
//! proxy and at the subject by turns. Where the backend is another process its own time, measured by
//! calling it directly at the same rate, is not counted.

use super::cases::{Case, Scale, looped};
use super::table::{Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::Result;
use bench_support::answer::Answer;
use bench_support::load::{Plan, Report};
use bench_support::world::{Load, World};
use std::net::SocketAddr;
use std::time::Instant;

/// Connections that arrivals are spread over: more than are ever in use, or the loop is not open.
const OPEN_CONNECTIONS: usize = 128;

/// The bare proxy's own 99th percentile above which the machine does something else as well, so that
/// no difference to it means anything.
const QUIET_P99_US: f64 = 2_000.0;

/// One round of a case whose subject is `subject`; its figures stand in the gateway's column.
pub(crate) fn measure(
    case: &Case,
    subject: Target,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let (bare, checked) = (
        Running::start(Target::Bare, world)?,
        Running::start(subject, world)?,
    );
    let closed = Load::start(&looped(checked.address, scale), world)?.finish()?;
    let ended = Instant::now();
    checked.settle()?;
    let seconds = closed.seconds + ended.elapsed().as_secs_f64();
    let rate = closed.count as f64 / seconds / 2.0;
    let mut row = |target, measure, value| table.add(case, target, measure, value);
    row(Target::Gateway, Measure::Rate, rate);
    let at_rate = |address| at_rate(address, rate, scale);
    let without = Load::start(&at_rate(bare.address), world)?.finish()?;
    let with = Load::start(&at_rate(checked.address), world)?.finish()?;
    let records = checked.settle()?;
    for (target, report) in [(Target::Bare, &without), (Target::Gateway, &with)] {
        row(target, Measure::P50, report.p50_us);
        row(target, Measure::P99, report.p99_us);
    }
    if without.p99_us > QUIET_P99_US {
        let p99 = without.p99_us;
        eprintln!("busy machine, nothing is compared: the bare proxy's own p99 is {p99:.0} µs");
        return Ok(records);
    }
    if subject == Target::SyncAll {
        row(
            Target::Gateway,
            Measure::CheckP50,
            with.p50_us - without.p50_us,
        );
        row(
            Target::Gateway,
            Measure::CheckP99,
            with.p99_us - without.p99_us,
        );
        return Ok(records);
    }
    let own = own_time(world, &at_rate(world.backend))?;
    row(Target::Gateway, Measure::BackendP50, own.p50_us);
    let added = with.p50_us - without.p50_us - own.p50_us;
    row(Target::Gateway, Measure::AroundP50, added);
    Ok(Records::default())
}

fn own_time(world: &World, plan: &Plan) -> Result<Report> {
    let plan = Plan {
        answer: Answer::Verdict,
        ..plan.clone()
    };
    Load::start(&plan, world)?.finish()
}

fn at_rate(address: SocketAddr, rate: f64, scale: &Scale) -> Plan {
    Plan {
        rate: Some(rate),
        connections: OPEN_CONNECTIONS,
        ..looped(address, scale)
    }
}
