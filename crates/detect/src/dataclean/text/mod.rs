//! A message, as the detectors see it: the original text and the positions of its digits, found in one
//! pass, so that a text without digits costs the number detectors nothing.

mod columns;
pub(crate) mod cue;
pub(crate) mod inline;
pub(crate) mod labels;
pub(crate) mod number_chain;

use super::mentions::Mentions;
use super::span::Span;
use super::tagger;
use crate::chars::{is_dash, is_word_char};
use columns::{Columns, TableCell};
use cue::{Cue, Label};
use inline::InlineDigits;
use std::cell::{Cell, OnceCell};
use std::ops::Range;

/// A run of ASCII digits, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Run {
    /// Digits in it.
    pub(crate) fn digits(self) -> usize {
        self.end - self.start
    }
}

/// What a detector cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// It may find something in any text.
    Nothing,
    /// At least one ASCII digit.
    Digit,
    /// At least one `@`.
    At,
    /// At least one dot.
    Dot,
    /// A dot and digits, or a colon.
    DotOrColon,
}

/// A message under analysis.
pub struct Text<'a> {
    original: &'a str,
    runs: Vec<Run>,
    marks: u8,
    /// Labels that were looked up: several detectors ask about the same number.
    cues: OnceCell<Vec<Cell<Known>>>,
    columns: OnceCell<Columns>,
    mentions: OnceCell<Mentions>,
    tagged: OnceCell<Vec<Span>>,
    #[cfg(feature = "onnx")]
    modelled: OnceCell<ModelFinds>,
}

/// What a model from a folder finds in a text.
#[cfg(feature = "onnx")]
pub(crate) struct ModelFinds {
    pub(crate) spans: Vec<Span>,
    /// Why there may be more finds than these.
    pub(crate) failure: Option<String>,
}

/// A place and the label before it.
type Known = (usize, Option<Cue>);

/// Places for labels that were looked up: at least two for each number, and at most so many. A label
/// that lost its place is looked up again.
const MOST_CUES: usize = 1 << 16;

/// Bits of `marks`.
const DIGIT: u8 = 1;
const AT: u8 = 2;
const DOT: u8 = 4;
const COLON: u8 = 8;

impl<'a> Text<'a> {
    /// Finds the digits of a message.
    pub fn new(original: &'a str) -> Self {
        let (runs, marks) = scan(original.as_bytes());
        Self {
            original,
            runs,
            marks,
            cues: OnceCell::new(),
            columns: OnceCell::new(),
            mentions: OnceCell::new(),
            tagged: OnceCell::new(),
            #[cfg(feature = "onnx")]
            modelled: OnceCell::new(),
        }
    }

    /// Whether a detector with such needs can find anything.
    pub(crate) fn holds(&self, needs: Needs) -> bool {
        let holds = |bits| self.marks & bits != 0;
        match needs {
            Needs::Nothing => true,
            Needs::Digit => holds(DIGIT),
            Needs::At => holds(AT),
            Needs::Dot => holds(DOT),
            Needs::DotOrColon => holds(COLON) || holds(DOT) && holds(DIGIT),
        }
    }

