//! The access keys that the backend has accepted: they pass while it does not answer (CONTRACT 44).

use monitor_model::Secret;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An accepted key still passes for this long while the backend does not answer.
const REMEMBERED_FOR: Duration = Duration::from_secs(24 * 3600);
/// An accepted key is noted again after this time.
const NOTED_EVERY: Duration = Duration::from_secs(60);
const CAPACITY: usize = 20_000;
/// When full, only keys accepted in this time stay.
const KEPT_WHEN_FULL: Duration = Duration::from_secs(3600);

/// Access keys that the backend has accepted; a reload keeps them. Only hashes are kept.
#[derive(Default)]
pub(crate) struct AcceptedKeys {
    hasher: RandomState,
    at: Mutex<HashMap<u64, Instant>>,
}

impl AcceptedKeys {
    /// The backend has accepted a call with this key.
    pub(super) fn note(&self, key: &Secret, now: Instant) {
        let mut accepted = self.lock();
        let hash = self.hasher.hash_one(key);
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < NOTED_EVERY;
        if accepted.get(&hash).is_some_and(is_recent) {
            return;
        }
        // Only keys that the backend knows are here, so no stranger can fill this.
        if accepted.len() >= CAPACITY && !accepted.contains_key(&hash) {
            accepted.retain(|_, at| now.saturating_duration_since(*at) < KEPT_WHEN_FULL);
        }
        if accepted.len() < CAPACITY || accepted.contains_key(&hash) {
            accepted.insert(hash, now);
        }
    }

    /// Whether the key was accepted in the last day.
    pub(super) fn remembers(&self, key: &Secret, now: Instant) -> bool {
        let accepted = self.lock();
        let at = accepted.get(&self.hasher.hash_one(key));
        at.is_some_and(|at| now.saturating_duration_since(*at) < REMEMBERED_FOR)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_key_is_remembered_for_a_day_and_no_other() {
        let (keys, now) = (AcceptedKeys::default(), Instant::now());
        let known = Secret::new("known");
        keys.note(&known, now);
        assert!(keys.remembers(&known, now + REMEMBERED_FOR / 2));
        assert!(!keys.remembers(&known, now + REMEMBERED_FOR));
        assert!(!keys.remembers(&Secret::new("invented"), now));
    }
}
