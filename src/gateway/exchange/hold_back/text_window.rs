//! One text that grows from event to event, and how far the client may see it (CONTRACT 41). The result is a
//! function of the text alone: however the text is split into events, a finding is at the same place.
//!
//! The text is inspected in blocks, each together with the block before it, so that a label near a block's
//! start still applies to its value, and little text is kept.

use crate::gateway::inspector::Inspector;
use monitor_model::PatternSet;
use std::sync::Arc;

/// The length of a block in bytes. Detectors look back less than half of it.
const BLOCK: usize = 1024;
/// Held text beyond this size is inspected as if the text ended there.
const MOST_HELD: usize = 64 << 10;
/// The size of held text is compared at multiples of this many bytes of the text, so that the limits of
/// events do not influence the result.
const STEP: usize = 1024;

/// So many bytes of digits, and of what stands between them, are a row of numbers, which takes long to inspect.
const ROW: usize = 24;
/// A row that goes on is inspected after so many further bytes, or once it ends.
const ROW_STEP: usize = 64;
/// The same in parts of what is held.
const ROW_PARTS: usize = 8;

/// The detectors that inspect a text.
#[derive(Clone)]
pub(crate) struct Detectors {
    pub(crate) inspector: Arc<dyn Inspector>,
    pub(crate) patterns: PatternSet,
}

/// The last part of a growing text. Positions are bytes from the beginning of the text.
#[derive(Clone, Default)]
pub(super) struct TextWindow {
    /// The text from `base` on.
    text: String,
    base: usize,
    /// The start of the first block: that of the text, or where it was last inspected as if it ended.
    origin: usize,
    /// The index of the block that is being inspected.
    block: usize,
    /// The bytes at the end that no inspection has seen.
    unseen: usize,
    visible: usize,
    finding: Option<usize>,
}

impl TextWindow {
    /// The length of the text so far.
    pub(super) fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// The client may see the text up to here, whatever follows.
    pub(super) fn visible(&self) -> usize {
        self.finding.unwrap_or(self.visible)
    }

    /// The start of the first finding.
    pub(super) fn finding(&self) -> Option<usize> {
        self.finding
    }

    /// Appends text, unless a finding has ended it.
    pub(super) fn push(&mut self, mut more: &str, detectors: &Detectors) {
        while self.finding.is_none() && self.end() - self.visible + more.len() > MOST_HELD {
            let left = STEP - (self.end() - self.origin) % STEP;
            let taken = ceil_char_boundary(more, left);
            self.text.push_str(&more[..taken]);
            more = &more[taken..];
            self.inspect(detectors, false);
            if taken >= left && self.end() - self.visible > MOST_HELD {
                self.finish(detectors);
            }
            if more.is_empty() {
                return;
            }
        }
        self.text.push_str(more);
        self.unseen += more.len();
        if !self.is_inside_row(more) {
            self.inspect(detectors, false);
        }
    }

    /// Whether the text goes on inside a row of numbers and little of it is new. Nothing is shown that was not inspected.
    fn is_inside_row(&self, more: &str) -> bool {
        let held = self.end() - self.visible;
        let row = || self.text.bytes().rev().take(ROW);
        self.unseen < ROW_STEP.max(held / ROW_PARTS)
            && more.bytes().all(is_of_row)
            && self.text.len() >= ROW
            && row().all(is_of_row)
            && row().any(|byte| byte.is_ascii_digit())
    }

    /// Inspects the text as if it ended here. Text that follows nevertheless is treated as a new one.
    pub(super) fn finish(&mut self, detectors: &Detectors) {
        self.inspect(detectors, true);
        if self.finding.is_none() {
            let end = self.end();
            (self.base, self.origin, self.visible, self.block) = (end, end, end, 0);
            self.text.clear();
        }
    }

    /// Inspects the text as if it ended here, and shows it. Text that follows nevertheless continues it: a finding
    /// that reaches into what follows ends the stream there.
    pub(super) fn settle(&mut self, detectors: &Detectors) {
        if self.visible < self.end() {
            self.inspect(detectors, true);
        }
    }

    /// Inspects the text as if it ended here, without showing more of it: not all clients
    /// read what follows.
    pub(super) fn probe(&mut self, detectors: &Detectors) {
        let mut ended = self.clone();
        ended.settle(detectors);
        if ended.finding.is_some() {
            *self = ended;
        }
    }

