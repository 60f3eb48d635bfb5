//! The limit on live streams: so many for the server, and of those so many for one person, so that
//! nobody takes them all.

use crate::analysis::people::AccountId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Streams of one server at once.
const MOST_STREAMS: usize = 64;
/// Streams of one person at once: one per open page.
const MOST_OF_ONE: usize = 8;

/// The number of open streams of each account.
#[derive(Clone, Default)]
pub(crate) struct LiveLimit(Arc<Mutex<HashMap<AccountId, usize>>>);

/// The permit of one stream; dropping it gives it back.
pub(crate) struct LivePermit {
    limit: LiveLimit,
    account: AccountId,
}

impl LiveLimit {
    /// A permit for one more stream of this person; None when a limit is reached.
    pub(crate) fn acquire(&self, account: AccountId) -> Option<LivePermit> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.get(&account).copied().unwrap_or_default();
        if own >= MOST_OF_ONE || open.values().sum::<usize>() >= MOST_STREAMS {
            return None;
        }
        open.insert(account, own + 1);
        let limit = self.clone();
        Some(LivePermit { limit, account })
    }
}

impl Drop for LivePermit {
    fn drop(&mut self) {
        let open = &self.limit.0;
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(&self.account) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(open.remove(&self.account)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn one_person_leaves_room_for_others_and_all_together_have_an_end() {
        let limit = LiveLimit::default();
        let greedy = AccountId(Uuid::new_v4());
        let mut open: Vec<_> = (0..MOST_OF_ONE)
            .map_while(|_| limit.acquire(greedy))
            .collect();
        assert_eq!(open.len(), MOST_OF_ONE);
        assert!(limit.acquire(greedy).is_none());
        while let Some(permit) = limit.acquire(AccountId(Uuid::new_v4())) {
            open.push(permit);
        }
        assert_eq!(open.len(), MOST_STREAMS);
        drop(open.remove(0));
        assert!(
            limit.acquire(greedy).is_some(),
            "a stream that ended gives its permit back"
        );
        open.clear();
        assert!(limit.0.lock().unwrap().is_empty());
    }
}
