//! A text of a stream in the forms in which a client may read it: as it comes, and for the arguments of a call with
//! the escapes of their JSON written out, and their numbers as readers show them. Each form is followed by a window of
//! its own.

use super::text_window::{Detectors, TextWindow};
use super::unseen_run::UnseenRun;
use monitor_wire::json::{ArgumentNumbers, ArgumentsDecoder};
use monitor_wire::sse::pieces::Piece;
use std::ops::Range;

/// A text that grows from event to event.
#[derive(Default)]
pub(super) struct GrowingText {
    as_it_comes: TextWindow,
    unseen: UnseenRun,
    /// Present from the first escape on: before it, both forms are the same.
    decoded: Option<DecodedText>,
    /// Present in arguments.
    numbers: Option<NumbersText>,
}

struct DecodedText {
    decoder: ArgumentsDecoder,
    window: TextWindow,
    unseen: UnseenRun,
}

/// The numbers that are not written as readers show them, each on a line of its own.
#[derive(Clone, Default)]
struct NumbersText {
    numbers: ArgumentNumbers,
    window: TextWindow,
    /// A number has begun that was not inspected.
    is_pending: bool,
    lines: usize,
    /// Those before the first finding.
    passed: usize,
}

impl NumbersText {
    /// Reads a piece; how many lines have to pass before the client may see it.
    fn push(&mut self, piece: &str, detectors: &Detectors) -> usize {
        let lines = self.numbers.push(piece);
        self.inspect(&lines, detectors);
        self.is_pending = self.numbers.is_inside_number();
        self.lines + usize::from(self.is_pending)
    }

    /// Inspects the number that has begun as if it ended here. Digits that follow nevertheless continue it.
    fn settle(&mut self, detectors: &Detectors) {
        if std::mem::take(&mut self.is_pending) {
            let lines = self.numbers.clone().finish();
            self.inspect(&lines, detectors);
        }
    }

    /// Nothing that follows continues a line. All lines are inspected together: one event may have 100,000.
    fn inspect(&mut self, lines: &str, detectors: &Detectors) {
        let start = self.window.end();
        let (mut text, mut ends) = (String::new(), Vec::new());
        for line in lines.split_inclusive('\n') {
            if line.len() > 1 {
                text.push_str(line);
            }
            ends.push(start + text.len());
        }
        if !text.is_empty() {
            self.window.push(&text, detectors);
            self.window.settle(detectors);
        }
        let found = self.window.finding().unwrap_or(usize::MAX);
        self.lines += ends.len();
        self.passed += ends.iter().filter(|end| **end <= found).count();
    }
}

/// Where a piece stands in the inspected forms of its text, and where its escapes end.
pub(super) struct PieceSpan {
    as_it_comes: Range<usize>,
    /// What stood before it.
    unseen: UnseenRun,
    decoded_end: Option<usize>,
    /// How many lines of numbers have to pass before the client may see it.
    number_lines: Option<usize>,
}

impl GrowingText {
    /// Appends a piece.
    pub(super) fn push(&mut self, piece: &Piece, detectors: &Detectors) -> PieceSpan {
        if self.decoded.is_none() && piece.is_arguments && piece.text.contains('\\') {
            self.decoded = Some(DecodedText {
                decoder: ArgumentsDecoder::default(),
                window: self.as_it_comes.clone(),
                unseen: self.unseen,
            });
        }
        let decoded_end = self.decoded.as_mut().map(|decoded| {
            let text = decoded.decoder.push(&piece.text);
            let text = decoded.unseen.inspected(&text);
            decoded.window.push(&text, detectors);
            // An escape that has begun stands for one byte at least.
            decoded.window.end() + usize::from(decoded.decoder.is_inside_escape())
        });
        if piece.is_arguments {
            self.numbers.get_or_insert_default();
        }
        let numbers = self.numbers.as_mut();
        let number_lines = numbers.map(|numbers| numbers.push(&piece.text, detectors));
        let (start, unseen) = (self.as_it_comes.end(), self.unseen);
        let text = self.unseen.inspected(&piece.text);
        self.as_it_comes.push(&text, detectors);
        PieceSpan {
            unseen,
            as_it_comes: start..self.as_it_comes.end(),
            decoded_end,
            number_lines,
        }
    }

