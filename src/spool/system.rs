//! The time, the boot and chance, as the operating system gives them. Unit tests may simulate them
//! ([`super::simulation`]).

use crate::observe::clock;
use std::hash::{BuildHasher, Hasher, RandomState};
use uuid::Uuid;

/// The time by which records age, in milliseconds since 1970: no jump of the calendar moves it within a process.
pub(super) fn now_ms() -> i64 {
    #[cfg(test)]
    if let Some(now) = super::disk::simulated::now_ms() {
        return now;
    }
    clock::steady_ms()
}

/// The time by which the segments of an earlier process age. A calendar that was far ahead at the start counts once it
/// is taken for the right one.
pub(super) fn aging_ms() -> i64 {
    #[cfg(test)]
    if let Some(now) = super::disk::simulated::now_ms() {
        return now;
    }
    clock::aging_ms()
}

/// An earlier process wrote a file at this time.
pub(super) fn note_earlier(at_ms: i64) {
    #[cfg(test)]
    if super::disk::simulated::now_ms().is_some() {
        return;
    }
    clock::note_earlier(at_ms);
}

/// The calendar, in milliseconds since 1970 (UTC).
pub(super) fn calendar_ms() -> i64 {
    #[cfg(test)]
    if let Some(now) = super::disk::simulated::now_ms() {
        return now;
    }
    clock::calendar_ms()
}

/// The id of the machine's current boot; a new one on each call if the system does not tell.
pub(super) fn boot_id() -> Uuid {
    #[cfg(test)]
    if let Some(boot) = super::disk::simulated::boot_id() {
        return boot;
    }
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let id = text.ok().and_then(|text| Uuid::parse_str(text.trim()).ok());
    id.unwrap_or_else(Uuid::new_v4)
}

/// A random number.
pub(super) fn random() -> u64 {
    #[cfg(test)]
    if let Some(random) = super::disk::simulated::random() {
        return random;
    }
    RandomState::new().build_hasher().finish()
}
