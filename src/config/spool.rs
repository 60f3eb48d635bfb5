//! The keys of what lies between the calls and the backend: `queue` in memory, `spool` on disk
//! (CONTRACT 11, 23, 34).

use super::reader::Reader;
use super::settings::{Durability, OnDiskFailure, QueueSettings, Settings, SpoolSettings};
use super::units;
use std::path::PathBuf;
use std::time::Duration;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const DAY: Duration = Duration::from_secs(86_400);

const DURABILITY: &[(&str, Durability)] = &[
    ("batched", Durability::Batched),
    ("before_upstream", Durability::BeforeUpstream),
];
const ON_DISK_FAILURE: &[(&str, OnDiskFailure)] = &[
    ("open", OnDiskFailure::Open),
    ("closed", OnDiskFailure::Closed),
];

impl Settings {
    /// The folder of the spool: `spool.dir`, else `<data_dir>/spool`.
    pub fn spool_dir(&self) -> PathBuf {
        let inside = || self.data_dir.join("spool");
        self.gateway.spool.dir.clone().unwrap_or_else(inside)
    }
}

pub(super) fn queue(r: &mut Reader<'_>) -> QueueSettings {
    QueueSettings {
        max_bytes: r
            .read("queue.max_bytes", &units::size(1..=64 * GIB))
            .unwrap_or(32 * MIB),
        concurrency: r
            .read("queue.concurrency", &units::count(1..=4_096))
            .unwrap_or(16),
    }
}

pub(super) fn read(r: &mut Reader<'_>) -> SpoolSettings {
    SpoolSettings {
        dir: r.read("spool.dir", &units::path()),
        max_bytes: r
            .read("spool.max_bytes", &units::size(MIB..=1024 * GIB))
            .unwrap_or(GIB),
        max_age: r
            .read(
                "spool.max_age",
                &units::duration(Duration::from_secs(60)..=365 * DAY),
            )
            .unwrap_or(7 * DAY),
        max_dead_bytes: r
            .read("spool.max_dead_bytes", &units::size(MIB..=64 * GIB))
            .unwrap_or(128 * MIB),
        durability: r
            .read("spool.durability", &units::word(DURABILITY))
            .unwrap_or(Durability::Batched),
        on_disk_failure: r
            .read("spool.on_disk_failure", &units::word(ON_DISK_FAILURE))
            .unwrap_or(OnDiskFailure::Open),
    }
}
