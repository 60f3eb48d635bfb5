//! Fault points of the spool (CONTRACT 23): steps at which a test may kill the process or make the
//! spool's thread panic. They exist only in builds with debug assertions:
//! `MONITOR_SPOOL_FAULT=STEP:N:kill` aborts the process when STEP is reached for the N-th time,
//! `:panic` makes the thread panic at that time, `:panics` at that time and each time after it.

use std::io::{self, Write};

/// A step that a test can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultPoint {
    /// A segment file has been created; its header has not been written.
    Create,
    /// Half of a segment's new bytes have been written.
    Write,
    /// All of a segment's new bytes have been written; none has been synced.
    Sync,
    /// The new bytes have been synced; nobody has been told yet.
    Synced,
    /// Half of some acknowledgements have been written.
    Ledger,
    /// A segment's acknowledgement log has been removed; the segment has not.
    Delete,
    /// A segment and its acknowledgement log have been removed.
    Deleted,
    /// Half of some dead letters have been written.
    Letters,
}

/// Writes all of `bytes`; a fault armed for `point` strikes when half of them are written.
pub(super) fn write(point: FaultPoint, file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let (first, rest) = bytes.split_at(if is_armed(point) { bytes.len() / 2 } else { 0 });
    file.write_all(first)?;
    reached(point);
    file.write_all(rest)
}

/// Strikes here if a fault is armed for `point`.
#[cfg(debug_assertions)]
pub(super) fn reached(point: FaultPoint) {
    use std::panic::panic_any;
    use std::sync::atomic::{AtomicU32, Ordering};
    const MESSAGE: &str = "a fault that a test asked for";
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let Some(fault) = armed::fault().filter(|fault| fault.step == name(point)) else {
        return;
    };
    let time = TIMES.fetch_add(1, Ordering::Relaxed) + 1;
    match fault.action.as_str() {
        "kill" if time == fault.time => std::process::abort(),
        "panic" if time == fault.time => panic_any(MESSAGE),
        "panics" if time >= fault.time => panic_any(MESSAGE),
        _ => {}
    }
}

#[cfg(not(debug_assertions))]
pub(super) const fn reached(_: FaultPoint) {}

#[cfg(debug_assertions)]
fn is_armed(point: FaultPoint) -> bool {
    armed::fault().is_some_and(|fault| fault.step == name(point))
}

#[cfg(not(debug_assertions))]
const fn is_armed(_: FaultPoint) -> bool {
    false
}

#[cfg(debug_assertions)]
fn name(point: FaultPoint) -> &'static str {
    match point {
        FaultPoint::Create => "create",
        FaultPoint::Write => "write",
        FaultPoint::Sync => "sync",
        FaultPoint::Synced => "synced",
        FaultPoint::Ledger => "ledger",
        FaultPoint::Delete => "delete",
        FaultPoint::Deleted => "deleted",
        FaultPoint::Letters => "letters",
    }
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::LazyLock;

    pub(super) struct Fault {
        pub(super) step: String,
        pub(super) time: u32,
        pub(super) action: String,
    }

    /// The fault that the environment arms.
    pub(super) fn fault() -> Option<&'static Fault> {
        static FAULT: LazyLock<Option<Fault>> = LazyLock::new(|| {
            let given = std::env::var("MONITOR_SPOOL_FAULT").ok()?;
            let mut parts = given.split(':');
            Some(Fault {
                step: parts.next()?.to_owned(),
                time: parts.next()?.parse().ok()?,
                action: parts.next()?.to_owned(),
            })
        });
        FAULT.as_ref()
    }
}
