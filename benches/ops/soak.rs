//! Memory over a long time at half load: the slope of what is resident, once the process has seen all
//! it allocates in ordinary work.

use super::{Scale, calls, half_load};
use anyhow::Result;
use bench_support::results::Table;
use bench_support::world::{Load, World};
use std::time::{Duration, Instant};
use support::stack::{Builder, Stack};

const MIB: f64 = 1048576.0;
/// Before this share of the time nothing is counted.
const WARM: f64 = 0.2;
const SAMPLES: u32 = 300;

pub(super) fn run(
    case: &str,
    builder: Builder,
    scale: &Scale,
    world: &World,
    table: &mut Table,
) -> Result<()> {
    let stack = builder.start();
    let rate = half_load(&stack, scale, world)?;
    let millis = scale.soak.as_millis() as u64;
    let plan = calls(stack.gateway_addr, millis, Some(rate));
    let mut load = Load::start(&plan, world)?;
    let (report, samples) = std::thread::scope(|scope| {
        let finished = scope.spawn(|| load.finish());
        let samples = watch(&stack, scale.soak);
        (finished.join().expect("the thread of the load"), samples)
    });
    let report = report?;
    let counted = samples[(samples.len() as f64 * WARM) as usize..].to_vec();
    let ends = |at: usize| round(counted[at].1);
    table.note(case, "calls, none failed", report.count as f64, "");
    table.note(case, "calls/s", rate.round(), "");
    table.note(case, "MiB after a fifth of the time", ends(0), "");
    table.note(case, "MiB at the end", ends(counted.len() - 1), "");
    table.note(
        case,
        "slope, MiB a minute",
        round(slope(&counted) * 60.0),
        "0",
    );
    Ok(())
}

/// Seconds and MiB, as long as that.
fn watch(stack: &Stack, length: Duration) -> Vec<(f64, f64)> {
    let begin = Instant::now();
    let mut samples = Vec::new();
    while begin.elapsed() < length {
        std::thread::sleep(length / SAMPLES);
        let memory = stack.process.memory() as f64 / MIB;
        samples.push((begin.elapsed().as_secs_f64(), memory));
    }
    samples
}

/// Of the straight line nearest to them, in MiB a second.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (middle, level) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let product = |(at, memory): &(f64, f64)| (at - middle) * (memory - level);
    let square = |(at, _): &(f64, f64)| (at - middle).powi(2);
    samples.iter().map(product).sum::<f64>() / samples.iter().map(square).sum::<f64>()
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
