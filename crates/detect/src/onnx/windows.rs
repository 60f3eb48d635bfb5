//! Splits a text into overlapping windows for a model, so that every word is scored where it has its
//! neighbors.

use std::ops::Range;

/// Tokens of one window, the two that frame it not counted.
pub(super) const WINDOW: usize = 254;
/// Tokens that two windows share.
const OVERLAP: usize = 64;

/// A part of a text that a model is shown at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The tokens it shows.
    pub(super) shown: Range<usize>,
    /// Those of them that it judges: each token is judged once.
    pub(super) judged: Range<usize>,
}

/// The tokens that so many windows show.
pub(super) fn pieces_in(windows: usize) -> usize {
    let further = windows.saturating_sub(1).saturating_mul(WINDOW - OVERLAP);
    further.saturating_add(WINDOW)
}

/// The windows of so many tokens.
pub(super) fn windows(tokens: usize) -> impl Iterator<Item = Window> {
    let starts = (0..tokens).step_by(WINDOW - OVERLAP);
    // The last window is the first that reaches the end.
    let needed = starts.take_while(move |start| *start == 0 || start + OVERLAP < tokens);
    needed.map(move |start| {
        let end = tokens.min(start + WINDOW);
        let half = OVERLAP / 2;
        let first = if start == 0 { 0 } else { start + half };
        let last = if end == tokens { end } else { end - half };
        Window {
            shown: start..end,
            judged: first..last,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_in_windows_is_one_in_tokens() {
        for most in [1, 2, 7] {
            assert_eq!(windows(pieces_in(most)).count(), most);
            assert_eq!(windows(pieces_in(most) + 1).count(), most + 1);
        }
    }

    #[test]
    fn every_token_is_judged_once_and_away_from_a_cut() {
        for tokens in (0..1200).chain([4096, 5000]) {
            let mut next = 0;
            for window in windows(tokens) {
                assert_eq!(window.judged.start, next, "{tokens}");
                assert!(window.shown.len() <= WINDOW && !window.judged.is_empty());
                let cut_before = window.shown.start > 0;
                let cut_behind = window.shown.end < tokens;
                assert!(!cut_before || window.judged.start - window.shown.start >= OVERLAP / 2);
                assert!(!cut_behind || window.shown.end - window.judged.end >= OVERLAP / 2);
                next = window.judged.end;
            }
            assert_eq!(next, tokens);
        }
    }
}
