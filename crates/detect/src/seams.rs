//! The text on both sides of the places where a message was put together (its part breaks) or is read in
//! portions, as it reads without them and without what nobody sees. A value is found across such a place
//! however many invisible characters or empty parts lie within it: the context is counted in what can be
//! seen. One pass; memory depends on the portion.

use crate::confusables::{Reading, reading, suspicious};
use crate::message::{CONTEXT, Message, PORTION, portions};
use std::ops::Range;

/// What stands side by side in both texts.
struct Piece {
    joined: usize,
    original: usize,
}

/// A place where something was left out or may have been cut.
#[derive(Clone, Copy)]
struct Seam {
    at: usize,
    is_break: bool,
}

/// The text around seams that stand close.
#[derive(Default)]
pub(crate) struct JoinedParts {
    /// Both sides of the seams, joined.
    pub(crate) text: String,
    pieces: Vec<Piece>,
    seams: Vec<Seam>,
}

impl JoinedParts {
    /// Where a span of the joined text stands in the whole one; None if it does not reach across a seam.
    pub(crate) fn original(&self, span: Range<usize>) -> Option<Range<usize>> {
        self.seams_in(&span).next()?;
        Some(self.place(span.start)?..self.place(span.end.checked_sub(1)?)? + 1)
    }

    /// Where the first part break is that a span reaches across.
    pub(crate) fn break_in(&self, span: &Range<usize>) -> Option<usize> {
        let mut seams = self.seams_in(span);
        seams.find(|seam| seam.is_break).map(|seam| seam.at)
    }

    fn seams_in(&self, span: &Range<usize>) -> impl Iterator<Item = Seam> + '_ {
        let before = self.seams.partition_point(|seam| seam.at <= span.start);
        let end = span.end;
        let seams = self.seams[before..].iter().copied();
        seams.take_while(move |seam| seam.at < end)
    }

    fn place(&self, at: usize) -> Option<usize> {
        let next = self.pieces.partition_point(|piece| piece.joined <= at);
        let piece = self.pieces.get(next.checked_sub(1)?)?;
        Some(piece.original + at - piece.joined)
    }

    fn push(&mut self, text: &str, original: usize) {
        let joined = self.text.len();
        if self.place(joined) != Some(original) {
            self.pieces.push(Piece { joined, original });
        }
        self.text.push_str(text);
    }

    /// Keeps the last [`CONTEXT`] bytes, and gives what it was.
    fn cut(&mut self) -> Self {
        let from = self.text.len().saturating_sub(CONTEXT);
        let from = self.text.ceil_char_boundary(from);
        let mut tail = Self {
            text: self.text[from..].to_owned(),
            ..Self::default()
        };
        tail.pieces.extend(self.place(from).map(|original| Piece {
            joined: 0,
            original,
        }));
        let later = self.pieces.partition_point(|piece| piece.joined <= from);
        tail.pieces
            .extend(self.pieces[later..].iter().map(|piece| Piece {
                joined: piece.joined - from,
                original: piece.original,
            }));
        let later = self.seams.partition_point(|seam| seam.at <= from);
        tail.seams
            .extend(self.seams[later..].iter().map(|seam| Seam {
                at: seam.at - from,
                ..*seam
            }));
        std::mem::replace(self, tail)
    }
}

/// The text around each part break without it, in order; breaks that stand close are in one.
pub(crate) fn joined_parts(message: Message<'_>) -> impl Iterator<Item = JoinedParts> {
    Joining::new(message.text, breaks(message))
}

/// The same, and the text around each border of portions at which something stands that nobody sees: a value
/// may be longer there than what a portion is read with.
pub(crate) fn joined_seams(message: Message<'_>) -> impl Iterator<Item = JoinedParts> {
    let mut seams = breaks(message);
    seams.extend(borders(message.text));
    Joining::new(message.text, seams)
}