    /// The message, untouched. Spans are byte offsets into it.
    pub fn original(&self) -> &'a str {
        self.original
    }

    /// All runs of ASCII digits.
    #[inline]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Its amounts, dates and durations, read at the first call.
    pub(crate) fn mentions(&self) -> &Mentions {
        self.mentions.get_or_init(|| Mentions::of(self.original))
    }

    /// The finds of the tagger, made by the first detector that asks.
    pub(crate) fn tagged(&self) -> &[Span] {
        self.tagged.get_or_init(|| tagger::find(self.original))
    }

    /// What a model finds; read by the first of its detectors that asks.
    #[cfg(feature = "onnx")]
    pub(crate) fn modelled(&self, read: impl FnOnce(&str) -> ModelFinds) -> &ModelFinds {
        self.modelled.get_or_init(|| read(self.original))
    }

    /// The places of numbers of one run or several, from the left. `last_run` gives the last run of the number that
    /// begins with a run, if one does; it is asked about each run that belongs to no number yet.
    pub(crate) fn numbers_by(
        &self,
        mut last_run: impl FnMut(usize, Run) -> Option<usize>,
    ) -> impl Iterator<Item = Range<usize>> {
        let mut next = 0;
        std::iter::from_fn(move || {
            while let Some(run) = self.runs.get(next).copied() {
                let last = last_run(next, run);
                next = last.unwrap_or(next) + 1;
                if let Some(last) = last {
                    return Some(run.start..self.runs[last].end);
                }
            }
            None
        })
    }

    /// What stands between run `left` and the next one; None after the last.
    #[inline]
    pub(crate) fn gap(&self, left: usize) -> Option<&'a str> {
        let next = self.runs.get(left + 1)?;
        Some(&self.original[self.runs[left].end..next.start])
    }

    /// The character before a byte offset.
    #[inline]
    pub(crate) fn before(&self, at: usize) -> Option<char> {
        self.original[..at].chars().next_back()
    }

    /// The character at a byte offset.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> Option<char> {
        self.original[at..].chars().next()
    }

    /// Digit values of runs that stand side by side.
    pub(crate) fn values(&self, runs: &[Run]) -> InlineDigits {
        let mut digits = InlineDigits::default();
        for run in runs {
            let bytes = &self.original.as_bytes()[run.start..run.end];
            digits.extend(bytes.iter().map(|byte| byte - b'0'));
        }
        digits
    }

    /// The nearest label before a number.
    pub(crate) fn cue_before(&self, at: usize) -> Option<Cue> {
        const NOWHERE: Known = (usize::MAX, None);
        let slots = self.cues.get_or_init(|| {
            let count = (2 * self.runs.len()).next_power_of_two().min(MOST_CUES);
            vec![Cell::new(NOWHERE); count]
        });
        let slot = &slots[spread(at) % slots.len()];
        let (place, known) = slot.get();
        if place == at {
            return known;
        }
        let cell = self.table_cell(at);
        let column = cell.as_ref().and_then(|cell| Cue::of_column(cell.header));
        // Labels of other columns stand above.
        let row = cell
            .filter(|cell| cell.is_certain)
            .map_or(0, |cell| cell.row);
        let cue = column.or_else(|| cue::before(&self.original[row..], at - row));
        slot.set((at, cue));
        cue
    }

    /// The cell of a table that begins with a value.
    pub(crate) fn table_cell(&self, at: usize) -> Option<TableCell<'a>> {
        let columns = self.columns.get_or_init(|| Columns::of(self.original));
        let value = self.original.as_bytes()[at..].iter();
        let length = value
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        columns.cell(self.original, at, at + length)
    }

    /// Whether a label of this kind names the number that ends here: "7752601811 (ИНН)".
    pub(crate) fn labelled_after(&self, end: usize, label: Label) -> bool {
        cue::after(self.original, end).is_some_and(|cue| cue.has(label))
    }

    /// Whether a number stands on its own, not inside an identifier, a decimal, a file name or an
    /// e-mail address. A label of its own kind may be glued to its front.
    pub(crate) fn isolated(&self, start: usize, end: usize, own: Label) -> bool {
        self.free_before(start, own) && self.free_after(end)
    }

    /// A number in a path or a query is somebody's key, unless a label says otherwise.
    pub(crate) fn is_key(&self, start: usize) -> bool {
        matches!(self.before(start), Some('/' | '=' | '&' | '#'))
    }

    /// The left half of [`Text::isolated`].
    pub(crate) fn free_before(&self, start: usize, own: Label) -> bool {
        let Some(c) = self.before(start) else {
            return true;
        };
        let outer = self.before(start - c.len_utf8());
        match c {
            '@' | '+' | '%' | '$' | '€' | '£' => false,
            '.' => !outer.is_some_and(|c| c.is_ascii_digit()),
            '/' if outer.is_some_and(|c| c.is_ascii_digit()) => true,
            '/' | '\\' | '_' => glued_to(&self.original[..start - c.len_utf8()], own),
            _ if is_dash(c) => glued_to(&self.original[..start - c.len_utf8()], own),
            _ if is_word_char(c) => cue::ends_with_label(&self.original[..start], own),
            _ => true,
        }
    }

    /// The right half of [`Text::isolated`].
    pub(crate) fn free_after(&self, end: usize) -> bool {
        let Some(c) = self.at(end) else {
            return true;
        };
        let outer = self.at(end + c.len_utf8());
        match c {
            '@' | '%' | '_' => false,
            '.' => !outer.is_some_and(|c| c.is_ascii_digit() || c.is_ascii_lowercase()),
            _ if is_dash(c) => !outer.is_some_and(|c| c.is_ascii_alphanumeric()),
            _ => !is_word_char(c),
        }
    }

    /// Whether more text is needed to tell [`Text::free_after`].
    pub(crate) fn is_edge(&self, end: usize) -> bool {
        let mut behind = self.original[end..].chars();
        let signs = |c: char| c == '.' || is_dash(c);
        behind.next().is_none_or(signs) && behind.next().is_none()
    }
}

