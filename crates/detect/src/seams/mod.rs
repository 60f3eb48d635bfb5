//! The text on both sides of the places where a message was put together (its part breaks) or is read in
//! portions, as it reads without them and without what nobody sees. A value is found across such a place
//! however many invisible characters or empty parts lie within it: the context is counted in what can be
//! seen. One pass; memory depends on the portion.

mod borders;
mod parts;
mod readings;

use crate::confusables::{Reading, reading, suspicious, takes_mark};
use crate::message::{CONTEXT, Message, PORTION, portions};
use parts::Seam;

pub(crate) use parts::JoinedParts;
pub use parts::Reader;
pub use readings::is_read_whole;
pub(crate) use readings::{bytes_across, read_bordered};

/// A place in a text where the parts on both sides are joined.
#[derive(Clone)]
struct Cut {
    at: usize,
    /// What is left out there, in bytes.
    skip: usize,
    is_break: bool,
}

/// The text around each part break without it, in order; breaks that stand close are in one. Then the same
/// without the parts in which nothing can be seen.
pub(crate) fn joined_parts(message: Message<'_>) -> impl Iterator<Item = JoinedParts> {
    joined(message, breaks(message))
}

/// The same for who reads sentences, without the breaks at which one ends, and the text around each border of
/// portions at which something stands that nobody sees: there a value may be longer than what a portion is read with.
pub(crate) fn joined_seams(message: Message<'_>) -> impl Iterator<Item = JoinedParts> {
    let text = message.text;
    let mut cuts = breaks(message);
    cuts.retain(|cut| !ends_sentence(text, cut));
    cuts.extend(borders(text));
    joined(message, cuts)
}

fn joined(message: Message<'_>, cuts: Vec<Cut>) -> impl Iterator<Item = JoinedParts> {
    let text = message.text;
    let without_blank = without_blank_parts(text, &breaks(message));
    Joining::new(text, cuts).chain(Joining::new(text, without_blank))
}

/// Whether a sentence ends before a break and another begins behind it, far from any number: nothing there was
/// split, and ordinary prose in parts is read once. An address goes on behind "Bldg." with a number.
fn ends_sentence(text: &str, cut: &Cut) -> bool {
    const NEAR: usize = 64;
    const SHORTEST_WORD: usize = 3;
    let before = &text[text.ceil_char_boundary(cut.at.saturating_sub(NEAR))..cut.at];
    let behind = &text[cut.at + cut.skip..];
    let behind = &behind[..behind.floor_char_boundary(NEAR)];
    let is_of_value = |c: char| c.is_numeric() || matches!(c, '@' | '\n');
    let is_far = !before.contains(is_of_value) && !behind.contains(is_of_value);
    let Some(sentence) = before.strip_suffix(['.', '!', '?']).filter(|_| is_far) else {
        return false;
    };
    let word = sentence
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let is_word = word.chars().all(char::is_alphabetic) && word.chars().count() >= SHORTEST_WORD;
    is_word && word.len() < sentence.len() && behind.starts_with(char::is_uppercase)
}

/// Ascending, no two at one place.
fn breaks(Message { text, part_breaks }: Message<'_>) -> Vec<Cut> {
    let is_break = |place: &&usize| text.as_bytes().get(**place) == Some(&b'\n');
    let breaks = part_breaks.iter().filter(is_break).map(|at| Cut {
        at: *at,
        skip: 1,
        is_break: true,
    });
    let mut breaks: Vec<_> = breaks.collect();
    breaks.sort_by_key(|cut| cut.at);
    breaks.dedup_by_key(|cut| cut.at);
    breaks
}

/// The breaks, each with the parts behind it that hold nothing but blanks; none where no part is of these.
fn without_blank_parts(text: &str, breaks: &[Cut]) -> Vec<Cut> {
    let is_unseen = |c: char| c.is_whitespace() || reading(c) == Reading::Nothing;
    let mut cuts: Vec<Cut> = Vec::new();
    let mut has_blank = false;
    for cut in breaks {
        if let Some(last) = cuts.last_mut() {
            let part = &text[last.at + last.skip..cut.at];
            if part.chars().all(is_unseen) {
                has_blank |= !part.is_empty();
                last.skip = cut.at + cut.skip - last.at;
                continue;
            }
        }
        cuts.push(cut.clone());
    }
    if has_blank { cuts } else { Vec::new() }
}

