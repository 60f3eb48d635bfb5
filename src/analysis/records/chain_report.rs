//! Gaps in the numbered records of a gateway (CONTRACT 5): which numbers are missing, which hash links do
//! not match, or that nothing is missing in a range. Based on `monitor_store`'s chain; an answer is limited
//! and continues in the next one.

use super::Records;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::{ChainHash, Span};
use monitor_store::{ChainFilter, ChainState, MOST_RUNS};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// The state of one gateway's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ChainReport {
    /// The gateway, identified by its spool folder.
    pub(crate) gateway: Uuid,
    /// The lowest number received.
    pub(crate) first: u64,
    /// The highest number received.
    pub(crate) last: u64,
    /// How many were received.
    pub(crate) count: u64,
    /// Numbers whose records were removed on purpose: by retention, erasure, or with an application. They
    /// are not gaps.
    pub(crate) stubs: u64,
    /// How many were received again with another record.
    pub(crate) repeats: u64,
    /// The range that the fields below are about.
    pub(crate) checked: Span,
    /// Nothing is missing in `checked`, every link matches, and no number was received twice.
    pub(crate) complete: bool,
    /// Numbers without a record or a stub: they were never received, or their records were deleted from the
    /// database by hand.
    pub(crate) gaps: Vec<Span>,
    /// The part of `gaps` that had been received.
    pub(crate) vanished: Vec<Span>,
    /// Numbers that were never received, from the last moments before the gateway was killed: it may never
    /// have assigned them.
    pub(crate) interrupted: Vec<Span>,
    /// After each of these numbers the gateway was cut off; its latest records may not have been numbered.
    pub(crate) cut_behind: Vec<u64>,
    /// Numbers whose record has another previous hash than the record before it.
    pub(crate) broken_links: Vec<u64>,
    /// `from` of the next part; null if `checked` covers the whole range.
    pub(crate) next_from: Option<u64>,
}

/// A page of gateways.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Chain)]
pub(crate) struct ChainPage {
    /// In the order of their ids.
    pub(crate) gateways: Vec<ChainReport>,
    /// `after` of the next page; null on the last one.
    pub(crate) next_after: Option<Uuid>,
}

impl Records {
    /// The chain reports of a page of gateways. The numbers count records of all applications, so that the
    /// caller must not be bound to one.
    pub(crate) async fn chains(
        &self,
        caller: &Caller,
        filter: ChainFilter,
    ) -> Result<ChainPage, ApiError> {
        caller.must_be_unbound()?;
        let (chain, asked) = (self.chain.clone(), filter.clone());
        let read = async move { chain.chains(&asked).await };
        let known = self.reads.read(caller, read).await?;
        let reports = known.gateways.iter().map(|state| report(state, &filter));
        let gateways: Vec<_> = reports.collect();
        let next = gateways.last().map(|last| last.gateway);
        Ok(ChainPage {
            next_after: next.filter(|_| known.goes_on),
            gateways,
        })
    }
}

fn report(state: &ChainState, filter: &ChainFilter) -> ChainReport {
    let checked = checked(state, filter);
    let (from, to) = (checked.from, checked.to);
    let came = state.runs.iter().map(|run| Span::new(run.first, run.last));
    let came = Span::join(came.collect());
    let never = Span::without(&Span::join(vec![checked]), &came);
    let vanished = Span::within(&state.vanished, &[checked]);
    // A number that was received is not covered by a cut.
    let interrupted = Span::within(&never, &Span::join(state.cuts.clone()));
    let gaps = Span::without(&never, &interrupted);
    let gaps = Span::join([&*gaps, &vanished].concat());
    let nothing_missing = gaps.is_empty() && interrupted.is_empty();
    let broken_links = broken(state, from, to);
    let cut = |number: &u64| (from - 1..=to).contains(number);
    ChainReport {
        gateway: state.gateway,
        first: state.bounds.0,
        last: state.bounds.1,
        count: state.count,
        stubs: state.stubs,
        repeats: state.repeats,
        complete: nothing_missing && broken_links.is_empty() && state.repeats == 0 && from <= to,
        gaps,
        vanished,
        interrupted,
        cut_behind: state
            .cuts
            .iter()
            .map(|cut| cut.from - 1)
            .filter(cut)
            .collect(),
        broken_links,
        next_from: (to < filter.to.unwrap_or(state.bounds.1)).then_some(to + 1),
        checked,
    }
}

/// The range that all lists cover completely.
fn checked(state: &ChainState, filter: &ChainFilter) -> Span {
    let beyond = [
        state.runs.get(MOST_RUNS).map(|run| run.first),
        state.cuts.get(MOST_RUNS).map(|cut| cut.from),
    ];
    let end = filter.to.unwrap_or(state.bounds.1);
    let ends = beyond.into_iter().flatten().map(|first| first - 1);
    let ends = ends.chain(state.looked_until);
    Span::new(filter.from, ends.fold(end, u64::min))
}

