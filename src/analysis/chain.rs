//! What the numbers of a gateway's records say (CONTRACT 5): which are missing, which links do not fit,
//! or that nothing is missing between two numbers. Reads what `store::chain` keeps; an answer is bounded
//! and goes on where it ended.

use super::Service;
use super::authority::Caller;
use super::error::ApiError;
use crate::model::ChainHash;
use crate::store::{ChainFilter, ChainState, MOST_RUNS};
use serde::Serialize;
use uuid::Uuid;

/// Numbers that follow each other, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Span {
    /// The first.
    pub(super) from: u64,
    /// The last.
    pub(super) to: u64,
}

/// What is known of one gateway's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ChainReport {
    /// The gateway, or rather its spool's folder.
    pub(super) gateway: Uuid,
    /// The lowest number that ever came.
    pub(super) first: u64,
    /// The highest one.
    pub(super) last: u64,
    /// How many came.
    pub(super) count: u64,
    /// How many of those records were removed since; they are no gaps.
    pub(super) stubs: u64,
    /// How many came again under another record.
    pub(super) repeats: u64,
    /// What the rest is about.
    pub(super) checked: Span,
    /// Nothing is missing between its ends, every link fits, and no number came twice.
    pub(super) complete: bool,
    /// Numbers that never came.
    pub(super) gaps: Vec<Span>,
    /// Numbers that never came and that the gateway may never have given out: it was cut off then.
    pub(super) interrupted: Vec<Span>,
    /// Numbers whose record names another link before it than the record before it has.
    pub(super) broken_links: Vec<u64>,
    /// `from` of the next part; None where `checked` was looked at whole.
    pub(super) next_from: Option<u64>,
}

/// A page of gateways.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ChainPage {
    /// In the order of their ids.
    pub(super) gateways: Vec<ChainReport>,
    /// `after` of the next page; None on the last one.
    pub(super) next_after: Option<Uuid>,
}

impl Service {
    /// What is known of gateways' numbers. They count records of every application, so that the caller
    /// must be bound to none.
    pub(super) async fn chains(
        &self,
        caller: &Caller,
        filter: ChainFilter,
    ) -> Result<ChainPage, ApiError> {
        caller.must_be_unbound()?;
        let more = ChainFilter {
            limit: filter.limit.saturating_add(1),
            ..filter.clone()
        };
        let mut states = self.store().chains(&more).await?;
        let is_last = states.len() <= filter.limit as usize;
        states.truncate(filter.limit as usize);
        let gateways: Vec<_> = states.iter().map(|state| report(state, &filter)).collect();
        let next = gateways.last().map(|last| last.gateway);
        Ok(ChainPage {
            next_after: next.filter(|_| !is_last),
            gateways,
        })
    }
}

fn report(state: &ChainState, filter: &ChainFilter) -> ChainReport {
    let runs = &state.runs[..state.runs.len().min(MOST_RUNS)];
    let is_whole = runs.len() == state.runs.len() && state.cuts.len() < MOST_RUNS;
    let end = filter.to.unwrap_or(state.bounds.1);
    let to = match (is_whole, runs.last()) {
        (false, Some(last)) => last.last.min(end),
        _ => end,
    };
    let mut report = ChainReport {
        gateway: state.gateway,
        first: state.bounds.0,
        last: state.bounds.1,
        count: state.count,
        stubs: state.stubs,
        repeats: state.repeats,
        checked: Span {
            from: filter.from,
            to,
        },
        complete: false,
        gaps: Vec::new(),
        interrupted: Vec::new(),
        broken_links: broken(state, filter.from, to),
        next_from: (to < end).then_some(to + 1),
    };
    for hole in holes(state, filter.from, to) {
        report.take(hole, &state.cuts);
    }
    let nothing_missing = report.gaps.is_empty() && report.interrupted.is_empty();
    report.complete = nothing_missing
        && report.broken_links.is_empty()
        && report.repeats == 0
        && filter.from <= to;
    report
}

/// Links at these numbers that do not fit. The first number has none before it.
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

fn holes(state: &ChainState, from: u64, to: u64) -> Vec<Span> {
    let mut next = from;
    let mut holes = Vec::new();
    for run in state.runs.iter().take_while(|run| run.first <= to) {
        if run.first > next {
            let to = run.first - 1;
            holes.push(Span { from: next, to });
        }
        next = next.max(run.last + 1);
    }
    if next <= to {
        holes.push(Span { from: next, to });
    }
    holes
}

