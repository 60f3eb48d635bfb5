//! Room for live tails: so many of one server, and of those so many of one person, so that nobody takes
//! the room of all.

use monitor_store::AccountId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Streams of one server.
const MOST_STREAMS: usize = 64;
/// Of them one person's: as many pages as somebody looks at.
const MOST_OF_ONE: usize = 8;

/// The streams that are open, by whose they are.
#[derive(Clone, Default)]
pub(in crate::analysis::ui) struct Tails(Arc<Mutex<HashMap<AccountId, usize>>>);

/// Room for one stream, until it is dropped.
pub(super) struct Room {
    tails: Tails,
    account: AccountId,
}

impl Tails {
    /// Room for one more stream of this person; None where there is none.
    pub(super) fn room(&self, account: AccountId) -> Option<Room> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.get(&account).copied().unwrap_or_default();
        if own >= MOST_OF_ONE || open.values().sum::<usize>() >= MOST_STREAMS {
            return None;
        }
        open.insert(account, own + 1);
        let tails = self.clone();
        Some(Room { tails, account })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let open = &self.tails.0;
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
        let tails = Tails::default();
        let greedy = AccountId(Uuid::new_v4());
        let mut open: Vec<_> = (0..MOST_OF_ONE).map_while(|_| tails.room(greedy)).collect();
        assert_eq!(open.len(), MOST_OF_ONE);
        assert!(tails.room(greedy).is_none());
        while let Some(room) = tails.room(AccountId(Uuid::new_v4())) {
            open.push(room);
        }
        assert_eq!(open.len(), MOST_STREAMS);
        drop(open.remove(0));
        assert!(tails.room(greedy).is_some(), "what ended leaves its room");
        open.clear();
        assert!(tails.0.lock().unwrap().is_empty());
    }
}
