//! Questions about access keys at the same time. Those about keys that were accepted before have places of their own,
//! and no client address takes all of the others, however many keys it invents.

use crate::fair_queue::account;
use tokio::sync::{Semaphore, SemaphorePermit};

/// About keys that were accepted before.
const KNOWN: usize = 4;
/// About all others.
const NEW: usize = 12;
/// Of these, about keys that come from one address.
const OF_ONE: usize = 8;
/// Addresses with places of their own; many share one.
const ADDRESSES: usize = 256;

/// The places for questions.
pub(super) struct Questions {
    known: Semaphore,
    new: Semaphore,
    addresses: Vec<Semaphore>,
}

/// A place, until it is dropped.
pub(super) struct Question<'a> {
    _place: Option<SemaphorePermit<'a>>,
    _of_address: Option<SemaphorePermit<'a>>,
}

impl Default for Questions {
    fn default() -> Self {
        Self {
            known: Semaphore::new(KNOWN),
            new: Semaphore::new(NEW),
            addresses: (0..ADDRESSES).map(|_| Semaphore::new(OF_ONE)).collect(),
        }
    }
}

impl Questions {
    /// A place for a question about a key that was accepted before.
    pub(super) async fn about_known(&self) -> Question<'_> {
        Question {
            _place: self.known.acquire().await.ok(),
            _of_address: None,
        }
    }

    /// A place for a question about another key, on the account of this task.
    pub(super) async fn about_new(&self) -> Question<'_> {
        let index = account().tenant.holder % ADDRESSES as u64;
        let own = self.addresses.get(index as usize);
        let of_address = match own {
            Some(own) => own.acquire().await.ok(),
            None => None,
        };
        Question {
            _of_address: of_address,
            _place: self.new.acquire().await.ok(),
        }
    }
}
