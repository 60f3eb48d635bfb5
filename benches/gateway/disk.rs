//! What `monitor all` writes to the disk for a call, spool and store together, and how often its threads give way.

use super::cases::{Case, Scale, looped};
use super::facts::{voluntary_switches, written_bytes};
use super::table::{Measure, Table};
use super::target::{Records, Running, Target};
use anyhow::Result;
use bench_support::load::Plan;
use bench_support::world::{Load, World};

/// Calls a second that arrive; both records of each are analyzed and stored meanwhile.
const DISK_RATE: f64 = 400.0;

/// One round, until the last record is stored.
pub(crate) fn measure(
    case: &Case,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let running = Running::start(Target::All, world)?;
    let plan = Plan {
        rate: Some(DISK_RATE),
        max_calls: scale.loop_calls.min(scale.idle_calls),
        max_millis: scale.loop_millis,
        ..looped(running.address, scale)
    };
    let mut load = Load::start(&plan, world)?;
    running.settle()?;
    let process = running.process.id();
    let (bytes, switches) = (written_bytes(process)?, voluntary_switches(process)?);
    let calls = load.finish()?.count as f64;
    let records = running.settle()?;
    let bytes = written_bytes(process)? - bytes;
    let switches = voluntary_switches(process)? - switches;
    for (measure, value) in [
        (Measure::DiskKib, bytes / 1_024.0 / calls),
        (Measure::Switches, switches / calls),
    ] {
        table.add(case, Target::Gateway, measure, value);
    }
    Ok(records)
}
