//! A small bounded cache of rows of the store, so that a request does not read them again. A change by
//! another process takes effect when the time to live is over, or once everything is invalidated.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Values by key, each valid for a limited time.
pub(super) struct Cache<K, V> {
    entries: Mutex<HashMap<K, Entry<V>>>,
    /// How often everything was dropped.
    invalidations: AtomicU64,
    time_to_live: Duration,
    capacity: usize,
}

/// When the store was read, as the number of invalidations before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation(u64);

struct Entry<V> {
    value: V,
    read_at: Generation,
    valid_until: Instant,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub(super) fn new(capacity: usize, time_to_live: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            invalidations: AtomicU64::new(0),
            time_to_live,
            capacity,
        }
    }

    /// The value, if it is still valid. The first caller to find it expired gets nothing and is expected to
    /// read the store; the others keep the old value meanwhile, so that an expiry does not send every
    /// request to the store at once. Nobody gets an invalidated value.
    pub(super) fn get(&self, key: &K, now: Instant) -> Option<V> {
        let mut entries = self.lock();
        let generation = self.generation();
        let entry = entries.get_mut(key)?;
        if entry.read_at != generation {
            return None;
        }
        if now < entry.valid_until {
            return Some(entry.value.clone());
        }
        entry.valid_until = now + self.time_to_live;
        None
    }

    /// The value, valid or not.
    pub(super) fn peek(&self, key: &K) -> Option<V> {
        self.lock().get(key).map(|entry| entry.value.clone())
    }

    /// To be taken before the store is read, and passed to [`Cache::set`].
    pub(super) fn generation(&self) -> Generation {
        Generation(self.invalidations.load(Ordering::Acquire))
    }

    /// Drops everything, also what is being read from the store right now.
    pub(super) fn invalidate_all(&self) {
        let entries = self.lock();
        self.invalidations.fetch_add(1, Ordering::Release);
        drop(entries);
    }

    /// Caches what the store returned; None removes the key. An answer that may be older than the last
    /// [`Cache::invalidate_all`] is dropped.
    pub(super) fn set(&self, key: K, value: Option<V>, read_at: Generation, now: Instant) {
        let mut entries = self.lock();
        if read_at != self.generation() {
            return;
        }
        let Some(value) = value else {
            entries.remove(&key);
            return;
        };
        if entries.len() >= self.capacity && !entries.contains_key(&key) {
            entries.retain(|_, entry| now < entry.valid_until);
            if entries.len() >= self.capacity {
                entries.clear();
            }
        }
        entries.insert(
            key,
            Entry {
                value,
                read_at,
                valid_until: now + self.time_to_live,
            },
        );
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Entry<V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;
    use std::time::{Duration, Instant};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_old_value_sends_one_caller_to_the_store_and_serves_the_others() {
        let cache = Cache::new(8, SECOND);
        let start = Instant::now();
        cache.set("a", Some(1), cache.generation(), start);
        assert_eq!(cache.get(&"a", start), Some(1));
        assert_eq!(cache.get(&"a", start + SECOND), None);
        assert_eq!(cache.get(&"a", start + SECOND), Some(1));
        cache.set("a", Some(2), cache.generation(), start + SECOND);
        assert_eq!(cache.get(&"a", start + SECOND), Some(2));
    }

    #[test]
    fn what_the_store_no_longer_knows_is_forgotten() {
        let cache = Cache::new(8, SECOND);
        let start = Instant::now();
        cache.set("a", Some(1), cache.generation(), start);
        cache.set("a", None, cache.generation(), start);
        assert_eq!(cache.get(&"a", start), None);
    }

    #[test]
    fn an_answer_from_before_an_invalidation_is_not_cached() {
        let cache = Cache::new(8, SECOND);
        let start = Instant::now();
        cache.set("a", Some(1), cache.generation(), start);
        let read_at = cache.generation();
        cache.invalidate_all();
        assert_eq!(cache.get(&"a", start), None);
        assert_eq!(cache.peek(&"a"), Some(1));
        cache.set("a", Some(1), read_at, start);
        assert_eq!(cache.get(&"a", start), None);
        cache.set("a", Some(2), cache.generation(), start);
        assert_eq!(cache.get(&"a", start), Some(2));
    }

    #[test]
    fn it_never_holds_more_than_its_capacity() {
        let cache = Cache::new(2, SECOND);
        let start = Instant::now();
        for key in 0..10 {
            cache.set(key, Some(key), cache.generation(), start);
            assert!(cache.lock().len() <= 2);
            assert_eq!(cache.get(&key, start), Some(key));
        }
    }
}
