//! When a snapshot was taken, for a person who has several.

use jiff::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 as `2026-11-21T07:35:12Z`.
pub(super) fn moment(ms: i64) -> String {
    let known = Timestamp::from_millisecond(ms);
    known.map_or_else(
        |_| format!("{ms} ms"),
        |moment| moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_are_shown_to_the_second() {
        assert_eq!(moment(951_782_399_999), "2000-02-28T23:59:59Z");
        assert_eq!(moment(i64::MAX), format!("{} ms", i64::MAX));
    }
}
