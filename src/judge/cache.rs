//! Cached verdicts, by what they were given on: limited in time and number, the oldest go first.
//! Holds no text: keys are hashes.
//!
//! Own code, sixty lines, instead of `quick_cache`: that has no expiry, so entries would carry their time as
//! here, and its count, which `/status` shows, would include what has expired.

use monitor_detect::rules::CustomPolicy;
use monitor_model::PolicyRuling;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a verdict was given on.
pub(super) type Key = [u8; 32];

/// Verdicts by what they were given on.
pub(super) struct Cache {
    capacity: usize,
    time_to_live: Duration,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Key, (Instant, Arc<[PolicyRuling]>)>,
    /// Oldest first; a key stands here as often as it was put, its latest time counts.
    order: VecDeque<(Instant, Key)>,
}

/// The key of a text under policies, judged by a model.
pub(super) fn key(model: &str, policies: &[CustomPolicy], text: &str) -> Key {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        // With its length, so that no two lists of parts are one run of bytes.
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    };
    add(model);
    for policy in policies {
        add(&policy.name);
        add(&policy.prompt);
    }
    add(text);
    hash.finalize().into()
}

impl Cache {
    pub(super) fn new(capacity: usize, time_to_live: Duration) -> Self {
        Self {
            capacity,
            time_to_live,
            entries: Mutex::default(),
        }
    }

    pub(super) fn get(&self, key: &Key, now: Instant) -> Option<Arc<[PolicyRuling]>> {
        let entries = self.lock();
        let (put, rulings) = entries.by_key.get(key)?;
        (now < *put + self.time_to_live).then(|| rulings.clone())
    }

    pub(super) fn put(&self, key: Key, rulings: Arc<[PolicyRuling]>, now: Instant) {
        if self.capacity == 0 {
            return;
        }
        let mut entries = self.lock();
        entries.by_key.insert(key, (now, rulings));
        entries.order.push_back((now, key));
        while let Some((put, oldest)) = entries.order.front().copied() {
            let is_old = put + self.time_to_live <= now;
            if !is_old && entries.order.len() <= self.capacity {
                break;
            }
            entries.order.pop_front();
            if entries
                .by_key
                .get(&oldest)
                .is_some_and(|(at, _)| *at <= put)
            {
                entries.by_key.remove(&oldest);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().by_key.len()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rulings() -> Arc<[PolicyRuling]> {
        Arc::from([])
    }

    fn policy(name: &str, prompt: &str) -> CustomPolicy {
        CustomPolicy {
            name: name.to_owned(),
            prompt: prompt.to_owned(),
        }
    }

    #[test]
    fn it_forgets_the_oldest_and_what_is_too_old() {
        let cache = Cache::new(2, SECOND);
        let now = Instant::now();
        let key = |n: u8| [n; 32];
        for n in 0..5 {
            cache.put(key(n), rulings(), now);
            assert!(cache.len() <= 2);
        }
        assert!(cache.get(&key(2), now).is_none());
        assert!(cache.get(&key(4), now).is_some());
        assert!(cache.get(&key(4), now + SECOND).is_none());
        cache.put(key(9), rulings(), now + SECOND);
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn a_key_put_again_lives_on_and_is_bounded() {
        let cache = Cache::new(2, SECOND);
        let now = Instant::now();
        for n in 0..100 {
            cache.put([1; 32], rulings(), now + SECOND / 1000 * n);
            assert!(cache.lock().order.len() <= 2);
        }
        assert!(cache.get(&[1; 32], now + SECOND).is_some());
        let none = Cache::new(0, SECOND);
        none.put([1; 32], rulings(), now);
        assert_eq!(none.len(), 0);
    }

    #[test]
    fn every_part_of_a_question_is_in_its_key() {
        let one = [policy("a", "b")];
        let keys = [
            key("m", &one, "t"),
            key("n", &one, "t"),
            key("m", &one, "u"),
            key("m", &[policy("ab", "")], "t"),
            key("m", &[policy("a", "c")], "t"),
            key("m", &[policy("a", "b"), policy("a", "b")], "t"),
        ];
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(one), "{at}");
        }
    }
}
