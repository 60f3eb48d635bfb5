//! Records of one lane that the backend fails on while it takes others (CONTRACT 23): each is tried
//! again after a growing wait of its own, out of the way of those behind it. What comes later of its
//! exchange waits behind it.

use super::item::Item;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The wait after a record was put aside; it doubles up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Exchanges put aside in one lane.
const MOST: usize = 64;

/// The records put aside.
pub(super) struct Parked {
    list: Vec<Aside>,
    bytes: u64,
    /// Bytes of them, but for a longer one that is alone.
    limit: u64,
}

/// One exchange.
pub(super) struct Aside {
    /// The first is the one that is tried; the others wait for it.
    pub(super) items: VecDeque<Item>,
    /// When the backend first failed on the one that is tried.
    pub(super) since: Instant,
    wait: Duration,
    next_try: Instant,
}

/// What came of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    /// The backend failed on the record and answers others.
    Failed,
    /// It answers nobody, which says nothing of the record.
    NoAnswer,
    /// The record is gone; the next one of its exchange may follow.
    Left,
}

impl Parked {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            list: Vec::new(),
            bytes: 0,
            limit,
        }
    }

    /// Whether another one may be put aside.
    pub(super) fn has_room(&self, weight: u64) -> bool {
        let fits = self.list.len() < MOST && self.bytes + weight <= self.limit;
        self.list.is_empty() || fits
    }

    /// Whether nothing is put aside.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts a record aside that the backend has failed on since then.
    pub(super) fn add(&mut self, item: Item, since: Instant) {
        self.bytes += item.weight;
        self.list.push(Aside {
            items: VecDeque::from([item]),
            since,
            wait: FIRST_WAIT,
            next_try: Instant::now() + FIRST_WAIT,
        });
    }

    /// Puts a record behind an earlier one of its exchange; gives it back where there is none.
    pub(super) fn join(&mut self, item: Item) -> Option<Item> {
        let exchange = item.record.context.exchange;
        let of_exchange = |aside: &&mut Aside| {
            let first = aside.items.front();
            first.is_some_and(|first| first.record.context.exchange == exchange)
        };
        let Some(aside) = self.list.iter_mut().find(of_exchange) else {
            return Some(item);
        };
        self.bytes += item.weight;
        aside.items.push_back(item);
        None
    }

    /// When the next one is to be tried.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.list.iter().map(|aside| aside.next_try).min()
    }

    /// Takes the one that is to be tried first.
    pub(super) fn take(&mut self) -> Option<Aside> {
        let first = (0..self.list.len()).min_by_key(|place| self.list[*place].next_try)?;
        let aside = self.list.swap_remove(first);
        self.bytes -= aside.weight();
        Some(aside)
    }

    /// Puts one back that was taken, unless nothing is left of it.
    pub(super) fn put_back(&mut self, mut aside: Aside, tried: Tried) {
        if aside.items.is_empty() {
            return;
        }
        let now = Instant::now();
        match tried {
            Tried::Failed => aside.wait = (aside.wait * 2).min(LONGEST_WAIT),
            Tried::NoAnswer => aside.since = now,
            Tried::Left => (aside.since, aside.wait) = (now, FIRST_WAIT),
        }
        aside.next_try = match tried {
            Tried::Left => now,
            _ => now + aside.wait,
        };
        self.bytes += aside.weight();
        self.list.push(aside);
    }
}

impl Aside {
    fn weight(&self) -> u64 {
        self.items.iter().map(|item| item.weight).sum()
    }
}
