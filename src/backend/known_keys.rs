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
/// So long before its time is over, one call asks about an accepted key again; the others take its answer meanwhile.
const ASKED_BEFORE: Duration = Duration::from_secs(30);
/// The next call asks after this time, if the one before got no answer.
const ASKED_EVERY: Duration = Duration::from_secs(5);
/// A key that was accepted is told from a new one for so long after its time is over.
const REMEMBERED_FOR: Duration = Duration::from_secs(600);
const CAPACITY: usize = 20_000;

/// The backend's answers, each valid for some time.
#[derive(Default)]
pub(super) struct KnownKeys {
    hasher: RandomState,
    answers: Mutex<HashMap<u64, Known>>,
}

struct Known {
    answer: Recognition,
    until: Instant,
    /// When a call asks again; later than `until` for answers that are not asked about before.
    asked_at: Instant,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownKey {
    /// What the backend answered, not long ago.
    Valid(Recognition),
    /// It is valid still, and this call is to ask again.
    Due(Recognition),
    /// It was accepted, and its time is over.
    Over,
    /// Nobody asked about it yet.
    Never,
}

impl KnownKeys {
    /// The answer about the key, if it is still valid.
    pub(super) fn get(&self, key: &Secret, now: Instant) -> Option<Recognition> {
        let answers = self.lock();
        let known = answers.get(&self.hasher.hash_one(key))?;
        (now < known.until).then_some(known.answer)
    }

    /// What is known of the key, and whether to ask about it.
    pub(super) fn look(&self, key: &Secret, now: Instant) -> KnownKey {
        let mut answers = self.lock();
        let Some(known) = answers.get_mut(&self.hasher.hash_one(key)) else {
            return KnownKey::Never;
        };
        if now < known.until && now < known.asked_at {
            return KnownKey::Valid(known.answer);
        }
        if now < known.until {
            known.asked_at = now + ASKED_EVERY;
            return KnownKey::Due(known.answer);
        }
        match is_accepted(known.answer) {
            true => KnownKey::Over,
            false => KnownKey::Never,
        }
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
            answers.retain(|_, known| match is_accepted(known.answer) {
                true => now < known.until + REMEMBERED_FOR,
                false => now < known.until,
            });
        }
        if answers.len() >= CAPACITY {
            answers.retain(|_, known| is_accepted(known.answer));
        }
        if answers.len() >= CAPACITY {
            answers.retain(|_, known| now < known.until);
        }
        let hash = self.hasher.hash_one(key);
        if answers.len() < CAPACITY || answers.contains_key(&hash) {
            let until = now + valid_for;
            let asked_at = match is_accepted(answer) {
                true => until - ASKED_BEFORE,
                false => until,
            };
            let known = Known {
                answer,
                until,
                asked_at,
            };
            answers.insert(hash, known);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_accepted(answer: Recognition) -> bool {
    matches!(answer, Recognition::Known | Recognition::KnownFor(_))
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

    #[test]
    fn one_call_asks_about_an_accepted_key_while_its_answer_is_valid() {
        let (keys, now) = (KnownKeys::default(), Instant::now());
        let key = Secret::new("k");
        assert_eq!(keys.look(&key, now), KnownKey::Never);
        keys.set(&key, Recognition::Known, now);
        let valid = KnownKey::Valid(Recognition::Known);
        assert_eq!(keys.look(&key, now), valid);
        let later = now + ASKED_BEFORE;
        assert_eq!(keys.look(&key, later), KnownKey::Due(Recognition::Known));
        assert_eq!(keys.look(&key, later), valid);
        assert_eq!(
            keys.look(&key, later + ASKED_EVERY),
            KnownKey::Due(Recognition::Known)
        );
        assert_eq!(keys.look(&key, now + KNOWN_FOR), KnownKey::Over);
        keys.set(&key, Recognition::UnknownKey, later);
        assert_eq!(keys.look(&key, now + KNOWN_FOR), KnownKey::Never);
    }
}
