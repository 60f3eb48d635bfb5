//! The steps of the spool's thread at which a test may end or break it (CONTRACT 23). Only builds
//! with debug assertions know them: MONITOR_SPOOL_FAULT=STEP:N:kill ends the process at the N-th time
//! of that step, :panic makes the thread panic there, :panics from then on each time. A release build has nothing of it.

use std::fs::File;
use std::io::{self, Write};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// A segment's file is made; its header is not written.
    Create,
    /// Half of a segment's new bytes are written.
    Write,
    /// All of them are written, not synced.
    Sync,
    /// They are synced; nobody knows yet.
    Synced,
    /// Half of some acknowledgements are written.
    Ledger,
    /// A segment's ledger is removed, the segment is not.
    Delete,
    /// Both are.
    Deleted,
    /// Half of some dead letters are written.
    Letters,
}

/// Writes all of `bytes`; a fault of that step comes in the middle of them.
pub(super) fn write(point: Point, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let (first, rest) = bytes.split_at(if is_set(point) { bytes.len() / 2 } else { 0 });
    file.write_all(first)?;
    at(point);
    file.write_all(rest)
}

/// The place of a step between two others.
#[cfg(debug_assertions)]
pub(super) fn at(point: Point) {
    use std::panic::panic_any;
    use std::sync::atomic::{AtomicU32, Ordering};
    const ASKED: &str = "a fault that a test asked for";
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let Some(fault) = armed::fault().filter(|fault| fault.step == name(point)) else {
        return;
    };
    let time = TIMES.fetch_add(1, Ordering::Relaxed) + 1;
    match fault.manner.as_str() {
        "kill" if time == fault.time => std::process::abort(),
        "panic" if time == fault.time => panic_any(ASKED),
        "panics" if time >= fault.time => panic_any(ASKED),
        _ => {}
    }
}

#[cfg(not(debug_assertions))]
pub(super) const fn at(_: Point) {}

#[cfg(debug_assertions)]
fn is_set(point: Point) -> bool {
    armed::fault().is_some_and(|fault| fault.step == name(point))
}

#[cfg(not(debug_assertions))]
const fn is_set(_: Point) -> bool {
    false
}

#[cfg(debug_assertions)]
fn name(point: Point) -> &'static str {
    match point {
        Point::Create => "create",
        Point::Write => "write",
        Point::Sync => "sync",
        Point::Synced => "synced",
        Point::Ledger => "ledger",
        Point::Delete => "delete",
        Point::Deleted => "deleted",
        Point::Letters => "letters",
    }
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::LazyLock;

    pub(super) struct Fault {
        pub(super) step: String,
        pub(super) time: u32,
        pub(super) manner: String,
    }

    /// What the environment asks for.
    pub(super) fn fault() -> Option<&'static Fault> {
        static FAULT: LazyLock<Option<Fault>> = LazyLock::new(|| {
            let given = std::env::var("MONITOR_SPOOL_FAULT").ok()?;
            let mut parts = given.split(':');
            Some(Fault {
                step: parts.next()?.to_owned(),
                time: parts.next()?.parse().ok()?,
                manner: parts.next()?.to_owned(),
            })
        });
        FAULT.as_ref()
    }
}
