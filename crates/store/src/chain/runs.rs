//! How arriving numbers become runs and stubs. Pure: reads and writes nothing.

use super::{ChainEntry, ChainRun, NumberRange};
use monitor_model::{RecordId, Span};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Numbers further apart than this are read separately, not together with everything between them.
const NEAR: u64 = 4_096;

/// A number that arrived, and the record that is stored with it: None for an erased user, and if the record
/// was stored before.
#[derive(Clone, Copy)]
pub(crate) struct ReceivedNumber {
    pub(crate) entry: ChainEntry,
    pub(crate) record: Option<RecordId>,
    /// When it was received, milliseconds since 1970.
    pub(crate) at_ms: i64,
}

/// Numbers of one gateway that arrived together and are close to each other, in order.
pub(crate) struct Cluster {
    pub(crate) gateway: Uuid,
    pub(crate) numbers: Vec<ReceivedNumber>,
}

/// What a cluster changes in the tables of its gateway.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RunChanges {
    /// Whether this may be the first number of the gateway.
    pub(crate) may_be_first: bool,
    /// When the latest number of the cluster was received, milliseconds since 1970.
    pub(crate) latest_ms: Option<i64>,
    /// Runs to delete, by their first numbers.
    pub(crate) deleted: Vec<i64>,
    /// Runs to insert or to extend.
    pub(crate) runs: Vec<ChainRun>,
    /// Cuts to insert.
    pub(crate) cuts: Vec<Span>,
    /// New numbers without a record.
    pub(crate) stubs: Vec<Span>,
    /// Records whose number belongs to another record.
    pub(crate) repeats: Vec<RecordId>,
}

/// What new stubs change in the stubs of their gateway.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StubChanges {
    /// Stubs to delete, by their first numbers.
    pub(crate) deleted: Vec<i64>,
    /// Stubs to insert or to extend.
    pub(crate) stubs: Vec<Span>,
}

impl Cluster {
    /// Sorts numbers by gateway and splits them into clusters. Every writer visits gateways in this order.
    pub(crate) fn all(numbers: impl Iterator<Item = ReceivedNumber>) -> Vec<Self> {
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_by_key(|one| (one.entry.gateway, one.entry.sequence));
        let near = |one: &ReceivedNumber, next: &ReceivedNumber| {
            let (one, next) = (one.entry, next.entry);
            one.gateway == next.gateway && next.sequence - one.sequence <= NEAR
        };
        let clusters = numbers.chunk_by(near);
        let cluster = |numbers: &[ReceivedNumber]| Self {
            gateway: numbers[0].entry.gateway,
            numbers: numbers.to_vec(),
        };
        clusters.map(cluster).collect()
    }

    /// The numbers whose runs the cluster may change: its own, and one more at each end.
    pub(crate) fn range(&self) -> NumberRange {
        let number = |one: Option<&ReceivedNumber>| one.map_or(0, |one| one.entry.sequence);
        NumberRange {
            first: column(number(self.numbers.first()) - 1),
            last: column(number(self.numbers.last()) + 1),
        }
    }

    /// Adds the numbers to `runs`, which are all runs within [`Cluster::range`].
    pub(crate) fn enter(&self, runs: &[ChainRun]) -> RunChanges {
        let before: BTreeMap<u64, ChainRun> = runs.iter().map(|run| (run.first, *run)).collect();
        let mut after = before.clone();
        let mut changes = RunChanges {
            may_be_first: runs.is_empty(),
            latest_ms: self.numbers.iter().map(|one| one.at_ms).max(),
            ..RunChanges::default()
        };
        for ReceivedNumber { entry, record, .. } in &self.numbers {
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
        let deleted = before.keys().filter(|first| !after.contains_key(first));
        changes.deleted = deleted.map(|first| column(*first)).collect();
        after.retain(|first, run| before.get(first) != Some(run));
        changes.runs = after.into_values().collect();
        changes
    }
}

/// Adds one number; false if it is already there.
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

/// Groups the numbers of removed records by gateway, in the order of the gateways' ids, and splits them
/// where they are far apart.
pub(crate) fn group_stubs(mut removed: Vec<(Uuid, Span)>) -> Vec<(Uuid, Vec<Span>)> {
    removed.sort_unstable();
    let near = |(gateway, one): &(Uuid, Span), (other, next): &(Uuid, Span)| {
        gateway == other && next.from.saturating_sub(one.to) <= NEAR
    };
    let group = |removed: &[(Uuid, Span)]| {
        let spans = removed.iter().map(|(_, span)| *span).collect();
        (removed[0].0, Span::join(spans))
    };
    removed.chunk_by(near).map(group).collect()
}

impl StubChanges {
    /// The numbers whose stubs `new` may change: its own, and one more at each end. `new` is in order.
    pub(crate) fn range(new: &[Span]) -> NumberRange {
        let (first, last) = (new.first(), new.last());
        NumberRange {
            first: column(first.map_or(0, |span| span.from.saturating_sub(1))),
            last: column(last.map_or(0, |span| span.to + 1)),
        }
    }

    /// Adds new stubs to those within their range.
    pub(crate) fn merge(before: &[Span], new: Vec<Span>) -> Self {
        let mut stubs = Span::join([before, &new].concat());
        let deleted = before.iter().filter(|span| !stubs.contains(span));
        let deleted = deleted.map(|span| column(span.from)).collect();
        stubs.retain(|span| !before.contains(span));
        Self { deleted, stubs }
    }
}

/// A number as its column holds it.
pub(crate) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use monitor_model::ChainHash;

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
            let arrivals = batch.iter().map(|entry| ReceivedNumber {
                entry: *entry,
                record: Some(RecordId::random()),
                at_ms: 7,
            });
            for cluster in Cluster::all(arrivals) {
                let NumberRange {
                    first: low,
                    last: high,
                } = cluster.range();
                let touched: Vec<ChainRun> = runs
                    .values()
                    .copied()
                    .filter(|run: &ChainRun| column(run.last) >= low && column(run.first) <= high)
                    .collect();
                let changes = cluster.enter(&touched);
                for first in changes.deleted {
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
        let arrivals = [entry(1), entry(2), entry(2), cut].map(|entry| ReceivedNumber {
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
        let portioned = group_stubs(vec![at(9_000), at(3), at(1), at(2)]);
        let expected = [vec![Span::new(1, 3)], vec![Span::new(9_000, 9_000)]];
        assert_eq!(portioned, expected.map(|spans| (one, spans)));
        let before = [Span::new(1, 2), Span::new(6, 6)];
        let merged = StubChanges {
            deleted: vec![1],
            stubs: vec![Span::new(1, 4)],
        };
        assert_eq!(StubChanges::merge(&before, vec![Span::new(3, 4)]), merged);
        let known = vec![Span::new(6, 6)];
        assert_eq!(StubChanges::merge(&before, known), StubChanges::default());
        let (first, last) = (2, 10);
        let around = StubChanges::range(&[Span::new(3, 4), Span::new(8, 9)]);
        assert_eq!(around, NumberRange { first, last });
    }
}
