//! Instructions that a call costs (`instructions`), counted by callgrind: the same from run to run, whatever
//! else the machine does. What a start costs is taken off, by a run with more calls. Only where it is asked for by
//! name, and valgrind is there.

use super::cases::{Case, Scale, looped};
use super::table::{Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::{Result, bail};
use bench_support::load::Plan;
use bench_support::world::{Load, World};
use std::process::Command;
use std::time::{Duration, Instant};

/// The case's name.
pub(crate) const NAME: &str = "instructions";
/// The longer run's calls, in those of the shorter one.
const LONGER: u64 = 5;
/// Few enough that the calls and not the waiting are counted.
const CONNECTIONS: usize = 4;
/// Longest run, milliseconds: an emulated program is fifty times slower.
const LONGEST: u64 = 300_000;
/// How long the end of a run may take.
const ENDING: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// One round: the bare proxy and the gateway.
pub(crate) fn measure(
    case: &Case,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let calls = scale.counted_calls;
    for target in [Target::Bare, Target::Gateway] {
        let short = counted(target, calls, scale, world)?;
        let long = counted(target, calls * LONGER, scale, world)?;
        let each = (long - short) / (calls * (LONGER - 1)) as f64;
        table.add(case, target, Measure::Instructions, each / 1_000.0);
    }
    Ok(Records::default())
}

/// Those of a whole run.
fn counted(target: Target, calls: u64, scale: &Scale, world: &World) -> Result<f64> {
    let running = Running::counted(target, world)?;
    let plan = Plan {
        connections: CONNECTIONS,
        max_calls: calls,
        max_millis: LONGEST,
        ..looped(running.address, scale)
    };
    Load::start(&plan, world)?.finish()?;
    // It writes down what it counted once it ends.
    let id = running.process.id().to_string();
    Command::new("kill").args(["-s", "INT", &id]).status()?;
    let until = Instant::now() + ENDING;
    loop {
        let text = std::fs::read_to_string(running.counts()).unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        match total {
            Some(total) => return Ok(total.trim().parse()?),
            None if Instant::now() > until => bail!("callgrind counted nothing"),
            None => std::thread::sleep(LOOK),
        }
    }
}
