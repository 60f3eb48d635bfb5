//! One text that grows from event to event, and how far it may be shown (CONTRACT 41). Everything is
//! a function of the text alone: however it was cut into events, the same place is found.
//!
//! The text is judged in blocks, each together with the block before it, so that a label keeps its
//! number however long the text is, and what is kept stays small.

use crate::backend::Inspector;
use monitor_model::PatternSet;
use std::sync::Arc;

/// Length of a block in bytes. A detector looks less than half of it back.
const BLOCK: usize = 1024;
/// A longer text of which nothing is settled is judged as if it ended there.
const MOST_HELD: usize = 64 << 10;
/// Where that is looked at, in bytes of the text, so that no cut into events decides.
const STEP: usize = 1024;

/// What judges a text.
#[derive(Clone)]
pub(super) struct Judge {
    pub(super) inspector: Arc<dyn Inspector>,
    pub(super) patterns: PatternSet,
}

/// A growing text. Places are bytes from its beginning.
#[derive(Default)]
pub(super) struct Tail {
    /// From `base` on.
    text: String,
    base: usize,
    /// Where the first block begins: the beginning, or where the text was last judged as if it ended.
    origin: usize,
    /// The block that is being judged.
    block: usize,
    shown: usize,
    cut: Option<usize>,
}

impl Tail {
    /// One past the last byte so far.
    pub(super) fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// Everything before it may be shown, whatever follows.
    pub(super) fn shown(&self) -> usize {
        self.cut.unwrap_or(self.shown)
    }

    /// Where the first find begins.
    pub(super) fn cut(&self) -> Option<usize> {
        self.cut
    }

    /// Takes more text, unless a find has ended it.
    pub(super) fn push(&mut self, mut more: &str, judge: &Judge) {
        while self.cut.is_none() && self.end() - self.shown + more.len() > MOST_HELD {
            let left = STEP - (self.end() - self.origin) % STEP;
            let taken = ceil_char_boundary(more, left);
            self.text.push_str(&more[..taken]);
            more = &more[taken..];
            self.judge(judge, false);
            if taken >= left && self.end() - self.shown > MOST_HELD {
                self.finish(judge);
            }
            if more.is_empty() {
                return;
            }
        }
        self.text.push_str(more);
        self.judge(judge, false);
    }

    /// Judges what is there as if nothing followed. What follows nevertheless is a new text.
    pub(super) fn finish(&mut self, judge: &Judge) {
        self.judge(judge, true);
        if self.cut.is_none() {
            let end = self.end();
            (self.base, self.origin, self.shown, self.block) = (end, end, end, 0);
            self.text.clear();
        }
    }

    fn judge(&mut self, judge: &Judge, is_final: bool) {
        while self.cut.is_none() {
            let start = self.border(self.block.saturating_sub(1));
            let window = &self.text[start - self.base..];
            let settled = match is_final {
                true => window.len(),
                false => judge.inspector.settled(window, judge.patterns),
            };
            let behind = self.origin + (self.block + 1) * BLOCK;
            let border = (self.end() >= behind).then(|| self.border(self.block + 1));
            let upto = border.map_or(start + settled, |border| border.min(start + settled));
            if upto > self.shown {
                let finds = judge.inspector.find(window, judge.patterns);
                let mut begins = finds.iter().map(|find| start + find.start);
                self.cut = begins.find(|begin| (self.shown..upto).contains(begin));
                self.shown = upto;
            }
            match border {
                Some(border) if upto == border => self.next_block(),
                _ => return,
            }
        }
    }

    fn next_block(&mut self) {
        self.block += 1;
        let start = self.border(self.block - 1);
        self.text.drain(..start - self.base);
        self.base = start;
    }

    /// Where a block begins: on the last character's border that is not behind its place.
    fn border(&self, block: usize) -> usize {
        let place = (self.origin + block * BLOCK).saturating_sub(self.base);
        self.base + self.text.floor_char_boundary(place)
    }
}

fn ceil_char_boundary(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at.min(text.len()))
}
