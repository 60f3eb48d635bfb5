//! Finds numbers that arrived but have neither a record nor a stub any more (CONTRACT 5). Records are counted
//! in portions; numbers are read one by one only where a count is too low, so that a million numbers cost
//! little more than one count. No SQL here.

use super::runs::column;
use super::{ChainRun, MOST_RUNS, NumberRange};
use monitor_model::Span;

/// The most numbers whose records one answer counts, for all its gateways together.
pub(crate) const MAX_SCANNED: u64 = 2_000_000;
/// Numbers that are counted together.
const PORTION: u64 = 4_096;

/// A scan of one gateway's numbers.
pub(crate) struct GapScan {
    from: u64,
    /// The numbers that arrived, in portions.
    portions: Vec<Span>,
    vanished: Vec<Span>,
    /// The last number that the scan covers; None if it covers everything asked for.
    until: Option<u64>,
}

/// What a scan found.
pub(crate) struct Vanished {
    /// Numbers without a record or a stub, in order.
    pub(crate) spans: Vec<Span>,
    /// The last number that was checked; None if all were.
    pub(crate) looked_until: Option<u64>,
}

impl GapScan {
    /// Plans a scan of the numbers in `asked` that these runs contain. `budget` is what remains of [`MAX_SCANNED`]
    /// for this answer.
    pub(crate) fn plan(runs: &[ChainRun], asked: Span, budget: &mut u64) -> Self {
        let mut scan = Self {
            from: asked.from,
            portions: Vec::new(),
            vanished: Vec::new(),
            until: None,
        };
        for run in runs {
            let (mut from, to) = (run.first.max(asked.from), run.last.min(asked.to));
            while from <= to {
                if *budget == 0 {
                    scan.until = Some(from - 1);
                    return scan;
                }
                let end = to.min(from + PORTION.min(*budget) - 1);
                scan.portions.push(Span::new(from, end));
                *budget -= end + 1 - from;
                from = end + 1;
            }
        }
        scan
    }

    /// The portions whose records have to be counted.
    pub(crate) fn portions(&self) -> &[Span] {
        &self.portions
    }

    /// The range whose stubs have to be read.
    pub(crate) fn range(&self) -> NumberRange {
        let last = self.portions.last().map_or(self.from, |last| last.to);
        NumberRange {
            first: column(self.from),
            last: column(last),
        }
    }

    /// The portions in which records and stubs together are too few.
    pub(crate) fn incomplete<'a>(&'a self, counts: &'a [i64], stubs: &'a [Span]) -> Vec<Span> {
        let portions = self.portions.iter().zip(counts);
        let incomplete = portions.filter(|(portion, count)| {
            let stubbed = stubbed(**portion, stubs);
            let stubbed: u64 = stubbed.iter().map(|span| span.to + 1 - span.from).sum();
            count.unsigned_abs() + stubbed < portion.to + 1 - portion.from
        });
        incomplete.map(|(portion, _)| *portion).collect()
    }

    /// Compares a portion with the numbers that its records have, in order; false once enough was found.
    pub(crate) fn compare(&mut self, portion: Span, records: &[i64], stubs: &[Span]) -> bool {
        let records = records.iter().map(|number| number.unsigned_abs());
        let mut present = stubbed(portion, stubs);
        present.extend(records.map(|number| Span::new(number, number)));
        let vanished = Span::without(&[portion], &Span::join(present));
        self.vanished = Span::join([&*self.vanished, &vanished].concat());
        self.vanished.len() <= MOST_RUNS
    }

    /// What was found, cut to [`MOST_RUNS`] spans.
    pub(crate) fn finish(mut self) -> Vanished {
        if let Some(beyond) = self.vanished.get(MOST_RUNS) {
            self.until = Some(beyond.from - 1);
            self.vanished.truncate(MOST_RUNS);
        }
        Vanished {
            spans: self.vanished,
            looked_until: self.until,
        }
    }
}

/// The numbers of a portion that have stubs.
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

    /// What is present of the numbers that arrived.
    struct Present<'a> {
        records: &'a [Span],
        stubs: &'a [Span],
    }

    /// What a scan of these runs finds if only these numbers are present.
    fn scan(
        runs: &[ChainRun],
        present: &Present<'_>,
        asked: Span,
        mut budget: u64,
    ) -> (Vec<Span>, Option<u64>) {
        let (records, stubs) = (present.records, present.stubs);
        let mut scan = GapScan::plan(runs, asked, &mut budget);
        let within = |portion: &Span| -> Vec<i64> {
            let spans = Span::within(&[*portion], records).into_iter();
            spans
                .flat_map(|span| column(span.from)..=column(span.to))
                .collect()
        };
        let counts: Vec<_> = scan
            .portions()
            .iter()
            .map(|one| within(one).len() as i64)
            .collect();
        for portion in scan.incomplete(&counts, stubs) {
            if !scan.compare(portion, &within(&portion), stubs) {
                break;
            }
        }
        let found = scan.finish();
        (found.spans, found.looked_until)
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
        let present = Present {
            records: &records,
            stubs: &stubs,
        };
        let (vanished, until) = scan(&runs, &present, asked, MAX_SCANNED);
        let gone = [(4_091, 4_199), (20_001, 20_001), (30_000, 30_000)];
        assert_eq!(vanished, gone.map(|(from, to)| Span::new(from, to)));
        assert_eq!(until, None);
        let part = Span::new(4_100, 20_000);
        let (vanished, until) = scan(&runs, &present, part, MAX_SCANNED);
        assert_eq!((vanished, until), (vec![Span::new(4_100, 4_199)], None));
    }

    #[test]
    fn contract_5_a_look_ends_with_its_budget_and_with_its_list() {
        let runs = [run(11, 10_000), run(20_000, 30_000)];
        let asked = Span::new(1, 30_000);
        let present = Present {
            records: &[asked],
            stubs: &[],
        };
        let (_, until) = scan(&runs, &present, asked, 9_990);
        assert_eq!(until, Some(19_999));
        let (_, until) = scan(&runs, &present, asked, 5_000);
        assert_eq!(until, Some(5_010));
        let odd: Vec<_> = (0..5_000)
            .map(|n| Span::new(2 * n + 1, 2 * n + 1))
            .collect();
        let present = Present {
            records: &odd,
            stubs: &[],
        };
        let all = Span::new(1, 10_000);
        let (vanished, until) = scan(&[run(1, 10_000)], &present, all, MAX_SCANNED);
        assert_eq!((vanished.len(), until), (1_000, Some(2_001)));
    }
}
