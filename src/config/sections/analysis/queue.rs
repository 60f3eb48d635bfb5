//! The keys of messages that wait to be analyzed (`limits.waiting_bytes`, `limits.longest_wait`).

use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, GIB, HOUR, MIB, MILLISECOND, SECOND};
use std::time::Duration;

/// Bounds of the messages that wait for their turn to be analyzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisQueue {
    /// Their bytes together; one access key may have a quarter of it.
    pub waiting_bytes: u64,
    /// How long a short message waits, where a client waits for the verdict.
    pub longest_wait: Duration,
}

impl Default for AnalysisQueue {
    fn default() -> Self {
        Self {
            waiting_bytes: 256 * MIB,
            longest_wait: 10 * SECOND,
        }
    }
}

/// `prefix` is that of the analysis server's limits.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> AnalysisQueue {
    let default = AnalysisQueue::default();
    let key = |name: &str| format!("{prefix}{name}");
    let waiting_bytes = r.read(&key("waiting_bytes"), &units::size(MIB..=64 * GIB));
    let longest_wait = r.read(&key("longest_wait"), &units::duration(MILLISECOND..=HOUR));
    AnalysisQueue {
        waiting_bytes: waiting_bytes.unwrap_or(default.waiting_bytes),
        longest_wait: longest_wait.unwrap_or(default.longest_wait),
    }
}
