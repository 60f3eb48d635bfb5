//! What the processes under measure take: memory of the program, processor time of it and of its
//! database. Processor time hardly changes when others use the machine at the same time.

use std::time::Duration;
use support::stack::Stack;

/// Linux counts in hundredths of a second wherever a program can see it.
const TICK: Duration = Duration::from_millis(10);

/// Resident memory of the program.
pub(crate) fn resident_mib(stack: &Stack) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", stack.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line
        .and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap();
    (kib / 1024.0).round()
}

/// Processor time so far of every process that this one started, and of theirs.
pub(crate) fn cpu_of_children() -> Duration {
    let all: Vec<Stat> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| Stat::read(&entry.ok()?.path().join("stat")))
        .collect();
    let mut ticks = 0;
    let mut parents = vec![std::process::id()];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            ticks += child.ticks;
            parents.push(child.id);
        }
    }
    TICK * ticks
}

/// How many processes want to run, as the system averages it over a minute.
pub(crate) fn load_average() -> String {
    let line = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    line.split(' ').next().unwrap_or_default().to_owned()
}

struct Stat {
    id: u32,
    parent: u32,
    ticks: u32,
}

impl Stat {
    /// None where the process has ended in the meantime.
    fn read(path: &std::path::Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let (id, rest) = text.split_once(' ')?;
        // The name before it may hold anything.
        let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
        let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
        Some(Self {
            id: id.parse().ok()?,
            parent: number(1)?,
            ticks: number(11)? + number(12)?,
        })
    }
}
