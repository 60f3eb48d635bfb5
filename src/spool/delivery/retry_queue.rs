//! The records of one worker that the backend fails on while it takes others (CONTRACT 23). Each is tried
//! again after a growing wait of its own and delays no record behind it, except later records of its
//! own exchange, which wait for it.

use crate::spool::state::DeliveryItem;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The wait before the first retry; it doubles up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Exchanges in one worker's retry queue at most.
const MAX_EXCHANGES: usize = 64;

pub(super) struct RetryQueue {
    exchanges: Vec<RetryingExchange>,
    bytes: u64,
    /// Bytes of all records at most, except for a longer one that is alone.
    max_bytes: u64,
}

/// The records of one exchange.
pub(super) struct RetryingExchange {
    /// The first record is the one that is retried; the others wait for it.
    pub(super) items: VecDeque<DeliveryItem>,
    /// When the backend first failed on the record that is retried.
    pub(super) since: Instant,
    wait: Duration,
    next_try: Instant,
}

/// The outcome of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retried {
    /// The backend failed on the record and answers others.
    Failed,
    /// The backend answers no record, which says nothing about this one.
    NoAnswer,
    /// The record is done with; the next record of its exchange may follow.
    Done,
}

impl RetryQueue {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self {
            exchanges: Vec::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// Whether another exchange may be added.
    pub(super) fn has_room(&self, weight: u64) -> bool {
        let fits = self.exchanges.len() < MAX_EXCHANGES && self.bytes + weight <= self.max_bytes;
        self.exchanges.is_empty() || fits
    }

    pub(super) fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Adds a record that the backend has failed on since then.
    pub(super) fn add(&mut self, item: DeliveryItem, since: Instant) {
        self.bytes += item.weight;
        self.exchanges.push(RetryingExchange {
            items: VecDeque::from([item]),
            since,
            wait: FIRST_WAIT,
            next_try: Instant::now() + FIRST_WAIT,
        });
    }

    /// Adds a record behind an earlier one of its exchange; gives it back if there is none.
    pub(super) fn join(&mut self, item: DeliveryItem) -> Option<DeliveryItem> {
        let exchange = item.record.context.exchange;
        let is_of_exchange = |retrying: &&mut RetryingExchange| {
            let first = retrying.items.front();
            first.is_some_and(|first| first.record.context.exchange == exchange)
        };
        let Some(retrying) = self.exchanges.iter_mut().find(is_of_exchange) else {
            return Some(item);
        };
        self.bytes += item.weight;
        retrying.items.push_back(item);
        None
    }

    /// When the next retry is due.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.exchanges
            .iter()
            .map(|retrying| retrying.next_try)
            .min()
    }

    /// Takes the exchange whose retry is due first.
    pub(super) fn take_next(&mut self) -> Option<RetryingExchange> {
        let indices = 0..self.exchanges.len();
        let next = indices.min_by_key(|index| self.exchanges[*index].next_try)?;
        let retrying = self.exchanges.swap_remove(next);
        self.bytes -= retrying.weight();
        Some(retrying)
    }

    /// Puts an exchange back after its retry, unless no record of it is left.
    pub(super) fn put_back(&mut self, mut retrying: RetryingExchange, retried: Retried) {
        if retrying.items.is_empty() {
            return;
        }
        let now = Instant::now();
        match retried {
            Retried::Failed => retrying.wait = (retrying.wait * 2).min(LONGEST_WAIT),
            Retried::NoAnswer => retrying.since = now,
            Retried::Done => (retrying.since, retrying.wait) = (now, FIRST_WAIT),
        }
        retrying.next_try = match retried {
            Retried::Done => now,
            _ => now + retrying.wait,
        };
        self.bytes += retrying.weight();
        self.exchanges.push(retrying);
    }
}

impl RetryingExchange {
    fn weight(&self) -> u64 {
        self.items.iter().map(|item| item.weight).sum()
    }
}
