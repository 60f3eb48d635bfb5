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
        self.inspect(detectors, false);
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

    /// Inspects the text as far as its findings are stable, or to its end if `is_final`.
    fn inspect(&mut self, detectors: &Detectors, is_final: bool) {
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

fn ceil_char_boundary(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at.min(text.len()))
}