    /// Inspects the text as if it ended here. Text that follows nevertheless is treated as a new one.
    pub(super) fn finish(&mut self, detectors: &Detectors) {
        self.as_it_comes.finish(detectors);
        if let Some(DecodedText {
            decoder,
            window,
            unseen,
        }) = &mut self.decoded
        {
            window.push(&unseen.inspected(&decoder.finish()), detectors);
            window.finish(detectors);
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.settle(detectors);
            numbers.numbers.finish();
            numbers.window.finish(detectors);
        }
    }

    /// Inspects the text as if it ended here, and shows it, but for an escape that has begun. Text that follows
    /// nevertheless continues it.
    pub(super) fn settle(&mut self, detectors: &Detectors) {
        self.as_it_comes.settle(detectors);
        if let Some(decoded) = &mut self.decoded {
            decoded.window.settle(detectors);
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.settle(detectors);
        }
    }

    /// Inspects the text as if it ended here, without showing more of it.
    pub(super) fn probe(&mut self, detectors: &Detectors) {
        self.as_it_comes.probe(detectors);
        if let Some(decoded) = &mut self.decoded {
            decoded.window.probe(detectors);
        }
        if let Some(numbers) = self.numbers.as_mut().filter(|it| it.is_pending) {
            let mut ended = numbers.clone();
            ended.settle(detectors);
            if ended.window.finding().is_some() {
                *numbers = ended;
            }
        }
    }

    /// Whether it ends, in any form, inside a long run of characters that no reader shows.
    pub(super) fn is_inside_unseen_run(&self) -> bool {
        let decoded = self.decoded.as_ref();
        self.unseen.is_long() || decoded.is_some_and(|decoded| decoded.unseen.is_long())
    }

    /// Whether there is a finding in any form.
    pub(super) fn has_finding(&self) -> bool {
        let decoded = self.decoded.iter().map(|decoded| &decoded.window);
        let numbers = self.numbers.iter().map(|numbers| &numbers.window);
        let mut windows = decoded.chain(numbers).chain([&self.as_it_comes]);
        windows.any(|window| window.finding().is_some())
    }

    /// Whether a finding begins before the end of a piece.
    pub(super) fn is_found_in(&self, piece: &PieceSpan) -> bool {
        let begins = |window: &TextWindow, end| window.finding().is_some_and(|at| at < end);
        let decoded = self.decoded_of(piece);
        let numbers = self.numbers_of(piece);
        begins(&self.as_it_comes, piece.as_it_comes.end)
            || decoded.is_some_and(|(window, end)| begins(window, end))
            || numbers.is_some_and(|(numbers, lines)| {
                numbers.window.finding().is_some() && numbers.passed < lines
            })
    }

    /// How many bytes of a piece the client may see. Where a finding may begin in another form than it comes in, none.
    pub(super) fn visible(&self, piece: &PieceSpan, text: &str) -> usize {
        let Range { start, end } = piece.as_it_comes;
        match self.is_visible_otherwise(piece) {
            false => 0,
            true => {
                let visible = self.as_it_comes.visible().clamp(start, end) - start;
                piece.unseen.bytes(text, visible)
            }
        }
    }

    /// Whether the client may see all of a piece.
    pub(super) fn is_visible(&self, piece: &PieceSpan) -> bool {
        piece.as_it_comes.end <= self.as_it_comes.visible() && self.is_visible_otherwise(piece)
    }

    /// Whether the client may see a piece in the other forms.
    fn is_visible_otherwise(&self, piece: &PieceSpan) -> bool {
        let decoded = self.decoded_of(piece);
        let numbers = self.numbers_of(piece);
        decoded.is_none_or(|(window, end)| end <= window.visible())
            && numbers.is_none_or(|(numbers, lines)| lines <= numbers.passed)
    }

    fn decoded_of(&self, piece: &PieceSpan) -> Option<(&TextWindow, usize)> {
        Some((&self.decoded.as_ref()?.window, piece.decoded_end?))
    }

    fn numbers_of(&self, piece: &PieceSpan) -> Option<(&NumbersText, usize)> {
        Some((self.numbers.as_ref()?, piece.number_lines?))
    }
}