fn breaks(Message { text, part_breaks }: Message<'_>) -> Vec<Seam> {
    let is_break = |place: &&usize| text.as_bytes().get(**place) == Some(&b'\n');
    let breaks = part_breaks.iter().filter(is_break).map(|at| Seam {
        at: *at,
        is_break: true,
    });
    breaks.collect()
}

fn borders(text: &str) -> impl Iterator<Item = Seam> {
    let ends = portions(text).map(|portion| portion.own.end);
    let hides = |end: &usize| {
        let from = text.floor_char_boundary(end.saturating_sub(CONTEXT));
        let to = text.ceil_char_boundary((end + CONTEXT).min(text.len()));
        let near = &text[from..to];
        suspicious(near, 0).is_some() && near.chars().any(|c| !matches!(reading(c), Reading::As(_)))
    };
    let ends = ends.filter(|end| *end < text.len()).filter(hides);
    ends.map(|at| Seam {
        at,
        is_break: false,
    })
}

/// Reads a text once and gives what stands around its seams.
struct Joining<'a> {
    text: &'a str,
    at: usize,
    /// What is still ahead, ascending.
    seams: std::iter::Peekable<std::vec::IntoIter<Seam>>,
    /// The end of what was read.
    window: JoinedParts,
    /// The window has a seam whose other side is not read yet.
    is_open: bool,
}

impl<'a> Joining<'a> {
    fn new(text: &'a str, mut seams: Vec<Seam>) -> Self {
        seams.sort_by_key(|seam| seam.at);
        seams.dedup_by_key(|seam| seam.at);
        Self {
            text,
            at: 0,
            seams: seams.into_iter().peekable(),
            window: JoinedParts::default(),
            is_open: false,
        }
    }

    /// Reads on up to `stop`, at most a context.
    fn read(&mut self, stop: usize) {
        let end = self.text.floor_char_boundary(stop.min(self.at + CONTEXT));
        let text = &self.text[self.at..end];
        match suspicious(text, 0) {
            None => self.window.push(text, self.at),
            Some(_) => {
                for (at, c) in text.char_indices() {
                    if self.is_seen(c) {
                        let letter = &text[at..at + c.len_utf8()];
                        self.window.push(letter, self.at + at);
                    }
                }
            }
        }
        self.at = end;
    }

    fn is_seen(&self, c: char) -> bool {
        match reading(c) {
            Reading::As(_) => true,
            Reading::Nothing => false,
            // A digit stays one with any number of marks over it.
            Reading::Mark => {
                let before = self.window.text.chars().next_back().map(reading);
                !matches!(before, Some(Reading::As(digit)) if digit.is_ascii_digit())
            }
        }
    }

    fn pass(&mut self, seam: Seam) {
        if !self.is_open {
            self.window.cut();
        }
        self.is_open = true;
        self.window.seams.push(Seam {
            at: self.window.text.len(),
            ..seam
        });
        self.at += usize::from(seam.is_break);
    }

    fn is_full(&self) -> bool {
        let length = self.window.text.len();
        let last = self.window.seams.last().map_or(0, |seam| seam.at);
        length >= PORTION || self.is_open && length >= last + CONTEXT
    }

    /// The window, if it is of use. A seam near its end is read again, with what follows.
    fn close(&mut self) -> Option<JoinedParts> {
        let window = self.window.cut();
        let was_open = std::mem::replace(&mut self.is_open, !self.window.seams.is_empty());
        was_open.then_some(window)
    }
}

