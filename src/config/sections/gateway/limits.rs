//! The keys of `limits`, `shutdown` and `stream`: bounds of one gateway.

use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, DAY, GIB, HOUR, KIB, MIB, MILLISECOND, SECOND};
use std::time::Duration;

/// Bounds of one gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Worker threads; None is one per core.
    pub threads: Option<usize>,
    /// Client connections of all listeners; beyond it nothing is accepted until one closes. None: as many
    /// as there are descriptors for, at most [`Limits::CONNECTIONS`].
    pub connections: Option<usize>,
    /// Connections of one client address; a further one waits, and is closed.
    pub client_connections: usize,
    /// Bytes of requests and answers in memory for all calls under way; beyond it 503.
    pub buffered_bytes: u64,
    /// Bytes of them for one client address without an accepted access key; beyond it 503.
    pub client_bytes: u64,
    /// Bytes of one compressed request body once it is decoded; beyond it 413.
    pub decoded_bytes: u64,
    /// Bytes of request bodies in files while they come; beyond it 503. None: [`Limits::spilled`].
    pub spilled_bytes: Option<u64>,
    /// Time for a client to send its request head, and for each silence inside its body.
    pub header_timeout: Duration,
    /// How long an idle kept connection stays open.
    pub idle_timeout: Duration,
    /// Idle upstream connections kept for reuse.
    pub upstream_idle_connections: usize,
    /// How much of an answer is copied for the record; the rest is cut and marked.
    pub recorded_bytes: u64,
}

impl Limits {
    /// Client connections at most where the configuration leaves it to the system (CONTRACT 34).
    pub const CONNECTIONS: usize = 10_000;

    /// Bytes of request bodies in files: by default four times those in memory.
    pub fn spilled(&self) -> u64 {
        let times = self.buffered_bytes.saturating_mul(4);
        self.spilled_bytes.unwrap_or(times)
    }
}

/// Stopping (CONTRACT 35).
#[derive(Clone, Debug, PartialEq)]
pub struct ShutdownSettings {
    /// The longest time given to calls in flight.
    pub grace: Duration,
    /// The shortest time between readiness going 503 and the listeners closing. None: [`Self::NOTICE`] where
    /// somebody checks the readiness of the process, else none.
    pub min_drain: Option<Duration>,
}

impl ShutdownSettings {
    /// More than three checks at the two seconds between them that HAProxy needs by default to take a server
    /// out, and less than the ten seconds that Docker gives a container to stop.
    pub const NOTICE: Duration = Duration::from_secs(7);
}

/// Streams (CONTRACT 18).
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSettings {
    /// GATEWAY_STREAM_HEARTBEAT_SECONDS, default 60 s.
    pub heartbeat: Duration,
}

/// The most that is recorded of a call: a record of the spool has 256 MiB at most, its escapes and places included.
const RECORDED: u64 = 128 * MIB;

pub(crate) fn read(r: &mut Reader<'_>) -> Limits {
    let held = || units::size(64 * KIB..=16 * 1_024 * GIB);
    let threads = r.read("limits.threads", &units::count_or_auto(1..=1_024));
    let connections = units::count_or_auto(1..=10_000_000);
    let connections = r.read("limits.connections", &connections);
    let of_client = units::count(1..=10_000_000);
    let client_connections = r.read("limits.client_connections", &of_client);
    let buffered_bytes = r.read("limits.buffered_bytes", &held());
    let client_bytes = r.read("limits.client_bytes", &units::size(MIB..=16 * 1_024 * GIB));
    let decoded_bytes = r.read("limits.decoded_bytes", &held());
    let decoded_bytes = decoded_bytes.unwrap_or(64 * MIB);
    let spilled_bytes = r.read("limits.spilled_bytes", &held());
    let times = times(r);
    let idle = units::count(0..=1_000_000);
    let upstream_idle_connections = r.read("limits.upstream_idle_connections", &idle);
    let recorded_bytes = r.read("limits.recorded_bytes", &units::size(1..=RECORDED));
    Limits {
        threads: threads.flatten(),
        connections: connections.flatten(),
        client_connections: client_connections.unwrap_or(512),
        buffered_bytes: buffered_bytes.unwrap_or(512 * MIB),
        client_bytes: client_bytes.unwrap_or(16 * MIB),
        decoded_bytes,
        spilled_bytes,
        header_timeout: times.header,
        idle_timeout: times.idle,
        upstream_idle_connections: upstream_idle_connections.unwrap_or(1_024),
        recorded_bytes: recorded_bytes.unwrap_or(8 * MIB),
    }
}

/// How long a client may be silent, on every listener of a process.
pub(crate) struct Times {
    pub(crate) header: Duration,
    pub(crate) idle: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            header: 10 * SECOND,
            idle: 75 * SECOND,
        }
    }
}

pub(crate) fn times(r: &mut Reader<'_>) -> Times {
    let header = units::duration(10 * MILLISECOND..=HOUR);
    let idle = units::duration(10 * MILLISECOND..=DAY);
    let default = Times::default();
    Times {
        header: r
            .read("limits.header_timeout", &header)
            .unwrap_or(default.header),
        idle: r.read("limits.idle_timeout", &idle).unwrap_or(default.idle),
    }
}

pub(crate) fn shutdown(r: &mut Reader<'_>) -> ShutdownSettings {
    ShutdownSettings {
        grace: r
            .read("shutdown.grace", &units::duration(Duration::ZERO..=DAY))
            .unwrap_or(300 * SECOND),
        min_drain: r
            .read(
                "shutdown.min_drain",
                &units::duration_or_auto(Duration::ZERO..=HOUR),
            )
            .flatten(),
    }
}

pub(crate) fn stream(r: &mut Reader<'_>) -> StreamSettings {
    let heartbeat = units::duration(10 * MILLISECOND..=HOUR);
    StreamSettings {
        heartbeat: r
            .read("stream.heartbeat", &heartbeat)
            .unwrap_or(60 * SECOND),
    }
}
