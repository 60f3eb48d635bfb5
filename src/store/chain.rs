//! Gap evidence as it is kept (CONTRACT 5): not a row for each record but one for each run of numbers
//! without a hole and with every link right, put together as records come in, in any order. A hole
//! between two runs is a gap; two runs side by side are a link that does not fit. No SQL here.
//!
//! What removes records, retention or erasure, leaves the runs as they are: a run is the stub of all that
//! was removed of it, holds the hashes at both its ends, and takes the same room however many there were.
//! How many were removed is counted beside it. A number that comes a second time, under another record, is
//! a repeat: the record is kept, the run stays what it was, and the repeat is counted. (A record that comes
//! again after it was removed counts as one too; its own hash is no longer there to tell.)

use super::StoreError;
use crate::model::ChainHash;
use async_trait::async_trait;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Runs of one gateway that one answer looks at, at most, and cuts.
pub const MOST_RUNS: usize = 1_000;
/// Numbers further apart than this are looked up one by one, not with all that is between them.
const NEAR: u64 = 4_096;

/// Gap evidence.
#[async_trait]
pub trait ChainStore: Send + Sync {
    /// Gateways in the order of their ids, with what is known of their numbers.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn chains(&self, filter: &ChainFilter) -> Result<Vec<ChainState>, StoreError>;
}

/// One record's number and links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainEntry {
    /// The gateway.
    pub gateway: Uuid,
    /// Its number, from 1.
    pub sequence: u64,
    /// The link of the record before, as the gateway says.
    pub previous: ChainHash,
    /// Its own, as this server computes it from what came.
    pub link: ChainHash,
    /// The last number that the gateway was sure of, where this is the first one behind a cut.
    pub after: Option<u64>,
}

/// Which gateways and numbers are asked for.
#[derive(Clone, Debug, Default)]
pub struct ChainFilter {
    /// Only this one.
    pub gateway: Option<Uuid>,
    /// Only those behind this one.
    pub after: Option<Uuid>,
    /// Gateways at most.
    pub limit: u32,
    /// The first number that is looked at.
    pub from: u64,
    /// The last one; None for the last there is.
    pub to: Option<u64>,
}

/// What is known of one gateway's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainState {
    /// The gateway.
    pub gateway: Uuid,
    /// The lowest number that came, and the highest.
    pub bounds: (u64, u64),
    /// Numbers that came.
    pub count: u64,
    /// Those of them whose records were removed.
    pub stubs: u64,
    /// Numbers that came again under another record.
    pub repeats: u64,
    /// The runs that reach into what is asked for or end just before it, in order, [`MOST_RUNS`] and one
    /// more at most.
    pub runs: Vec<ChainRun>,
    /// Spans, ends included, of which the gateway does not know whether it gave their numbers out.
    pub cuts: Vec<(u64, u64)>,
}

/// Numbers without a hole whose links fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRun {
    /// Its first number.
    pub first: u64,
    /// Its last number.
    pub last: u64,
    /// What the first one names as the link before it.
    pub previous: ChainHash,
    /// The link of the last one.
    pub link: ChainHash,
}

/// A number that comes in, and whether its record is kept: one of an erased user is not.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) entry: ChainEntry,
    pub(super) kept: bool,
}

/// Arrivals of one gateway that lie close together, in order.
pub(super) struct Cluster {
    pub(super) gateway: Uuid,
    pub(super) arrivals: Vec<Arrival>,
}

/// What a cluster changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Runs that are no more, by their first numbers.
    pub(super) gone: Vec<i64>,
    /// Runs that are new or longer.
    pub(super) runs: Vec<ChainRun>,
    pub(super) cuts: Vec<(u64, u64)>,
    pub(super) stubs: i64,
    pub(super) repeats: i64,
}

impl Cluster {
    /// The arrivals, by gateway and number, in clusters. Every writer takes gateways in this order.
    pub(super) fn all(arrivals: impl Iterator<Item = Arrival>) -> Vec<Self> {
        let mut arrivals: Vec<_> = arrivals.collect();
        arrivals.sort_by_key(|one| (one.entry.gateway, one.entry.sequence));
        let near = |one: &Arrival, next: &Arrival| {
            let (one, next) = (one.entry, next.entry);
            one.gateway == next.gateway && next.sequence - one.sequence <= NEAR
        };
        let clusters = arrivals.chunk_by(near);
        let cluster = |arrivals: &[Arrival]| Self {
            gateway: arrivals[0].entry.gateway,
            arrivals: arrivals.to_vec(),
        };
        clusters.map(cluster).collect()
    }

    /// The numbers whose runs matter: with one more at each end.
    pub(super) fn span(&self) -> (i64, i64) {
        let at = |arrival: Option<&Arrival>| arrival.map_or(0, |one| one.entry.sequence);
        let (first, last) = (at(self.arrivals.first()), at(self.arrivals.last()));
        (column(first - 1), column(last + 1))
    }

