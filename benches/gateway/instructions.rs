//! Instructions that a call costs (`instructions`), counted by callgrind outside the kernel: nearly the same from run
//! to run, whatever else the machine does. What a start costs is taken off, by a run with more calls. With telemetry a
//! run ends when its last record is delivered, and all threads count. Only where it is asked for by name, and
//! valgrind is there. It emulates no SHA extensions, so that a digest counts more than it takes.

use super::callgrind::Profile;
use super::cases::{Case, Scale, looped};
use super::table::{Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::{Result, bail};
use bench_support::load::Plan;
use bench_support::world::{Load, World};
use std::process::Command;
use std::time::{Duration, Instant};

/// The longer run's calls, in those of the shorter one.
const LONGER: u64 = 5;
/// Few enough that the calls and not the waiting are counted.
const CONNECTIONS: usize = 4;
/// A call of so many bytes takes about the instructions of two calls of 1 KiB.
const TWICE: usize = 16 << 10;
/// Longest run, milliseconds: an emulated program is fifty times slower.
const LONGEST: u64 = 300_000;
/// How long the end of a run may take.
const ENDING: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// What is counted, and the column and the row where it stands.
const SUBJECTS: [(Target, Target, Measure); 5] = [
    (Target::Bare, Target::Bare, Measure::Instructions),
    (Target::Gateway, Target::Gateway, Measure::Instructions),
    (
        Target::SpoolBatch,
        Target::Gateway,
        Measure::InstructionsBatches,
    ),
    (Target::Spool, Target::Gateway, Measure::InstructionsSingle),
    (Target::All, Target::Gateway, Measure::InstructionsAll),
];

/// One round: every subject once.
pub(crate) fn measure(
    case: &Case,
    request_bytes: usize,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    for (target, column, row) in SUBJECTS {
        let each = of_a_call(target, request_bytes, scale, world)?.total;
        eprintln!("{target:?}: {:.1} thousand instructions a call", each / 1e3);
        // The bare proxy stands beside every row of the case.
        let rows = match target {
            Target::Bare => &SUBJECTS[1..],
            _ => &[(target, column, row)],
        };
        for (_, _, row) in rows {
            table.add(case, column, *row, each / 1_000.0);
        }
    }
    Ok(Records::default())
}

/// What one call costs.
pub(crate) fn of_a_call(
    target: Target,
    request_bytes: usize,
    scale: &Scale,
    world: &World,
) -> Result<Profile> {
    let calls = (scale.counted_calls / (1 + request_bytes / TWICE) as u64).max(CONNECTIONS as u64);
    let count = |calls| counted(target, calls, request_bytes, scale, world);
    let (short, long) = (count(calls)?, count(calls * LONGER)?);
    let more = calls * (LONGER - 1);
    Ok(Profile::of_a_call(&short, &long, more as f64))
}

/// What a whole run costs.
fn counted(
    target: Target,
    calls: u64,
    request_bytes: usize,
    scale: &Scale,
    world: &World,
) -> Result<Profile> {
    let running = Running::counted(target, world)?;
    let plan = Plan {
        request_bytes,
        connections: CONNECTIONS,
        max_calls: calls,
        max_millis: LONGEST,
        ..looped(running.address, scale)
    };
    let made = Load::start(&plan, world)?.finish()?.count;
    if made < calls {
        bail!("{made} of {calls} calls were made within {LONGEST} ms");
    }
    running.settle()?;
    // It writes down what it counted once it ends.
    let id = running.process.id().to_string();
    Command::new("kill").args(["-s", "INT", &id]).status()?;
    let until = Instant::now() + ENDING;
    loop {
        let text = std::fs::read_to_string(running.counts()).unwrap_or_default();
        match Profile::parse(&text) {
            Some(profile) => return Ok(profile),
            None if Instant::now() > until => bail!("callgrind counted nothing"),
            None => std::thread::sleep(LOOK),
        }
    }
}