    /// Inspects the text as far as its findings are stable, or to its end if `is_final`.
    fn inspect(&mut self, detectors: &Detectors, is_final: bool) {
        self.unseen = 0;
        while self.finding.is_none() {
            let start = self.block_start(self.block.saturating_sub(1));
            let window = &self.text[start - self.base..];
            let stable = match is_final {
                true => window.len(),
                false => detectors.inspector.stable_until(window, detectors.patterns),
            };
            let behind = self.origin + (self.block + 1) * BLOCK;
            let block_end = (self.end() >= behind).then(|| self.block_start(self.block + 1));
            let upto = block_end.map_or(start + stable, |end| end.min(start + stable));
            if upto > self.visible {
                let finds = detectors.inspector.find(window, &[], detectors.patterns);
                // None spans what is visible, unless the text was settled there.
                let mut finds = finds.iter();
                let new = finds.find(|find| start + find.end > self.visible);
                let begin = new.map(|find| (start + find.start).max(self.visible));
                self.finding = begin.filter(|begin| *begin < upto);
                self.visible = upto;
            }
            match block_end {
                Some(end) if upto == end => self.next_block(),
                _ => return,
            }
        }
    }

    fn next_block(&mut self) {
        self.block += 1;
        let start = self.block_start(self.block - 1);
        self.text.drain(..start - self.base);
        self.base = start;
    }

    /// The start of a block, rounded down to a character boundary.
    fn block_start(&self, block: usize) -> usize {
        let place = (self.origin + block * BLOCK).saturating_sub(self.base);
        self.base + self.text.floor_char_boundary(place)
    }
}

/// Whether a byte may stand in a row of numbers.
fn is_of_row(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b' ' | b'\n' | b',' | b'.' | b'-' | b'|' | b'/')
}

fn ceil_char_boundary(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::{Detectors, TextWindow};
    use crate::gateway::exchange::hold_back::tests::detectors;
    use crate::gateway::inspector::{Find, Inspector};
    use monitor_model::PatternSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const NUMBER: &str = "4111 1111 1111 1111";

    /// Finds that number, and counts how often it is asked how far a text is settled: up to the digits at its end.
    struct Rows(Arc<AtomicUsize>);

    impl Inspector for Rows {
        fn find(&self, text: &str, _: &[usize], _: PatternSet) -> Vec<Find> {
            let find = |(start, number): (usize, &str)| Find {
                start,
                end: start + number.len(),
                kind: "BANK_CARD_NUMBER",
            };
            text.match_indices(NUMBER).map(find).collect()
        }

        fn finds_across(&self, _: &str, _: &[usize]) -> bool {
            true
        }

        fn stable_until(&self, text: &str, _: PatternSet) -> usize {
            self.0.fetch_add(1, Ordering::Relaxed);
            text.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ')
                .len()
        }
    }

    /// Where the finding is in a text that comes in pieces of this size, whether ever more was shown, and how often
    /// it was inspected.
    fn found(text: &str, size: usize) -> (Option<usize>, bool, usize) {
        let asked = Arc::new(AtomicUsize::new(0));
        let detectors: Detectors = detectors(Rows(asked.clone()));
        let (mut window, mut shows_more) = (TextWindow::default(), false);
        for piece in text.as_bytes().chunks(size) {
            window.push(&String::from_utf8_lossy(piece), &detectors);
            shows_more |= Some(window.visible()) > text.find(NUMBER);
        }
        window.finish(&detectors);
        (window.finding(), shows_more, asked.load(Ordering::Relaxed))
    }

    #[test]
    fn a_row_of_numbers_is_inspected_now_and_then_and_at_its_end() {
        let row = "1 2 3 4 ".repeat(500);
        for (text, is_row) in [
            (format!("{row}and {NUMBER} and more"), true),
            (format!("{row}{NUMBER}"), true),
            (format!("{row}and {NUMBER}"), true),
            (format!("so {NUMBER} and {row}"), false),
        ] {
            for size in [1, 3, 8, 50, 5_000] {
                let (finding, shows_more, asked) = found(&text, size);
                assert_eq!(finding, text.find(NUMBER), "{size}");
                assert!(!shows_more, "{size}");
                assert!(!is_row || asked <= 160, "{size}: {asked}");
            }
        }
    }
}
