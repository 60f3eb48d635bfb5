//! Moments as commands print them.

use jiff::SignedDuration;
use jiff::civil::date;

/// Milliseconds since 1970 as `2026-11-21T07:35Z`.
pub(super) fn minute(ms: i64) -> String {
    let epoch = date(1970, 1, 1).at(0, 0, 0, 0);
    match epoch.checked_add(SignedDuration::from_millis(ms)) {
        Ok(moment) => moment.strftime("%Y-%m-%dT%H:%MZ").to_string(),
        Err(_) => format!("{ms} ms"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::minute;

    #[test]
    fn moments_are_shown_to_the_minute() {
        for (ms, text) in [
            (0, "1970-01-01T00:00Z"),
            (951_782_399_999, "2000-02-28T23:59Z"),
            (951_782_400_000, "2000-02-29T00:00Z"),
            (1_767_225_599_000, "2025-12-31T23:59Z"),
            (253_402_300_799_999, "9999-12-31T23:59Z"),
            (-1, "1969-12-31T23:59Z"),
        ] {
            assert_eq!(minute(ms), text);
        }
    }
}
