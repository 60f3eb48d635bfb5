//! Which numbers that came are still there, as records or as stubs (CONTRACT 5): counted in portions, and
//! read one by one only where a count is short, so that a look at a million of them costs little more than
//! one count. No SQL here.

use super::chain::{ChainRun, MOST_RUNS, column};
use monitor_model::Span;

/// Numbers of which one answer counts the records, at most; then it goes on with the next one.
pub(super) const MOST_NUMBERS: u64 = 2_000_000;
/// Numbers counted together.
const PORTION: u64 = 4_096;

/// A look at the numbers of one gateway.
pub(super) struct Survey {
    from: u64,
    /// Numbers that came, in portions.
    portions: Vec<Span>,
    /// As far as it goes; None where it sees everything that was asked for.
    until: Option<u64>,
    vanished: Vec<Span>,
}

impl Survey {
    /// Of these runs as far as they lie in what is asked for. `budget` is what the answer has left of
    /// [`MOST_NUMBERS`].
    pub(super) fn of(runs: &[ChainRun], asked: Span, budget: &mut u64) -> Self {
        let mut survey = Self {
            from: asked.from,
            portions: Vec::new(),
            until: None,
            vanished: Vec::new(),
        };
        for run in runs {
            let (mut from, to) = (run.first.max(asked.from), run.last.min(asked.to));
            while from <= to {
                if *budget == 0 {
                    survey.until = Some(from - 1);
                    return survey;
                }
                let end = to.min(from + PORTION.min(*budget) - 1);
                survey.portions.push(Span::new(from, end));
                *budget -= end + 1 - from;
                from = end + 1;
            }
        }
        survey
    }

    /// What is to be counted.
    pub(super) fn portions(&self) -> &[Span] {
        &self.portions
    }

    /// The columns that stubs may have: those from the first to the last number counted.
    pub(super) fn extent(&self) -> (i64, i64) {
        let last = self.portions.last().map_or(self.from, |last| last.to);
        (column(self.from), column(last))
    }

    /// The portions in which records and stubs together are too few.
    pub(super) fn short<'a>(&'a self, counts: &'a [i64], stubs: &'a [Span]) -> Vec<Span> {
        let portions = self.portions.iter().zip(counts);
        let short = portions.filter(|(portion, count)| {
            let stubbed = stubbed(**portion, stubs);
            let stubbed: u64 = stubbed.iter().map(|span| span.to + 1 - span.from).sum();
            count.unsigned_abs() + stubbed < portion.to + 1 - portion.from
        });
        short.map(|(portion, _)| *portion).collect()
    }

    /// Takes in the numbers that records of a portion have, in order; false where it has seen enough.
    pub(super) fn read(&mut self, portion: Span, records: &[i64], stubs: &[Span]) -> bool {
        let records = records.iter().map(|number| number.unsigned_abs());
        let mut there = stubbed(portion, stubs);
        there.extend(records.map(|number| Span::new(number, number)));
        let vanished = Span::without(&[portion], &Span::join(there));
        self.vanished = Span::join([&*self.vanished, &vanished].concat());
        self.vanished.len() <= MOST_RUNS
    }

    /// What vanished, and as far as it was looked for.
    pub(super) fn end(mut self) -> (Vec<Span>, Option<u64>) {
        if let Some(beyond) = self.vanished.get(MOST_RUNS) {
            self.until = Some(beyond.from - 1);
            self.vanished.truncate(MOST_RUNS);
        }
        (self.vanished, self.until)
    }
}

/// The numbers of a portion that stubs have.
fn stubbed(portion: Span, stubs: &[Span]) -> Vec<Span> {
    let first = stubs.partition_point(|stub| stub.to < portion.from);
    let end = stubs.partition_point(|stub| stub.from <= portion.to);
    Span::within(&[portion], &stubs[first..end.max(first)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::ChainHash;

    fn run(first: u64, last: u64) -> ChainRun {
        ChainRun {
            first,
            last,
            previous: ChainHash::default(),
            link: ChainHash::default(),
        }
    }

    /// What a look at these runs says where only these numbers are there.
    fn seen(
        runs: &[ChainRun],
        (records, stubs): (&[Span], &[Span]),
        (asked, budget): (Span, u64),
    ) -> (Vec<Span>, Option<u64>) {
        let mut survey = Survey::of(runs, asked, &mut budget.clone());
        let within = |portion: &Span| -> Vec<i64> {
            let spans = Span::within(&[*portion], records).into_iter();
            spans
                .flat_map(|span| column(span.from)..=column(span.to))
                .collect()
        };
        let counts: Vec<_> = survey
            .portions()
            .iter()
            .map(|one| within(one).len() as i64)
            .collect();
        for portion in survey.short(&counts, stubs) {
            if !survey.read(portion, &within(&portion), stubs) {
                break;
            }
        }
        survey.end()
    }

    #[test]
    fn contract_5_what_came_and_is_neither_record_nor_stub_has_vanished() {
        let runs = [run(1, 10_000), run(20_000, 30_000)];
        let records = [
            Span::new(1, 4_000),
            Span::new(4_200, 10_000),
            Span::new(20_002, 29_999),
        ];
        let stubs = [Span::new(4_001, 4_090), Span::new(20_000, 20_000)];
        let asked = Span::new(1, 30_000);
        let (vanished, until) = seen(&runs, (&records, &stubs), (asked, MOST_NUMBERS));
        let gone = [(4_091, 4_199), (20_001, 20_001), (30_000, 30_000)];
        assert_eq!(vanished, gone.map(|(from, to)| Span::new(from, to)));
        assert_eq!(until, None);
        let part = (Span::new(4_100, 20_000), MOST_NUMBERS);
        let (vanished, until) = seen(&runs, (&records, &stubs), part);
        assert_eq!((vanished, until), (vec![Span::new(4_100, 4_199)], None));
    }

    #[test]
    fn contract_5_a_look_ends_with_its_budget_and_with_its_list() {
        let runs = [run(11, 10_000), run(20_000, 30_000)];
        let asked = Span::new(1, 30_000);
        let (_, until) = seen(&runs, (&[asked], &[]), (asked, 9_990));
        assert_eq!(until, Some(19_999));
        let (_, until) = seen(&runs, (&[asked], &[]), (asked, 5_000));
        assert_eq!(until, Some(5_010));
        let odd: Vec<_> = (0..5_000)
            .map(|n| Span::new(2 * n + 1, 2 * n + 1))
            .collect();
        let all = (Span::new(1, 10_000), MOST_NUMBERS);
        let (vanished, until) = seen(&[run(1, 10_000)], (&odd, &[]), all);
        assert_eq!((vanished.len(), until), (1_000, Some(2_001)));
    }
}
