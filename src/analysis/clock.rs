//! The two clocks of the analysis: the calendar for what is stored, a steady one for timings.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const DAY_MS: i64 = 86_400_000;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds since 1970 (UTC); 0 if the clock of the machine is before that.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The day (UTC) of this time, counted since 1970.
pub(super) fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS)
}

/// Microseconds since an arbitrary time of this process; monotonic.
pub(super) fn steady_us() -> u64 {
    u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
}
