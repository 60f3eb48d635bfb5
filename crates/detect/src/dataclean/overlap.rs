//! Resolves overlaps (CONTRACT 25): check digits win, first those that a word confirms, then context, then form, then
//! length. No character belongs to two finds. A custom pattern ranks like correct check digits.

use super::Span;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Keeps the winners, sorted by place. O(n log n).
pub(super) fn resolve<K: Copy + Ord>(mut spans: Vec<Span<K>>) -> Vec<Span<K>> {
    spans.retain(|span| span.start < span.end);
    spans.sort_unstable_by_key(|span| span.start);
    // In place: no more are kept than have been read.
    let (mut kept, mut first) = (0, 0);
    while let Some(span) = spans.get(first).copied() {
        // What nothing reaches across parts the finds into heaps that know nothing of each other.
        let (mut end, mut next) = (span.end, first + 1);
        while let Some(other) = spans.get(next).filter(|other| other.start < end) {
            end = end.max(other.end);
            next += 1;
        }
        if next == first + 1 {
            spans[kept] = span;
            kept += 1;
        } else {
            for winner in winners(&mut spans[first..next]).into_values() {
                spans[kept] = winner;
                kept += 1;
            }
        }
        first = next;
    }
    spans.truncate(kept);
    spans
}

/// The winners among finds that stand together, by their place.
fn winners<K: Copy + Ord>(spans: &mut [Span<K>]) -> BTreeMap<usize, Span<K>> {
    // The name breaks the last tie, so that the answer does not hang on the order of the rules.
    spans.sort_by_key(|s| (Reverse((s.strength, s.end - s.start)), s.start, s.kind));
    let mut kept: BTreeMap<usize, Span<K>> = BTreeMap::new();
    for span in spans.iter().copied() {
        let left = kept.range(..span.end).next_back();
        if left.is_none_or(|(_, other)| other.end <= span.start) {
            kept.insert(span.start, span);
        }
    }
    kept
}

/// Takes out the finds that are allowed, and with each those that lie inside it: an address that may
/// be shown may be shown with its host. O(n log n).
pub(super) fn except<K: Copy>(
    spans: Vec<Span<K>>,
    is_allowed: impl FnMut(&Span<K>) -> bool,
) -> Vec<Span<K>> {
    let (mut allowed, mut rest): (Vec<_>, Vec<_>) = spans.into_iter().partition(is_allowed);
    allowed.sort_by_key(|span| span.start);
    // From here on, `end` is the furthest of all that begin at this place or before it.
    let mut furthest = 0;
    for span in &mut allowed {
        furthest = furthest.max(span.end);
        span.end = furthest;
    }
    rest.retain(|span| {
        let before = allowed.partition_point(|other| other.start <= span.start);
        let reach = allowed[..before].last().map_or(0, |other| other.end);
        span.end > reach
    });
    rest
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
    fn what_has_a_form_is_no_name_that_somebody_reads_into_it() {
        let read = span(PatternName::Company, 0, 30, Strength::Reading);
        let host = span(PatternName::Domain, 5, 15, Strength::Form);
        assert_eq!(resolve(vec![read, host]), [host]);
    }

    #[test]
    fn an_allowed_find_goes_with_everything_inside_it() {
        let allowed = span(PatternName::Emails, 0, 20, Strength::Form);
        let inside = span(PatternName::Domain, 8, 20, Strength::Form);
        let across = span(PatternName::Ip, 15, 25, Strength::Form);
        let is_allowed = |span: &Span| span.kind == PatternName::Emails;
        assert_eq!(except(vec![inside, across, allowed], is_allowed), [across]);
    }

    #[test]
    fn a_find_of_no_characters_is_none() {
        let empty = span(PatternName::Ip, 3, 3, Strength::CheckDigits);
        let find = span(PatternName::Ip, 0, 5, Strength::Form);
        assert_eq!(resolve(vec![empty, find]), [find]);
        assert_eq!(resolve(vec![empty]), []);
    }

    #[test]
    fn the_longer_of_two_equals_stands_and_neighbours_both_stand() {
        let short = span(PatternName::Ip, 8, 12, Strength::Form);
        let long = span(PatternName::Ip, 0, 12, Strength::Form);
        let next = span(PatternName::Ip, 12, 14, Strength::Form);
        assert_eq!(resolve(vec![next, short, long]), [long, next]);
    }
}
