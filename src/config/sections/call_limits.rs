//! The limits of every server that an analysis calls over HTTP: time, concurrent calls, and when it counts as
//! down.

use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, MILLISECOND, MINUTE};
use std::time::Duration;

/// Bounds of the calls to one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Longest time for all calls about one message together, waiting included.
    pub timeout: Duration,
    /// How long a server that counts as down is not called, before one call probes it.
    pub probe_interval: Duration,
    /// The most calls at the same time.
    pub concurrency: usize,
    /// Calls that wait for their turn; a further one is not made.
    pub queue: usize,
}

/// Reads them; `prefix` ends in a dot.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str, timeout: Duration) -> CallLimits {
    let key = |name: &str| format!("{prefix}{name}");
    let times = units::duration(10 * MILLISECOND..=10 * MINUTE);
    let default = timeout;
    let timeout = r.read(&key("timeout"), &times).unwrap_or(default);
    let probe_interval = r.read(&key("probe_interval"), &times);
    let limits = CallLimits {
        timeout,
        probe_interval: probe_interval.unwrap_or(timeout.max(default)),
        concurrency: r
            .read(&key("concurrency"), &units::count(1..=1_024))
            .unwrap_or(8),
        queue: r
            .read(&key("queue"), &units::count(0..=65_536))
            .unwrap_or(64),
    };
    let short = limits.probe_interval < limits.timeout;
    let text = "is less than the timeout, so a server that is down would be probed twice at once; \
                allowed: at least the timeout";
    r.refuse_if(&key("probe_interval"), short, text);
    limits
}
