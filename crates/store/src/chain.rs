//! Gap evidence as it is kept (CONTRACT 5). No SQL here.
//!
//! **What came** is not a row for each record but one for each run of numbers without a hole and with
//! every link right, put together as records come in, in any order. A hole between two runs never came;
//! two runs side by side are a link that does not fit. Nothing takes a run away.
//!
//! **What is there** are the records themselves, each with its gateway and number, and spans of numbers
//! whose records went in order: retention, erasure, a removed application, and what came for an erased
//! user. The runs hold the hashes around such a span, so that together they are the hash stub of all that
//! was removed, in the same room however much that was. A number that neither a record nor a stub has is a
//! hole, whether it never came or somebody took it out of the tables by hand.
//!
//! A number that comes a second time, under another record, is a repeat: that record is kept without it,
//! and counted. (A record that comes again after it was removed is one too.) A number whose record is
//! there already under another number, or under none, is a stub: nothing is missing.

use super::StoreError;
use async_trait::async_trait;
use monitor_model::{ChainHash, RecordId, Span};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Runs of one gateway that one answer looks at, at most, and as many cuts and vanished spans.
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
    async fn chains(&self, filter: &ChainFilter) -> Result<ChainStates, StoreError>;

    /// The gateways whose numbers came, the one with the latest record first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, StoreError>;
}

/// What a gateway's records say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewaySeen {
    /// The gateway.
    pub gateway: Uuid,
    /// Its highest number that came.
    pub last: u64,
    /// When its latest record with a number was received, to the second; whether that is still there or
    /// not. None where that was before it was noted.
    pub latest_ms: Option<i64>,
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

/// What is known of some gateways' numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainStates {
    /// In the order of their ids, one at least where there is any.
    pub gateways: Vec<ChainState>,
    /// There are more behind the last one.
    pub goes_on: bool,
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
    /// Numbers whose records went in order.
    pub stubs: u64,
    /// Numbers that came again under another record.
    pub repeats: u64,
    /// The runs that reach into what is asked for or end just before it, in order, [`MOST_RUNS`] and one
    /// more at most.
    pub runs: Vec<ChainRun>,
    /// Spans of which the gateway does not know whether it gave their numbers out, [`MOST_RUNS`] and one
    /// more at most. An empty one: it was cut off there, and had given out none.
    pub cuts: Vec<Span>,
    /// Numbers of the runs that neither a record nor a stub has, in order.
    pub vanished: Vec<Span>,
    /// As far as those were looked for; None where that was done for all that is asked for.
    pub looked_until: Option<u64>,
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

/// A number that comes in, and the record that is kept with it: there is none for an erased user, and none
/// where it was kept before.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) entry: ChainEntry,
    pub(super) record: Option<RecordId>,
    /// When it came, milliseconds since 1970.
    pub(super) at_ms: i64,
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
    pub(super) cuts: Vec<Span>,
    /// New numbers that no record has.
    pub(super) stubs: Vec<Span>,
    /// Records whose number another one has.
    pub(super) repeats: Vec<RecordId>,
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

    /// When the latest of them came.
    pub(super) fn latest_ms(&self) -> Option<i64> {
        self.arrivals.iter().map(|one| one.at_ms).max()
    }

    /// Takes the arrivals into the runs of their span.
    pub(super) fn enter(&self, runs: &[ChainRun]) -> Changes {
        let before: BTreeMap<u64, ChainRun> = runs.iter().map(|run| (run.first, *run)).collect();
        let (mut after, mut changes) = (before.clone(), Changes::default());
        for Arrival { entry, record, .. } in &self.arrivals {
            if let Some(last) = entry.after {
                changes.cuts.push(Span::new(last + 1, entry.sequence - 1));
            }
            match (add(&mut after, entry), record) {
                (true, None) => changes
                    .stubs
                    .push(Span::new(entry.sequence, entry.sequence)),
                (false, Some(record)) => changes.repeats.push(*record),
                (true, Some(_)) | (false, None) => {}
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

/// Numbers that go, of each gateway in the order of their ids, in portions that lie close together.
pub(super) fn portions(mut gone: Vec<(Uuid, Span)>) -> Vec<(Uuid, Vec<Span>)> {
    gone.sort_unstable();
    let near = |(gateway, one): &(Uuid, Span), (other, next): &(Uuid, Span)| {
        gateway == other && next.from.saturating_sub(one.to) <= NEAR
    };
    let portion = |gone: &[(Uuid, Span)]| {
        let spans = gone.iter().map(|(_, span)| *span).collect();
        (gone[0].0, Span::join(spans))
    };
    gone.chunk_by(near).map(portion).collect()
}

/// What stubs of a gateway become: those that are no more, by their first numbers, and those that are new
/// or longer. `before` are all that reach into the new ones or touch them.
pub(super) fn leave(before: &[Span], new: Vec<Span>) -> (Vec<i64>, Vec<Span>) {
    let mut after = Span::join([before, &new].concat());
    let gone = before.iter().filter(|span| !after.contains(span));
    let gone = gone.map(|span| column(span.from)).collect();
    after.retain(|span| !before.contains(span));
    (gone, after)
}

/// The numbers around these, in order, that matter for them: with one more at each end.
pub(super) fn around(spans: &[Span]) -> (i64, i64) {
    let (first, last) = (spans.first(), spans.last());
    let first = first.map_or(0, |span| span.from.saturating_sub(1));
    (column(first), column(last.map_or(0, |span| span.to + 1)))
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
    fn entered(batches: &[&[ChainEntry]]) -> (Vec<ChainRun>, usize, usize) {
        let (mut runs, mut repeats, mut stubs) = (BTreeMap::new(), 0, 0);
        for batch in batches {
            let arrivals = batch.iter().map(|entry| Arrival {
                entry: *entry,
                record: Some(RecordId::random()),
                at_ms: 7,
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
                repeats += changes.repeats.len();
                stubs += changes.stubs.len();
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
            record: (entry.sequence == 5).then(RecordId::random),
            at_ms: 7,
        });
        let clusters = Cluster::all(arrivals.into_iter());
        let changes = clusters[0].enter(&[]);
        assert_eq!(changes.stubs, [Span::new(1, 1), Span::new(2, 2)]);
        assert_eq!(
            (changes.repeats, changes.cuts),
            (vec![], vec![Span::new(2, 4)])
        );
    }

    #[test]
    fn contract_5_stubs_that_touch_are_one_and_far_ones_are_looked_up_apart() {
        let one = Uuid::from_u128(1);
        let at = |number| (one, Span::new(number, number));
        let portioned = portions(vec![at(9_000), at(3), at(1), at(2)]);
        let expected = [vec![Span::new(1, 3)], vec![Span::new(9_000, 9_000)]];
        assert_eq!(portioned, expected.map(|spans| (one, spans)));
        let before = [Span::new(1, 2), Span::new(6, 6)];
        let (gone, new) = leave(&before, vec![Span::new(3, 4)]);
        assert_eq!((gone, new), (vec![1], vec![Span::new(1, 4)]));
        assert_eq!(leave(&before, vec![Span::new(6, 6)]), (vec![], vec![]));
        assert_eq!(around(&[Span::new(3, 4), Span::new(8, 9)]), (2, 10));
    }
}