    /// Takes the arrivals into the runs of their span.
    pub(super) fn enter(&self, runs: &[ChainRun]) -> Changes {
        let before: BTreeMap<u64, ChainRun> = runs.iter().map(|run| (run.first, *run)).collect();
        let (mut after, mut changes) = (before.clone(), Changes::default());
        for Arrival { entry, kept } in &self.arrivals {
            if let Some(last) = entry.after.filter(|last| last + 1 < entry.sequence) {
                changes.cuts.push((last + 1, entry.sequence - 1));
            }
            match (add(&mut after, entry), kept) {
                (true, false) => changes.stubs += 1,
                (false, true) => changes.repeats += 1,
                (true, true) | (false, false) => {}
            }
        }
        let gone = before.keys().filter(|first| !after.contains_key(first));
        changes.gone = gone.map(|first| column(*first)).collect();
        after.retain(|first, run| before.get(first) != Some(run));
        changes.runs = after.into_values().collect();
        changes
    }
}

/// False where the number is there already.
fn add(runs: &mut BTreeMap<u64, ChainRun>, entry: &ChainEntry) -> bool {
    let mut run = ChainRun {
        first: entry.sequence,
        last: entry.sequence,
        previous: entry.previous,
        link: entry.link,
    };
    if let Some((_, left)) = runs.range(..=entry.sequence).next_back() {
        if left.last >= entry.sequence {
            return false;
        }
        if left.last + 1 == entry.sequence && left.link == entry.previous {
            run.first = left.first;
            run.previous = left.previous;
        }
    }
    let right = runs.get(&(entry.sequence + 1)).copied();
    if let Some(right) = right.filter(|right| right.previous == run.link) {
        run.last = right.last;
        run.link = right.link;
        runs.remove(&right.first);
    }
    runs.insert(run.first, run);
    true
}

/// A number as its column holds it.
pub(super) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hash(number: u64) -> ChainHash {
        ChainHash([u8::try_from(number % 251).unwrap(); 32])
    }

    fn entry(sequence: u64) -> ChainEntry {
        ChainEntry {
            gateway: Uuid::from_u128(1),
            sequence,
            previous: hash(sequence - 1),
            link: hash(sequence),
            after: None,
        }
    }

    /// The runs that come of these batches, with repeats and stubs.
    fn entered(batches: &[&[ChainEntry]]) -> (Vec<ChainRun>, i64, i64) {
        let (mut runs, mut repeats, mut stubs) = (BTreeMap::new(), 0, 0);
        for batch in batches {
            let arrivals = batch.iter().map(|entry| Arrival {
                entry: *entry,
                kept: true,
            });
            for cluster in Cluster::all(arrivals) {
                let (low, high) = cluster.span();
                let touched: Vec<ChainRun> = runs
                    .values()
                    .copied()
                    .filter(|run: &ChainRun| column(run.last) >= low && column(run.first) <= high)
                    .collect();
                let changes = cluster.enter(&touched);
                for first in changes.gone {
                    runs.remove(&u64::try_from(first).unwrap());
                }
                runs.extend(changes.runs.into_iter().map(|run| (run.first, run)));
                repeats += changes.repeats;
                stubs += changes.stubs;
            }
        }
        (runs.into_values().collect(), repeats, stubs)
    }

    fn spans(runs: &[ChainRun]) -> Vec<(u64, u64)> {
        runs.iter().map(|run| (run.first, run.last)).collect()
    }

    #[test]
    fn contract_5_numbers_in_any_order_and_twice_come_together_as_one_run() {
        let mut numbers: Vec<u64> = (1..=500).collect();
        for round in 0..20_u64 {
            numbers.sort_by_key(|number| (number * (7 + round * 2)) % 509);
            let entries: Vec<_> = numbers.iter().map(|number| entry(*number)).collect();
            let batches: Vec<_> = entries.chunks(1 + round as usize).collect();
            let (runs, repeats, stubs) = entered(&batches);
            assert_eq!((spans(&runs), repeats, stubs), (vec![(1, 500)], 0, 0));
            assert_eq!((runs[0].previous, runs[0].link), (hash(0), hash(500)));
        }
        let (runs, repeats, _) = entered(&[&[entry(1), entry(2)], &[entry(2), entry(3)]]);
        assert_eq!((spans(&runs), repeats), (vec![(1, 3)], 1));
    }

    #[test]
    fn contract_5_a_hole_and_a_link_that_does_not_fit_part_two_runs() {
        let mut wrong = entry(4);
        wrong.previous = hash(9);
        let numbers = [entry(1), entry(2), entry(3), wrong, entry(7)];
        let (runs, ..) = entered(&[&numbers]);
        assert_eq!(spans(&runs), [(1, 3), (4, 4), (7, 7)]);
        let (runs, ..) = entered(&[&numbers, &[entry(6), entry(5)]]);
        assert_eq!(spans(&runs), [(1, 3), (4, 7)]);
        let far = entry(1_000_000);
        let (runs, ..) = entered(&[&[far, entry(1)]]);
        assert_eq!(spans(&runs), [(1, 1), (1_000_000, 1_000_000)]);
    }

    #[test]
    fn contract_5_what_is_not_kept_leaves_a_stub_once_and_a_cut_names_what_may_never_have_been() {
        let cut = ChainEntry {
            after: Some(1),
            ..entry(5)
        };
        let arrivals = [entry(1), entry(2), entry(2), cut].map(|entry| Arrival {
            entry,
            kept: entry.sequence == 5,
        });
        let clusters = Cluster::all(arrivals.into_iter());
        let changes = clusters[0].enter(&[]);
        assert_eq!((changes.stubs, changes.repeats), (2, 0));
        assert_eq!(changes.cuts, [(2, 4)]);
    }
}
