//! What the kernel says: CPU time and memory of one process, and the machine everything ran on.

use anyhow::{Context, Result};
use std::fs::read_to_string;

/// Microseconds per tick of /proc/PID/stat: user space sees 100 ticks a second on every
/// architecture this builds for.
const TICK_US: f64 = 10_000.0;

/// User and system time of all threads so far, in microseconds, in steps of 10,000.
pub(crate) fn cpu_us(process: u32) -> Result<f64> {
    let stat =
        read_to_string(format!("/proc/{process}/stat")).context("reading /proc (Linux only)")?;
    // The name stands in parentheses and may hold anything; the fields begin behind it.
    let (_, fields) = stat.rsplit_once(')').context("shape of /proc/PID/stat")?;
    let ticks = |index: usize| {
        fields
            .split_ascii_whitespace()
            .nth(index)?
            .parse::<u64>()
            .ok()
    };
    let (user, system) = ticks(11)
        .zip(ticks(12))
        .context("times in /proc/PID/stat")?;
    Ok((user + system) as f64 * TICK_US)
}

/// Resident memory now, in bytes.
pub(crate) fn resident_bytes(process: u32) -> Result<f64> {
    status(process, "VmRSS:")
}

/// The most resident memory since the start or since [`forget_peak`], in bytes.
pub(crate) fn peak_bytes(process: u32) -> Result<f64> {
    status(process, "VmHWM:")
}

/// Bytes that the process has sent to the disk so far: pages of files, which a log and its file both have.
pub(crate) fn written_bytes(process: u32) -> Result<f64> {
    let counts = read_to_string(format!("/proc/{process}/io")).context("reading /proc/PID/io")?;
    let written = counts
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: ")?.parse::<u64>().ok());
    Ok(written.context("write_bytes in /proc/PID/io")? as f64)
}

/// How often a thread that is there now has waited for something so far.
pub(crate) fn voluntary_switches(process: u32) -> Result<f64> {
    const KEY: &str = "voluntary_ctxt_switches:";
    let mut sum = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).context("reading /proc")? {
        // A thread may end meanwhile.
        let status = read_to_string(thread?.path().join("status")).unwrap_or_default();
        let count = status.lines().find_map(|line| line.strip_prefix(KEY));
        sum += count
            .and_then(|count| count.trim().parse::<u64>().ok())
            .unwrap_or(0);
    }
    Ok(sum as f64)
}

/// Starts the peak anew at what is resident now; without the right to do so it stays.
pub(crate) fn forget_peak(process: u32) {
    let _ = std::fs::write(format!("/proc/{process}/clear_refs"), "5");
}

/// CPU model, count of CPUs, kernel.
pub(crate) fn machine() -> String {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown CPU", |(_, name)| name.trim());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cpus} CPUs, Linux {}", kernel.trim())
}

fn status(process: u32, key: &str) -> Result<f64> {
    let status =
        read_to_string(format!("/proc/{process}/status")).context("reading /proc (Linux only)")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.with_context(|| format!("{key} in /proc/PID/status"))? as f64 * 1024.0)
}