impl Iterator for Joining<'_> {
    type Item = JoinedParts;

    fn next(&mut self) -> Option<JoinedParts> {
        loop {
            if self.is_full() {
                if let Some(window) = self.close() {
                    return Some(window);
                }
                continue;
            }
            let seam = self.seams.peek().copied();
            let stop = seam.map_or(self.text.len(), |seam| seam.at);
            match seam {
                // Nothing but the end of a window is read behind the last one.
                None if !self.is_open => return None,
                _ if self.at < stop => self.read(stop),
                Some(seam) => {
                    self.seams.next();
                    self.pass(seam);
                }
                None => {
                    let window = self.close();
                    self.is_open = false;
                    return window;
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_where_a_break_was_and_nowhere_else() {
        let text = "ab\nc\nde\nf";
        let message = Message {
            text,
            part_breaks: &[2, 7],
        };
        let joined: Vec<_> = joined_parts(message).collect();
        assert_eq!(joined.len(), 1);
        let joined = &joined[0];
        assert_eq!(joined.text, "abc\ndef");
        let original = |span: Range<usize>| joined.original(span).map(|span| &text[span]);
        assert_eq!(original(1..3), Some("b\nc"));
        assert_eq!(original(0..7), Some(text));
        assert_eq!(original(4..7), Some("de\nf"));
        assert_eq!((original(0..2), original(2..6)), (None, None));
    }

    #[test]
    fn breaks_far_apart_are_joined_apart_and_those_that_are_none_not_at_all() {
        let far = "x".repeat(3 * CONTEXT);
        let text = format!("a\n{far}\nb c");
        let breaks = [1, 2, text.len() - 4, text.len() - 2, text.len() + 9];
        let message = Message {
            text: &text,
            part_breaks: &breaks,
        };
        let texts: Vec<_> = joined_parts(message).map(|joined| joined.text).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].starts_with("axx") && texts[1].ends_with("xxb c"));
    }

    /// What of a text stands together in one window, at its place in the text.
    fn is_joined(message: Message<'_>, value: &str) -> bool {
        joined_seams(message).any(|joined| {
            joined.text.find(value).is_some_and(|at| {
                let span = joined.original(at..at + value.len());
                span.is_some_and(|span| {
                    let seen = message.text[span].chars();
                    let seen = seen.filter(|c| matches!(reading(*c), Reading::As(_)) && *c != '\n');
                    seen.eq(value.chars())
                })
            })
        })
    }

    #[test]
    fn a_value_is_joined_however_much_of_it_nobody_sees() {
        let unseen = |count: usize| "\u{200b}\u{ad}\u{2060}".repeat(count);
        let digits = [
            format!("4111{}2222", unseen(600)),
            format!("4111{}2222", unseen(20_000)),
            format!("4111{}2222", "\u{336}".repeat(9_000)),
            "41112222"
                .chars()
                .map(|c| format!("{c}{}", unseen(100)))
                .collect(),
        ];
        // Wherever the borders of the portions fall.
        for head in (PORTION - 9_000..PORTION + 100).step_by(300) {
            for value in &digits {
                let text = format!("{}{value} end", "x".repeat(head));
                let is_whole = portions(&text).any(|portion| portion.text.contains(value.as_str()));
                assert!(
                    is_whole || is_joined(text.as_str().into(), "41112222"),
                    "{head}"
                );
            }
        }
        let filler = "слово ".repeat(PORTION / 5);
        let unseen = unseen(9_000);
        let text = format!("{filler}4111\n{unseen}\n1{unseen}11 {filler}");
        let breaks = [text.find("\n").unwrap(), text.rfind("\n").unwrap()];
        let message = Message {
            text: &text,
            part_breaks: &breaks,
        };
        assert!(is_joined(message, "4111111"));
    }

    #[test]
    fn a_value_over_many_parts_is_joined_wherever_a_window_ends() {
        // One letter a part: any value of five letters lies over five parts.
        let letters: Vec<String> = (0..2 * PORTION).map(|at| (at % 10).to_string()).collect();
        let text = letters.join("\n");
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let message = Message {
            text: &text,
            part_breaks: &breaks,
        };
        let mut covered = 0;
        for joined in joined_parts(message) {
            let whole = joined.original(0..joined.text.len()).unwrap();
            assert!(whole.start + 2 * 5 <= covered || covered == 0);
            assert!(joined.text.len() <= PORTION + 2 * CONTEXT);
            covered = whole.end;
        }
        assert_eq!(covered, text.len());
    }
}
