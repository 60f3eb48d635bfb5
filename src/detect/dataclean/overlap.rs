//! One winner per place (CONTRACT 25): check digits, then context, then length. Two detectors never
//! both count the same characters.

use super::Span;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Keeps the winners, sorted by place. O(n log n).
pub(super) fn resolve(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| span.start < span.end);
    // The name breaks the last tie, so that the answer does not hang on the order of the rules.
    spans.sort_by_key(|s| (Reverse((s.strength, s.end - s.start)), s.start, s.kind));
    let mut kept: BTreeMap<usize, Span> = BTreeMap::new();
    for span in spans {
        let left = kept.range(..span.end).next_back();
        if left.is_none_or(|(_, other)| other.end <= span.start) {
            kept.insert(span.start, span);
        }
    }
    kept.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::super::{PatternName, Strength};
    use super::*;

    fn span(kind: PatternName, start: usize, end: usize, strength: Strength) -> Span {
        Span {
            kind,
            start,
            end,
            strength,
        }
    }

    #[test]
    fn check_digits_beat_context_and_context_beats_length() {
        let checked = span(PatternName::Inn, 5, 8, Strength::CheckDigits);
        let named = span(PatternName::PhoneNumber, 7, 12, Strength::Context);
        let long = span(PatternName::Emails, 0, 30, Strength::Form);
        assert_eq!(resolve(vec![long, named, checked]), [checked]);
        assert_eq!(resolve(vec![long, named]), [named]);
    }

    #[test]
    fn the_longer_of_two_equals_stands_and_neighbours_both_stand() {
        let short = span(PatternName::Ip, 8, 12, Strength::Form);
        let long = span(PatternName::Ip, 0, 12, Strength::Form);
        let next = span(PatternName::Ip, 12, 14, Strength::Form);
        assert_eq!(resolve(vec![next, short, long]), [long, next]);
    }
}
