//! The access keys that the backend has accepted: they pass while it does not answer (CONTRACT 44).

use crate::backend::Recognition;
use monitor_model::{ApplicationId, Secret};
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
    accepted: Mutex<HashMap<u64, Accepted>>,
}

#[derive(Clone, Copy)]
struct Accepted {
    at: Instant,
    /// The application that the key belongs to, which never changes.
    own: Option<ApplicationId>,
}

impl Accepted {
    fn is_within(&self, time: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < time
    }
}

impl AcceptedKeys {
    /// The backend has accepted a call with this key, which belongs to `own` as far as is known.
    pub(super) fn note(&self, key: &Secret, own: Option<ApplicationId>, now: Instant) {
        let mut accepted = self.lock();
        let hash = self.hasher.hash_one(key);
        let known = accepted.get(&hash).copied();
        let own = own.or_else(|| known.and_then(|known| known.own));
        if known.is_some_and(|known| known.is_within(NOTED_EVERY, now) && known.own == own) {
            return;
        }
        // Only keys that the backend knows are here, so no stranger can fill this.
        if accepted.len() >= CAPACITY && known.is_none() {
            accepted.retain(|_, key| key.is_within(KEPT_WHEN_FULL, now));
        }
        if accepted.len() < CAPACITY || known.is_some() {
            accepted.insert(hash, Accepted { at: now, own });
        }
    }

    /// What the backend said of the key, if it accepted it in the last day.
    pub(super) fn remembers(&self, key: &Secret, now: Instant) -> Option<Recognition> {
        let accepted = self.lock();
        let key = accepted.get(&self.hasher.hash_one(key))?;
        let recognition = key.own.map_or(Recognition::Known, Recognition::KnownFor);
        key.is_within(REMEMBERED_FOR, now).then_some(recognition)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Accepted>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_key_is_remembered_for_a_day_with_its_application_and_no_other() {
        let (keys, now) = (AcceptedKeys::default(), Instant::now());
        let (known, bound) = (Secret::new("known"), Secret::new("bound"));
        let own = ApplicationId::random();
        keys.note(&known, None, now);
        keys.note(&bound, Some(own), now);
        // A backend of an earlier version does not name the application.
        keys.note(&bound, None, now + NOTED_EVERY);
        let later = now + REMEMBERED_FOR / 2;
        assert_eq!(keys.remembers(&known, later), Some(Recognition::Known));
        assert_eq!(
            keys.remembers(&bound, later),
            Some(Recognition::KnownFor(own))
        );
        assert_eq!(keys.remembers(&known, now + REMEMBERED_FOR), None);
        assert_eq!(keys.remembers(&Secret::new("invented"), now), None);
    }
}
