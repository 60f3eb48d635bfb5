//! Access keys that the backend was asked about. What is kept is a hash that only this process can compute.

use super::Recognition;
use monitor_model::Secret;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A revoked key is refused after this time at the latest.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// A new key is accepted after this time at the latest, if it was tried before it existed.
const UNKNOWN_FOR: Duration = Duration::from_secs(5);
const CAPACITY: usize = 20_000;

/// The backend's answers, each valid for some time.
#[derive(Default)]
pub(super) struct KnownKeys {
    hasher: RandomState,
    answers: Mutex<HashMap<u64, (Recognition, Instant)>>,
}

impl KnownKeys {
    /// The answer about the key, if it is still valid.
    pub(super) fn get(&self, key: &Secret, now: Instant) -> Option<Recognition> {
        let answers = self.lock();
        let (answer, until) = answers.get(&self.hasher.hash_one(key))?;
        (now < *until).then_some(*answer)
    }

    /// Keeps an answer; one that says nothing is not kept. Invented keys never push known ones out.
    pub(super) fn set(&self, key: &Secret, answer: Recognition, now: Instant) {
        let valid_for = match answer {
            Recognition::Known | Recognition::KnownFor(_) | Recognition::Unsupported => KNOWN_FOR,
            Recognition::UnknownKey => UNKNOWN_FOR,
            Recognition::NoAnswer | Recognition::UnknownApplication => return,
        };
        let mut answers = self.lock();
        if answers.len() >= CAPACITY {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= CAPACITY {
            let is_known = |answer| matches!(answer, Recognition::Known | Recognition::KnownFor(_));
            answers.retain(|_, (answer, _)| is_known(*answer));
        }
        if answers.len() < CAPACITY {
            answers.insert(self.hasher.hash_one(key), (answer, now + valid_for));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, (Recognition, Instant)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::ApplicationId;

    #[test]
    fn invented_keys_push_no_known_one_out_and_are_asked_about_again() {
        let (keys, now) = (KnownKeys::default(), Instant::now());
        let known = Secret::new("known");
        keys.set(&known, Recognition::Known, now);
        let (bound, own) = (Secret::new("bound"), ApplicationId::random());
        keys.set(&bound, Recognition::KnownFor(own), now);
        for number in 0..2 * CAPACITY {
            let invented = Secret::new(format!("invented {number}"));
            keys.set(&invented, Recognition::UnknownKey, now);
            assert_eq!(keys.get(&invented, now), Some(Recognition::UnknownKey));
        }
        assert_eq!(keys.get(&known, now), Some(Recognition::Known));
        assert_eq!(keys.get(&bound, now), Some(Recognition::KnownFor(own)));
        assert!(keys.lock().len() <= CAPACITY);
        assert_eq!(keys.get(&known, now + KNOWN_FOR), None);
    }

    #[test]
    fn no_answer_is_no_reason_to_stop_asking() {
        let (keys, now) = (KnownKeys::default(), Instant::now());
        let key = Secret::new("k");
        keys.set(&key, Recognition::NoAnswer, now);
        assert_eq!(keys.get(&key, now), None);
        keys.set(&key, Recognition::UnknownKey, now);
        assert_eq!(keys.get(&key, now + UNKNOWN_FOR), None);
    }
}
