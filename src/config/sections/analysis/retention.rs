//! The keys of `retention`: how long records and the sums of users are kept.

use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, GIB, MIB};

/// How long records are kept, whatever their application; None is without that bound (CONTRACT 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Days since they were received, default 90.
    pub days: Option<u32>,
    /// Records, default 10,000,000.
    pub rows: Option<u64>,
    /// Bytes of their texts and lists together, default 50 GiB.
    pub bytes: Option<u64>,
    /// Days for which sums of single users, of costs and of messages, are kept, default 400.
    pub cost_days: u32,
}

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> RetentionSettings {
    let days = bound(r, &format!("{prefix}days"), &units::count(1..=36_500));
    let rows = bound(r, &format!("{prefix}rows"), &units::count(1..=1 << 50));
    let bytes = bound(r, &format!("{prefix}bytes"), &units::size(MIB..=1 << 60));
    let cost_days = r.read(&format!("{prefix}cost_days"), &units::count(1..=400));
    RetentionSettings {
        days: days.map_or(Some(90), |days| u32::try_from(days?).ok()),
        rows: rows.map_or(Some(10_000_000), |rows| u64::try_from(rows?).ok()),
        bytes: bytes.unwrap_or(Some(50 * GIB)),
        cost_days: cost_days.map_or(400, |days| u32::try_from(days).unwrap_or(400)),
    }
}

/// A limit that `null` removes: None if the key is not set.
fn bound<T>(r: &mut Reader<'_>, key: &str, form: &units::Form<T>) -> Option<Option<T>> {
    let read = r.read(key, form);
    match r.is_null(key) {
        true => Some(None),
        false => read.map(Some),
    }
}