/// Numbers stand at even distances in tables; their places should not.
fn spread(at: usize) -> usize {
    at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// A dash or slash may follow a label of the number's own kind or nothing at all.
fn glued_to(head: &str, own: Label) -> bool {
    !head.ends_with(is_word_char) || cue::ends_with_label(head, own)
}

/// The runs of digits, and which of the characters that detectors need there are.
fn scan(bytes: &[u8]) -> (Vec<Run>, u8) {
    const BLOCK: usize = 32;
    let (mut runs, mut marks) = (Vec::new(), 0);
    // Where a run began that has not ended.
    let mut open = None;
    let mut at = 0;
    while at < bytes.len() {
        // Branch-free over a block, so that the compiler turns it into vector instructions.
        let block = &bytes[at..bytes.len().min(at + BLOCK)];
        let found = block.iter().fold(0, |found, byte| found | mark(*byte));
        marks |= found;
        if found & DIGIT == 0 {
            runs.extend(open.take().map(|start| Run { start, end: at }));
            at += BLOCK;
            continue;
        }
        for (place, byte) in (at..).zip(block) {
            match (byte.is_ascii_digit(), open) {
                (true, None) => open = Some(place),
                (false, Some(start)) => {
                    runs.push(Run { start, end: place });
                    open = None;
                }
                _ => {}
            }
        }
        at += BLOCK;
    }
    if let Some(start) = open {
        let end = bytes.len();
        runs.push(Run { start, end });
    }
    (runs, marks)
}

fn mark(byte: u8) -> u8 {
    let bit = |is: bool, bit: u8| u8::from(is) * bit;
    bit(byte.is_ascii_digit(), DIGIT)
        | bit(byte == b'@', AT)
        | bit(byte == b'.', DOT)
        | bit(byte == b':', COLON)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of parts without one of these signs are left out, since no detector finds anything in them.
    #[test]
    fn what_a_detector_needs_are_the_marks_between_parts() {
        for byte in 0..128_u8 {
            let c = char::from(byte);
            assert_eq!(mark(byte) != 0, crate::chars::is_mark(c), "{c:?}");
        }
    }

    #[test]
    fn runs_cross_block_borders_whole() {
        for lead in 0..70 {
            let text = format!("{}1234567 x 8", "а".repeat(lead));
            let expected = [
                Run {
                    start: lead * 2,
                    end: lead * 2 + 7,
                },
                Run {
                    start: lead * 2 + 10,
                    end: lead * 2 + 11,
                },
            ];
            assert_eq!(Text::new(&text).runs(), expected);
        }
    }

    #[test]
    fn a_number_inside_something_longer_does_not_stand_alone() {
        for (text, alone) in [
            ("7752601811", true),
            ("(7752601811).", true),
            ("ИНН7752601811", true),
            ("inn-7752601811", true),
            ("A7752601811", false),
            ("ord-7752601811", false),
            ("0.7752601811", false),
            ("7752601811.pdf", false),
            ("7752601811@mail.ru", false),
            ("7752601811-1", false),
            ("$7752601811", false),
            ("7752601811й", false),
        ] {
            let seen = Text::new(text);
            let run = seen.runs().iter().copied().find(|run| run.digits() == 10);
            let run = run.unwrap_or(Run { start: 0, end: 0 });
            assert_eq!(
                seen.isolated(run.start, run.end, Label::Inn),
                alone,
                "{text}"
            );
        }
    }
}