impl ChainReport {
    /// Parts a hole into what a cut explains and what none does.
    fn take(&mut self, hole: Span, cuts: &[(u64, u64)]) {
        let mut next = hole.from;
        for (first, last) in cuts {
            let (first, last) = ((*first).max(next), (*last).min(hole.to));
            if first > last {
                continue;
            }
            if next < first {
                let to = first - 1;
                self.gaps.push(Span { from: next, to });
            }
            self.interrupted.push(Span {
                from: first,
                to: last,
            });
            next = last + 1;
        }
        if next <= hole.to {
            let (from, to) = (next, hole.to);
            self.gaps.push(Span { from, to });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::store::ChainRun;

    fn state(runs: &[(u64, u64)], cuts: &[(u64, u64)]) -> ChainState {
        let hash = |number: u64| ChainHash([u8::try_from(number % 251).unwrap(); 32]);
        let run = |(first, last): &(u64, u64)| ChainRun {
            first: *first,
            last: *last,
            previous: hash(first - 1),
            link: hash(*last),
        };
        ChainState {
            gateway: Uuid::from_u128(1),
            bounds: (runs[0].0, runs[runs.len() - 1].1),
            count: runs.iter().map(|(first, last)| last - first + 1).sum(),
            stubs: 0,
            repeats: 0,
            runs: runs.iter().map(run).collect(),
            cuts: cuts.to_vec(),
        }
    }

    fn asked(from: u64, to: Option<u64>) -> ChainFilter {
        ChainFilter {
            from,
            to,
            ..ChainFilter::default()
        }
    }

    fn spans(spans: &[Span]) -> Vec<(u64, u64)> {
        spans.iter().map(|span| (span.from, span.to)).collect()
    }

    #[test]
    fn contract_5_nothing_missing_is_said_of_what_was_asked_for() {
        let whole = report(&state(&[(1, 90)], &[]), &asked(1, None));
        assert!(whole.complete && whole.gaps.is_empty());
        assert_eq!((whole.checked, whole.count), (Span { from: 1, to: 90 }, 90));
        let late = report(&state(&[(5, 90)], &[]), &asked(1, None));
        assert!(!late.complete);
        assert_eq!(spans(&late.gaps), [(1, 4)]);
        assert!(report(&state(&[(5, 90)], &[]), &asked(5, Some(90))).complete);
        let beyond = report(&state(&[(1, 90)], &[]), &asked(80, Some(99)));
        assert_eq!(spans(&beyond.gaps), [(91, 99)]);
        assert!(!report(&state(&[(1, 9)], &[]), &asked(10, None)).complete);
        let mut repeated = state(&[(1, 90)], &[]);
        repeated.repeats = 1;
        assert!(!report(&repeated, &asked(1, None)).complete);
    }

    #[test]
    fn contract_5_a_cut_explains_what_it_covers_and_no_more() {
        let runs = [(1, 10), (13, 13), (20, 30)];
        let seen = report(&state(&runs, &[(12, 19)]), &asked(1, None));
        assert_eq!(spans(&seen.gaps), [(11, 11)]);
        assert_eq!(spans(&seen.interrupted), [(12, 12), (14, 19)]);
        assert!(!seen.complete);
        let part = report(&state(&runs, &[(12, 19)]), &asked(15, Some(16)));
        assert_eq!(spans(&part.interrupted), [(15, 16)]);
    }

    #[test]
    fn contract_5_runs_that_touch_are_a_link_that_does_not_fit() {
        let mut touching = state(&[(1, 10), (11, 20)], &[]);
        touching.runs[1].previous = ChainHash([255; 32]);
        let seen = report(&touching, &asked(1, None));
        assert_eq!((&*seen.broken_links, seen.complete), (&[11][..], false));
        assert_eq!(report(&touching, &asked(11, None)).broken_links, [11]);
        assert!(report(&touching, &asked(1, Some(10))).complete);
        touching.runs[0].previous = ChainHash([1; 32]);
        assert_eq!(report(&touching, &asked(1, None)).broken_links, [1, 11]);
    }

    #[test]
    fn contract_5_a_long_answer_goes_on_where_it_ended() {
        let runs: Vec<_> = (0..2_500).map(|n| (2 * n + 1, 2 * n + 1)).collect();
        let (mut from, mut gaps) = (Some(1), Vec::new());
        while let Some(start) = from {
            // As the store gives them: with the one that ends just before.
            let reach = runs.iter().filter(|run| run.1 + 1 >= start);
            let part: Vec<_> = reach.take(MOST_RUNS + 1).copied().collect();
            let mut part = state(&part, &[]);
            part.bounds = (1, 4_999);
            let seen = report(&part, &asked(start, None));
            gaps.extend(spans(&seen.gaps));
            assert!(!seen.complete && seen.next_from.is_none_or(|next| next > start));
            from = seen.next_from;
        }
        let expected: Vec<_> = (1..2_500).map(|n| (2 * n, 2 * n)).collect();
        assert_eq!(gaps, expected);
    }
}
