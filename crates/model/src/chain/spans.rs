//! Spans of whole numbers and what is left of them: sorted lists, ends included. Who counts what by
//! them is `store::chain` and `analysis::chain` (CONTRACT 5).

use serde::Serialize;
use utoipa::ToSchema;

/// Numbers that follow each other, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[schema(as = NumberSpan)]
pub struct Span {
    /// The first number.
    #[schema(minimum = 1)]
    pub from: u64,
    /// Included; one below `from` if there is none.
    pub to: u64,
}

impl Span {
    /// From one number to another.
    pub fn new(from: u64, to: u64) -> Self {
        Self { from, to }
    }

    /// The numbers of all of them, in order and as few spans as will do.
    pub fn join(mut spans: Vec<Self>) -> Vec<Self> {
        spans.sort_unstable();
        let mut joined: Vec<Self> = Vec::with_capacity(spans.len());
        for span in spans.into_iter().filter(|span| span.from <= span.to) {
            match joined.last_mut() {
                Some(last) if span.from <= last.to.saturating_add(1) => {
                    last.to = last.to.max(span.to);
                }
                _ => joined.push(span),
            }
        }
        joined
    }

    /// The numbers of `spans` that `others` have not; both in order.
    pub fn without(spans: &[Self], others: &[Self]) -> Vec<Self> {
        let mut left = Vec::new();
        let mut others = others.iter().peekable();
        for span in spans {
            while others.next_if(|other| other.to < span.from).is_some() {}
            let mut rest = *span;
            // The last one may reach into the next span too.
            let reaching = others.clone().take_while(|other| other.from <= span.to);
            for other in reaching {
                if rest.from < other.from {
                    left.push(Self::new(rest.from, other.from - 1));
                }
                rest.from = rest.from.max(other.to.saturating_add(1));
            }
            if rest.from <= rest.to {
                left.push(rest);
            }
        }
        left
    }

    /// The numbers that both have; both in order.
    pub fn within(spans: &[Self], others: &[Self]) -> Vec<Self> {
        Self::without(spans, &Self::without(spans, others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn spans(numbers: &BTreeSet<u64>) -> Vec<Span> {
        Span::join(numbers.iter().map(|n| Span::new(*n, *n)).collect())
    }

    /// Every number of four bits that is set stands for itself.
    fn set(bits: u64) -> BTreeSet<u64> {
        (0..7).filter(|bit| bits >> bit & 1 == 1).collect()
    }

    #[test]
    fn lists_of_spans_are_sets_of_numbers() {
        for (one, other) in (0..128).flat_map(|one| (0..128).map(move |other| (one, other))) {
            let (one, other) = (set(one), set(other));
            let all = [spans(&one), spans(&other)].concat();
            assert_eq!(Span::join(all), spans(&(&one | &other)));
            let (left, right) = (spans(&one), spans(&other));
            assert_eq!(Span::without(&left, &right), spans(&(&one - &other)));
            assert_eq!(Span::within(&left, &right), spans(&(&one & &other)));
        }
    }
}