/// Links at these numbers that do not match. The first number has no previous link.
fn broken(state: &ChainState, from: u64, to: u64) -> Vec<u64> {
    let mut before = (0, ChainHash::default());
    let mut broken = Vec::new();
    for run in &state.runs {
        let touches = before.0 + 1 == run.first;
        if touches && before.1 != run.previous && (from..=to).contains(&run.first) {
            broken.push(run.first);
        }
        before = (run.last, run.link);
    }
    broken
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use monitor_store::ChainRun;

    fn spans(spans: &[(u64, u64)]) -> Vec<Span> {
        let span = |(from, to): &(u64, u64)| Span::new(*from, *to);
        spans.iter().map(span).collect()
    }

    /// As the store gives it from a number on; `there` are the records and stubs.
    fn seen(runs: &[(u64, u64)], there: &[(u64, u64)], asked: u64) -> ChainState {
        let hash = |number: u64| ChainHash([u8::try_from(number % 251).unwrap(); 32]);
        let run = |(first, last): &(u64, u64)| ChainRun {
            first: *first,
            last: *last,
            previous: hash(first - 1),
            link: hash(*last),
        };
        let bounds = (runs[0].0, runs[runs.len() - 1].1);
        let reach = runs.iter().filter(|run| run.1 + 1 >= asked);
        ChainState {
            gateway: Uuid::from_u128(1),
            bounds,
            count: runs.iter().map(|(first, last)| last - first + 1).sum(),
            stubs: 0,
            repeats: 0,
            runs: reach.take(MOST_RUNS + 1).map(run).collect(),
            cuts: Vec::new(),
            vanished: Span::without(&Span::join(spans(runs)), &Span::join(spans(there))),
            looked_until: None,
        }
    }

    /// Nothing of what came has gone.
    fn state(runs: &[(u64, u64)], asked: (u64, Option<u64>)) -> ChainState {
        seen(runs, runs, asked.0)
    }

    fn told(state: &ChainState, (from, to): (u64, Option<u64>)) -> ChainReport {
        let filter = ChainFilter {
            from,
            to,
            ..ChainFilter::default()
        };
        report(state, &filter)
    }

    fn of(runs: &[(u64, u64)], asked: (u64, Option<u64>)) -> ChainReport {
        told(&state(runs, asked), asked)
    }

    #[test]
    fn contract_5_nothing_missing_is_said_of_what_was_asked_for() {
        let whole = of(&[(1, 90)], (1, None));
        assert!(whole.complete && whole.gaps.is_empty());
        assert_eq!((whole.checked, whole.count), (Span::new(1, 90), 90));
        let late = of(&[(5, 90)], (1, None));
        assert!(!late.complete);
        assert_eq!(late.gaps, spans(&[(1, 4)]));
        assert!(of(&[(5, 90)], (5, Some(90))).complete);
        let beyond = of(&[(1, 90)], (80, Some(99)));
        assert_eq!(beyond.gaps, spans(&[(91, 99)]));
        assert!(!of(&[(1, 9)], (10, None)).complete);
        let mut repeated = state(&[(1, 90)], (1, None));
        repeated.repeats = 1;
        assert!(!told(&repeated, (1, None)).complete);
    }

    #[test]
    fn contract_5_a_cut_explains_what_it_covers_and_never_came_and_no_more() {
        let (runs, all) = ([(1, 10), (13, 14), (20, 30)], (1, None));
        let there = [(1, 10), (13, 13), (20, 30)];
        let mut state = seen(&runs, &there, 1);
        state.cuts = spans(&[(12, 19)]);
        let report = told(&state, all);
        assert_eq!(report.gaps, spans(&[(11, 11), (14, 14)]));
        assert_eq!(report.vanished, spans(&[(14, 14)]));
        assert_eq!(report.interrupted, spans(&[(12, 12), (15, 19)]));
        assert_eq!((report.complete, &*report.cut_behind), (false, &[11][..]));
        let part = (16, Some(17));
        let mut state = seen(&runs, &there, 16);
        state.cuts = spans(&[(12, 19)]);
        let report = told(&state, part);
        assert_eq!(report.interrupted, spans(&[(16, 17)]));
        assert!(report.cut_behind.is_empty());
    }

    #[test]
    fn contract_5_an_end_that_took_no_number_is_named_and_leaves_the_rest_complete() {
        let mut state = state(&[(1, 30)], (1, None));
        state.cuts = spans(&[(11, 10), (21, 20)]);
        let report = told(&state, (1, None));
        assert_eq!(
            (report.complete, &*report.cut_behind),
            (true, &[10, 20][..])
        );
        state.looked_until = Some(15);
        let report = told(&state, (1, None));
        assert_eq!((report.checked.to, report.next_from), (15, Some(16)));
        assert_eq!((report.complete, &*report.cut_behind), (true, &[10][..]));
    }

    #[test]
    fn contract_5_runs_that_touch_are_a_link_that_does_not_fit() {
        let (runs, all) = ([(1, 10), (11, 20)], (1, None));
        let mut touching = state(&runs, all);
        touching.runs[1].previous = ChainHash([255; 32]);
        let seen = told(&touching, all);
        assert_eq!((&*seen.broken_links, seen.complete), (&[11][..], false));
        assert_eq!(told(&touching, (11, None)).broken_links, [11]);
        assert!(told(&touching, (1, Some(10))).complete);
        touching.runs[0].previous = ChainHash([1; 32]);
        assert_eq!(told(&touching, all).broken_links, [1, 11]);
    }

    #[test]
    fn contract_5_a_long_answer_goes_on_where_it_ended() {
        let runs: Vec<_> = (0..2_500).map(|n| (2 * n + 1, 2 * n + 1)).collect();
        let (mut from, mut gaps) = (Some(1), Vec::new());
        while let Some(start) = from {
            let seen = of(&runs, (start, None));
            gaps.extend(seen.gaps);
            assert!(!seen.complete && seen.next_from.is_none_or(|next| next > start));
            from = seen.next_from;
        }
        let expected: Vec<_> = (1..2_500).map(|n| Span::new(2 * n, 2 * n)).collect();
        assert_eq!(gaps, expected);
    }
}