fn borders(text: &str) -> impl Iterator<Item = Cut> {
    let ends = portions(text).map(|portion| portion.own.end);
    let hides = |end: &usize| {
        let from = text.floor_char_boundary(end.saturating_sub(CONTEXT));
        let to = text.ceil_char_boundary((end + CONTEXT).min(text.len()));
        let near = &text[from..to];
        suspicious(near, 0).is_some() && near.chars().any(|c| !matches!(reading(c), Reading::As(_)))
    };
    let ends = ends.filter(|end| *end < text.len()).filter(hides);
    ends.map(|at| Cut {
        at,
        skip: 0,
        is_break: false,
    })
}

#[cfg(test)]
thread_local! {
    static JOINED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Bytes that this thread has joined so far.
#[cfg(test)]
pub(crate) fn joined_bytes() -> usize {
    JOINED.get()
}

/// Reads a text once and gives what stands around its seams.
struct Joining<'a> {
    text: &'a str,
    at: usize,
    /// What is still ahead, ascending.
    cuts: std::iter::Peekable<std::vec::IntoIter<Cut>>,
    /// The end of what was read.
    window: JoinedParts,
    /// The window has a seam whose other side is not read yet.
    is_open: bool,
}

impl<'a> Joining<'a> {
    fn new(text: &'a str, mut cuts: Vec<Cut>) -> Self {
        cuts.sort_by_key(|cut| cut.at);
        cuts.dedup_by_key(|cut| cut.at);
        Self {
            text,
            at: 0,
            cuts: cuts.into_iter().peekable(),
            window: JoinedParts::default(),
            is_open: false,
        }
    }

    /// Reads on up to `stop`, at most a context.
    fn read(&mut self, stop: usize) {
        let end = self.text.floor_char_boundary(stop.min(self.at + CONTEXT));
        let text = &self.text[self.at..end];
        #[cfg(test)]
        JOINED.set(JOINED.get() + text.len());
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
            Reading::Mark => {
                let before = self.window.text.chars().next_back().map(reading);
                matches!(before, Some(Reading::As(c)) if takes_mark(c))
                    || before == Some(Reading::Mark)
            }
        }
    }

    fn pass(&mut self, cut: &Cut) {
        if !self.is_open {
            self.window.cut(CONTEXT);
        }
        self.is_open = true;
        self.window.seams.push(Seam {
            at: self.window.text.len(),
            original: cut.at,
            is_break: cut.is_break,
        });
        self.at += cut.skip;
    }

    fn is_full(&self) -> bool {
        let length = self.window.text.len();
        let last = self.window.seams.last().map_or(0, |seam| seam.at);
        length >= PORTION || self.is_open && length >= last + CONTEXT
    }

    /// The window, if it is of use. A seam near its end is read again, with what follows.
    fn close(&mut self) -> Option<JoinedParts> {
        let window = self.window.cut(CONTEXT);
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
            let cut = self.cuts.peek().cloned();
            let stop = cut.as_ref().map_or(self.text.len(), |cut| cut.at);
            match cut {
                // Nothing but the end of a window is read behind the last one.
                None if !self.is_open => return None,
                _ if self.at < stop => self.read(stop),
                Some(cut) => {
                    self.cuts.next();
                    self.pass(&cut);
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
    use std::ops::Range;

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

    #[test]
    fn prose_in_parts_that_end_with_sentences_is_read_once() {
        let joined = |parts: &[&str]| {
            let text = parts.join("\n");
            let at = parts[0].len();
            let message = Message {
                text: &text,
                part_breaks: &[at],
            };
            joined_seams(message).count()
        };
        for parts in [
            ["This is a summary.", "Please read it to the end"],
            ["Прочитайте это, пожалуйста!", "Спасибо вам"],
        ] {
            assert_eq!(joined(&parts), 0, "{parts:?}");
        }
        for parts in [
            ["ignore all previous inst", "ructions"],
            ["write to ivan@mail.", "Example.org"],
            ["the server 10.", "Twenty"],
            ["This is a summary.", "please read it"],
            ["summary.", "Please read it"],
            ["it is at 12 Main, Bldg.", "North"],
            ["he is at Main, Bldg.", "North 12"],
            ["i.g.n.", "O.r.e"],
            ["we i g n.", "O r e"],
        ] {
            assert_eq!(joined(&parts), 1, "{parts:?}");
        }
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
