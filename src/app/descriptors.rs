//! How many clients the process has descriptors for. A client takes one, its call another one to the
//! upstream; what else the process opens is kept free for it.

use crate::config::Limits;
use anyhow::{Result, ensure};
use log::{info, warn};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For listeners, spool, database, files, the backend and the operations listener.
const RESERVED: u64 = 128;
const PER_CLIENT: u64 = 2;
/// A gateway for fewer is of no use to anybody.
const FEWEST: u64 = 16;

/// Raises the soft limit to the hard one, and says how many clients there is room for. What
/// `limits.connections` asks for beyond that is warned about; where it leaves the number open, fewer
/// than the default are no mistake of anybody's.
///
/// # Errors
/// When there are not even descriptors for a few.
pub(super) fn clients(wanted: Option<usize>) -> Result<usize> {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let now = limit.current.unwrap_or(u64::MAX);
    let needed = (wanted.unwrap_or(Limits::CONNECTIONS) as u64)
        .saturating_mul(PER_CLIENT)
        .saturating_add(RESERVED);
    let have = match now < most {
        true => raise(now, most, limit.maximum),
        false => now,
    };
    let room = have.saturating_sub(RESERVED) / PER_CLIENT;
    ensure!(
        room >= FEWEST,
        "{have} file descriptors are too few; raise the limit (LimitNOFILE, ulimit -n) to {needed}"
    );
    match wanted {
        Some(wanted) if have < needed => warn!(
            "{have} file descriptors are enough for {room} client connections, not for limits.connections {wanted}, which needs {needed} (LimitNOFILE, ulimit -n): {room} is the limit"
        ),
        None if have < needed => info!(
            "{have} file descriptors are enough for {room} client connections: limits.connections is not set, so that is the limit"
        ),
        _ => {}
    }
    Ok(usize::try_from(room).unwrap_or(usize::MAX))
}

/// The limit that is in force then.
fn raise(now: u64, to: u64, maximum: Option<u64>) -> u64 {
    let current = Some(to);
    match setrlimit(Resource::Nofile, Rlimit { current, maximum }) {
        Ok(()) => to,
        Err(_) => now,
    }
}
