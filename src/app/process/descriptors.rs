//! How many clients the process has descriptors for. A client takes one, its call another one to the
//! upstream; what else the process opens is kept free for it.

use crate::config::Limits;
use anyhow::{Result, ensure};
use log::{info, warn};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;

/// For listeners, spool, database, files, the backend and the operations listener.
const RESERVED: u64 = 128;
const PER_CLIENT: u64 = 2;
/// Connections of the API at most: browsers and gateways, each of which has a few.
const API: u64 = 10_000;
/// One of so many descriptors is left to the API beside a gateway whose clients have no number of their own.
const API_PARTS: u64 = 8;
/// The fewest client connections with which a gateway starts.
const FEWEST: u64 = 16;

/// Raises the soft limit to the hard one and returns how many clients the descriptors allow, beside the API if there
/// is one. Warns if `limits.connections` asks for more; where it is not set, fewer than the default are only logged.
///
/// # Errors
/// When there are not even descriptors for a few.
pub(crate) fn clients(wanted: Option<usize>, beside_api: bool) -> Result<usize> {
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
    let of_api = match wanted {
        None if beside_api => api_part(have),
        _ => 0,
    };
    let room = have.saturating_sub(RESERVED).saturating_sub(of_api) / PER_CLIENT;
    ensure!(
        room >= FEWEST,
        "{have} file descriptors are too few; raise the limit (LimitNOFILE, ulimit -n) to {needed}"
    );
    match wanted {
        Some(wanted) if have < needed => warn!(
            "{have} file descriptors allow {room} client connections; limits.connections {wanted} needs {needed} (LimitNOFILE, ulimit -n): the limit is {room}"
        ),
        None if have < needed => info!(
            "{have} file descriptors allow {room} client connections: the limit, since limits.connections is not set"
        ),
        _ => {}
    }
    Ok(usize::try_from(room).unwrap_or(usize::MAX))
}

/// Raises the soft limit too and returns how many connections of the analysis API the descriptors allow, in
/// addition to a gateway with these limits, if there is one. Half of the reserve is theirs in any case, and a part of
/// the rest where the gateway takes as many as there are.
pub(crate) fn api(beside: Option<&Limits>) -> i64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let now = limit.current.unwrap_or(u64::MAX);
    let have = match now < most {
        true => raise(now, most, limit.maximum),
        false => now,
    };
    let clients = beside.map_or(0, |limits| {
        limits.connections.unwrap_or(Limits::CONNECTIONS)
    });
    let theirs = (clients as u64).saturating_mul(PER_CLIENT);
    let left = have.saturating_sub(theirs).saturating_sub(RESERVED);
    let left = match beside {
        Some(limits) if limits.connections.is_none() => left.max(api_part(have)),
        _ => left,
    };
    let room = left.saturating_add(RESERVED / 2).min(API);
    i64::try_from(room).unwrap_or(i64::MAX)
}

/// What is left to the API of so many descriptors; nothing where the gateway would not start beside it.
fn api_part(have: u64) -> u64 {
    let free = have.saturating_sub(RESERVED);
    let part = (free / API_PARTS).min(API);
    part.min(free.saturating_sub(FEWEST * PER_CLIENT))
}

/// Whether no descriptor is left: tries to open one.
pub(crate) fn are_gone() -> bool {
    File::open("/dev/null").is_err_and(|error| is_shortage(&error))
}

/// Whether an error means that the process or the system has no descriptors left.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

/// The limit that is in force afterwards.
fn raise(now: u64, to: u64, maximum: Option<u64>) -> u64 {
    let current = Some(to);
    match setrlimit(Resource::Nofile, Rlimit { current, maximum }) {
        Ok(()) => to,
        Err(_) => now,
    }
}
