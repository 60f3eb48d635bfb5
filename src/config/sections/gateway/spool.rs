//! The keys of records on their way to the backend: `queue` in memory, `spool` on disk (CONTRACT 11, 23, 34).

use crate::config::key_file::{self, KeyId};
use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, DAY, GIB, MIB};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The spool (CONTRACT 23).
#[derive(Clone, Debug, PartialEq)]
pub struct SpoolSettings {
    /// Its folder; None is `<data_dir>/spool`.
    pub dir: Option<PathBuf>,
    /// Bytes of its files at most; beyond it the oldest records go, counted.
    pub max_bytes: u64,
    /// How long a record waits for a backend that does not accept it.
    pub max_age: Duration,
    /// Bytes of the records the backend refused for good; beyond it the oldest go, counted.
    pub max_dead_bytes: u64,
    /// The keys of its files.
    pub encryption: SpoolEncryption,
    /// When a record counts as registered (CONTRACT 11).
    pub durability: Durability,
    /// What `durability: before_upstream` does while the disk cannot be written.
    pub on_disk_failure: OnDiskFailure,
}

/// The files with the keys of the spool's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolEncryption {
    /// New files are encrypted with its key; None leaves them as they are.
    pub key_file: Option<PathBuf>,
    /// Files that were encrypted with these keys are still read.
    pub old_key_files: Vec<PathBuf>,
    /// The keys in the files, `key_file` first, when the settings were read; None for one that holds none.
    pub keys: Vec<Option<KeyId>>,
}

impl SpoolEncryption {
    fn new(key_file: Option<PathBuf>, old_key_files: Vec<PathBuf>) -> Self {
        let files = key_file.iter().chain(&old_key_files);
        Self {
            keys: files.map(|path| key_file::id_in(path)).collect(),
            key_file,
            old_key_files,
        }
    }

    /// The first of these files that now holds another key than in these settings, which have that key in no other.
    pub fn replaced_since<'a>(&'a self, before: &'a Self) -> Option<ReplacedKey<'a>> {
        let files = before.files().zip(&before.keys);
        let mut known = files.filter_map(|(path, key)| key.map(|key| ReplacedKey { path, key }));
        known.find(|known| {
            let is_named = self.files().any(|path| path == known.path);
            is_named && !self.keys.contains(&Some(known.key))
        })
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.key_file.iter().chain(&self.old_key_files);
        files.map(PathBuf::as_path)
    }
}

/// A key that is not in its file any more.
#[derive(Clone, Copy, Debug)]
pub struct ReplacedKey<'a> {
    /// The file that held it.
    pub path: &'a Path,
    /// The id of the key that was in the file.
    pub key: KeyId,
}

/// When a record counts as registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once it is queued; it is on disk within 10 ms.
    Batched,
    /// Once it is on disk, which the upstream call waits for.
    BeforeUpstream,
}

/// The outcome of a call whose record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDiskFailure {
    /// It continues; the record waits in memory.
    Open,
    /// It is answered with 502 and does not reach the upstream.
    Closed,
}

/// Records on their way to the backend.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSettings {
    /// Bytes held in memory at most; what is beyond it is read back from the spool.
    pub max_bytes: u64,
    /// Concurrent calls to the backend.
    pub concurrency: usize,
}

const DURABILITY: &[(&str, Durability)] = &[
    ("batched", Durability::Batched),
    ("before_upstream", Durability::BeforeUpstream),
];
const ON_DISK_FAILURE: &[(&str, OnDiskFailure)] = &[
    ("open", OnDiskFailure::Open),
    ("closed", OnDiskFailure::Closed),
];

pub(crate) fn queue(r: &mut Reader<'_>) -> QueueSettings {
    QueueSettings {
        max_bytes: r
            .read("queue.max_bytes", &units::size(1..=64 * GIB))
            .unwrap_or(32 * MIB),
        concurrency: r
            .read("queue.concurrency", &units::count(1..=4_096))
            .unwrap_or(16),
    }
}

pub(crate) fn read(r: &mut Reader<'_>) -> SpoolSettings {
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
        encryption: SpoolEncryption::new(
            r.read("spool.encryption.key_file", &units::path()),
            list(r, "spool.encryption.old_key_files", &units::path()),
        ),
        durability: r
            .read("spool.durability", &units::word(DURABILITY))
            .unwrap_or(Durability::Batched),
        on_disk_failure: r
            .read("spool.on_disk_failure", &units::word(ON_DISK_FAILURE))
            .unwrap_or(OnDiskFailure::Open),
    }
}
