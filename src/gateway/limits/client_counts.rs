//! How many of something each client has: connections of HTTP/2, and calls over it, of which one connection carries a
//! hundred.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Those of all clients that have one.
#[derive(Default)]
pub(crate) struct ClientCounts {
    counts: Mutex<HashMap<u64, usize>>,
}

/// One of a client's, until it is dropped.
pub(crate) struct ClientCount {
    all: Arc<ClientCounts>,
    holder: u64,
}

impl ClientCounts {
    /// One more of this client; None where it has `most` already.
    pub(crate) fn try_take(self: &Arc<Self>, holder: u64, most: usize) -> Option<ClientCount> {
        let mut counts = self.lock();
        let own = counts.entry(holder).or_default();
        if *own >= most.max(1) {
            return None;
        }
        *own += 1;
        Some(ClientCount {
            all: self.clone(),
            holder,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientCount {
    fn drop(&mut self) {
        let mut counts = self.all.lock();
        if let Some(own) = counts.get_mut(&self.holder) {
            *own -= 1;
            if *own == 0 {
                counts.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_part_and_whoever_has_none_is_forgotten() {
        let counts = Arc::new(ClientCounts::default());
        let first = counts.try_take(1, 2);
        let second = counts.try_take(1, 2);
        assert!(first.is_some() && second.is_some());
        assert!(counts.try_take(1, 2).is_none());
        assert!(counts.try_take(2, 2).is_some());
        drop(first);
        assert!(counts.try_take(1, 2).is_some());
        drop(second);
        assert!(counts.lock().is_empty());
    }
}
