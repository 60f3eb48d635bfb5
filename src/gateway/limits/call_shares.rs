//! Calls over HTTP/2 in progress, of each client: one connection carries a hundred of them, so that a share of the
//! connections alone bounds no calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calls of all clients that have one.
#[derive(Default)]
pub(crate) struct CallShares {
    calls: Mutex<HashMap<u64, usize>>,
}

/// One call of a client's, until it is dropped.
pub(crate) struct CallShare {
    shares: Arc<CallShares>,
    holder: u64,
}

impl CallShares {
    /// One more call of this client; None where it has `most` already.
    pub(crate) fn try_take(self: &Arc<Self>, holder: u64, most: usize) -> Option<CallShare> {
        let mut calls = self.lock();
        let own = calls.entry(holder).or_default();
        if *own >= most.max(1) {
            return None;
        }
        *own += 1;
        Some(CallShare {
            shares: self.clone(),
            holder,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallShare {
    fn drop(&mut self) {
        let mut calls = self.shares.lock();
        if let Some(own) = calls.get_mut(&self.holder) {
            *own -= 1;
            if *own == 0 {
                calls.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_calls_and_whoever_has_none_is_forgotten() {
        let shares = Arc::new(CallShares::default());
        let first = shares.try_take(1, 2);
        let second = shares.try_take(1, 2);
        assert!(first.is_some() && second.is_some());
        assert!(shares.try_take(1, 2).is_none());
        assert!(shares.try_take(2, 2).is_some());
        drop(first);
        assert!(shares.try_take(1, 2).is_some());
        drop(second);
        assert!(shares.lock().is_empty());
    }
}
