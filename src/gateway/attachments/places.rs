//! The places of files in memory, given out in fair turns. An access key may have as many as are free beside its own
//! (A. Choudhury, E. Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998): one alone gets
//! half of them, and however slow its hosts are, others find some.

use crate::fair_queue::{FairQueue, JobClass, OpenClasses, Tenant};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The places of all calls.
pub(super) struct FilePlaces(Mutex<State>);

struct State {
    free: usize,
    /// Places that an access key has.
    taken: HashMap<u64, usize>,
    waiting: FairQueue<Waiter>,
}

struct Waiter {
    holder: u64,
    granted: oneshot::Sender<FilePlace>,
}

/// A place, taken until it is dropped.
pub(super) struct FilePlace {
    places: Arc<FilePlaces>,
    holder: u64,
}

impl FilePlaces {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            free: places,
            taken: HashMap::new(),
            waiting: FairQueue::default(),
        })))
    }

    /// Waits for a place. The files that wait are bounded by the memory of their lists.
    pub(super) async fn take(self: &Arc<Self>, tenant: Tenant) -> Option<FilePlace> {
        let (sender, granted) = oneshot::channel();
        let waiter = Waiter {
            holder: tenant.holder,
            granted: sender,
        };
        self.change(|state| {
            state.waiting.push(tenant, JobClass::Short, 1, waiter);
        });
        granted.await.ok()
    }

    /// Changes what is taken or waits, and hands out what is free then.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let started = state.start();
        drop(state);
        for waiter in started {
            let place = FilePlace {
                places: self.clone(),
                holder: waiter.holder,
            };
            // One that waits no longer gives it back.
            drop(waiter.granted.send(place));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes places for those whose turn it is.
    fn start(&mut self) -> Vec<Waiter> {
        let mut started = Vec::new();
        while self.free > 0 {
            let (free, taken) = (self.free, &self.taken);
            let has_its_part = |holder| taken.get(&holder).is_some_and(|own| *own >= free);
            let Some(waiter) = self.waiting.next(OpenClasses::ALL, has_its_part) else {
                break;
            };
            self.free -= 1;
            *self.taken.entry(waiter.holder).or_default() += 1;
            started.push(waiter);
        }
        started
    }

    fn give_back(&mut self, holder: u64) {
        self.free += 1;
        if let Some(own) = self.taken.get_mut(&holder) {
            *own -= 1;
            if *own == 0 {
                self.taken.remove(&holder);
            }
        }
    }
}

impl Drop for FilePlace {
    fn drop(&mut self) {
        let holder = self.holder;
        self.places.change(|state| state.give_back(holder));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{FilePlace, FilePlaces};
    use crate::fair_queue::Tenant;
    use futures_util::FutureExt;
    use std::sync::Arc;

    fn tenant(key: &str) -> Tenant {
        Tenant::new(&key, &())
    }

    /// As many places as this key gets at once.
    fn all(places: &Arc<FilePlaces>, key: &str) -> Vec<FilePlace> {
        std::iter::from_fn(|| places.take(tenant(key)).now_or_never()?).collect()
    }

    #[test]
    fn a_key_with_slow_hosts_leaves_places_to_others() {
        let places = FilePlaces::new(16);
        let first = all(&places, "a");
        assert_eq!(first.len(), 8);
        let others: Vec<_> = ["b", "c", "d", "e"].map(|key| all(&places, key)).into();
        let counts: Vec<usize> = others.iter().map(Vec::len).collect();
        assert_eq!(counts, [4, 2, 1, 1]);
        assert!(all(&places, "f").is_empty());
        drop((first, others));
        assert_eq!(all(&places, "f").len(), 8, "all are free again");
    }

    #[tokio::test]
    async fn places_that_become_free_go_round() {
        let places = FilePlaces::new(2);
        let mut running = vec![places.take(tenant("a")).await.unwrap()];
        let waiting = |key: &str| {
            let (places, tenant) = (places.clone(), tenant(key));
            async move { places.take(tenant).await.unwrap() }
        };
        let (mut own, mut left) = (Box::pin(waiting("a")), Box::pin(waiting("a")));
        assert!((&mut own).now_or_never().is_none());
        assert!((&mut left).now_or_never().is_none());
        running.push(waiting("b").now_or_never().unwrap());
        let mut next = Box::pin(waiting("b"));
        assert!((&mut next).now_or_never().is_none());
        // One that leaves takes no place.
        drop(left);
        running.remove(0);
        let again = (&mut own).now_or_never().unwrap();
        assert!((&mut next).now_or_never().is_none());
        running.clear();
        assert!((&mut next).now_or_never().is_some());
        drop(again);
    }
}
