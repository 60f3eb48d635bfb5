//! The numbers of a gateway's records (CONTRACT 5): from 1, without a hole, each record naming the hash
//! of the one before, so that the backend can tell what never came. What the hashes cover is
//! `model::chain`; the files behind it are `marks`.
//!
//! **Where.** A record gets its number in [`super::state::State`] at the moment it takes its place in a
//! segment: number and record are one append, numbers are in the order of the segments, and a process that
//! is killed loses a tail of both. What is not taken, because the disk refuses and memory is full, has no
//! number. What is taken and lost later keeps its number: spool.max_bytes, spool.max_age, a dead letter, a
//! file removed by hand all show as a gap. A letter put back keeps the number it had and closes its gap.
//!
//! **Never twice.** A record goes to the backend only once it is on disk, so that a crash takes back no
//! number the backend may know; at the next start the numbers go on behind the last one on disk. Two
//! things go out earlier: the awaited call of sync mode, which cannot wait for a disk, and everything
//! while the disk refuses. Before such a record leaves, its number and link are noted in place in a file
//! ([`super::marks::Marks::early`]): one small write, no sync, and it outlives the process. Its record is
//! in a segment too, as any other 10 ms later, and is held there until its verdict is there. A start that
//! finds the note beyond the disk goes on behind the note. Where the machine itself went down, the note
//! may be older than what was sent: the numbers then go on [`LEAP`] further. Reserving blocks ahead would
//! leave a hole at every crash; a new id at every start would leave none to be seen.
//!
//! **Cut off.** The first record behind a process that did not end in order says so with `after`: the last
//! number on disk. What that process had taken in its last 10 ms may have got no number that anybody
//! knows. Numbers between `after` and the record's own that the backend lacks went out early or not at
//! all: they are the ones nobody can be sure of, and they are no gap.
//!
//! **Twice delivered** is the same record with the same number. Lanes deliver in any order; the backend
//! puts the numbers together.

use super::entry;
use crate::backend::Record;
use monitor_model::{Chain, ChainHash};
use uuid::Uuid;

/// More numbers than a gateway gives between two syncs of its disk.
pub(super) const LEAP: u64 = 1 << 20;

/// A number that was given, and its record's link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) sequence: u64,
    pub(super) link: ChainHash,
}

/// Gives the numbers of one folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    gateway: Uuid,
    latest: Numbered,
    /// The next record is the first behind a cut.
    after: Option<u64>,
}

/// A record with the digest that its link needs, computed before anybody waits for it.
pub(super) struct Digested {
    pub(super) record: Record,
    digest: ChainHash,
}

impl From<Record> for Digested {
    fn from(record: Record) -> Self {
        let digest = match record.chain {
            None => record.digest(),
            // It keeps its number, whose link others have long named.
            Some(_) => ChainHash::default(),
        };
        Self { record, digest }
    }
}

impl Numbers {
    /// Goes on behind `latest`; `after` where numbers up to it may not exist.
    pub(super) fn behind(gateway: Uuid, latest: Numbered, after: Option<u64>) -> Self {
        Self {
            gateway,
            latest,
            after,
        }
    }

    /// Whose numbers they are.
    pub(super) fn gateway(&self) -> Uuid {
        self.gateway
    }

    /// The record, numbered.
    pub(super) fn give(&mut self, digested: Digested) -> Record {
        let Digested { mut record, digest } = digested;
        // What the backend has already is no record on its way: its files are.
        if record.chain.is_none() && record.registered().is_none() {
            let chain = Chain {
                gateway: self.gateway,
                sequence: self.latest.sequence + 1,
                previous: self.latest.link,
                after: self.after.take(),
            };
            self.latest = Numbered {
                sequence: chain.sequence,
                link: chain.link(digest),
            };
            record.chain = Some(chain);
        }
        record
    }

    /// Whether no record has said yet that the process before was cut off.
    pub(super) fn owes_cut(&self) -> bool {
        self.after.is_some()
    }

    /// The latest number given.
    pub(super) fn latest(&self) -> Numbered {
        self.latest
    }
}

impl Numbered {
    /// Of a record that has a number; None for one of another gateway, or without.
    pub(super) fn of(record: &Record) -> Option<(Uuid, Self)> {
        let chain = record.chain?;
        let numbered = Self {
            sequence: chain.sequence,
            link: chain.link(record.digest()),
        };
        Some((chain.gateway, numbered))
    }

    /// Of an entry in a segment.
    pub(super) fn of_entry(content: &[u8]) -> Option<(Uuid, Self)> {
        Self::of(&entry::decode(content)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::spool::entry::tests::record;

    #[test]
    fn contract_5_each_record_names_the_link_of_the_one_before() {
        let gateway = Uuid::from_u128(5);
        let mut numbers = Numbers::behind(gateway, Numbered::default(), None);
        let mut before = Numbered::default();
        for number in 0..100 {
            let given = numbers.give(record(number).into());
            let chain = given.chain.unwrap();
            assert_eq!(chain.sequence, before.sequence + 1);
            assert_eq!((chain.previous, chain.after), (before.link, None));
            before = Numbered::of(&given).unwrap().1;
            assert_eq!(before, numbers.latest());
        }
    }

    #[test]
    fn contract_5_only_the_first_record_behind_a_cut_says_so_and_a_number_once_given_stays() {
        let latest = Numbered {
            sequence: 9,
            link: ChainHash([1; 32]),
        };
        let mut numbers = Numbers::behind(Uuid::from_u128(5), latest, Some(4));
        let first = numbers.give(record(0).into());
        assert_eq!(first.chain.unwrap().after, Some(4));
        let second = numbers.give(record(2).into()).chain.unwrap();
        assert_eq!((second.sequence, second.after), (11, None));
        let again = numbers.give(first.into()).chain.unwrap();
        assert_eq!((again.sequence, again.after), (10, Some(4)));
        assert_eq!(numbers.latest().sequence, 11);
    }
}
