//! The time, the boot and chance, as the operating system gives them. Unit tests may simulate them
//! ([`super::simulation`]).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// Milliseconds since 1970 (UTC); 0 on a machine whose clock is set before it.
pub(super) fn now_ms() -> i64 {
    #[cfg(test)]
    if let Some(now) = super::disk::simulated::now_ms() {
        return now;
    }
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
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
