//! A message as the engine gets it, and in what portions it is read: memory depends on the portion, not on
//! the message, and time is bounded by the [`AnalysisBudget`].

use std::ops::Range;

/// A text, and what is known of how it was put together.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What is analyzed, up to the budget.
    pub text: &'a str,
    /// Bytes of `text` at which a line feed stands between two parts of one message, ascending. A find may
    /// reach across them as if they were not there.
    pub part_breaks: &'a [usize],
}

impl<'a, T: AsRef<str> + ?Sized> From<&'a T> for Message<'a> {
    fn from(text: &'a T) -> Self {
        Self {
            text: text.as_ref(),
            part_breaks: &[],
        }
    }
}

/// How much of one message is analyzed. What lies beyond is reported as not analyzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisBudget {
    /// Bytes of the text.
    pub bytes: usize,
    /// Finds of sensitive data; the portion in which the last one lies is read to its end.
    pub finds: usize,
}

impl AnalysisBudget {
    /// The most finds of one message where a caller waits for its verdict.
    pub const FINDS: usize = 100_000;
    /// Where nobody waits.
    pub const UNBOUNDED: Self = Self {
        bytes: usize::MAX,
        finds: usize::MAX,
    };

    /// The part of a message that is analyzed.
    pub(crate) fn of<'a>(self, message: Message<'a>) -> Message<'a> {
        let end = message.text.floor_char_boundary(self.bytes);
        let breaks = message.part_breaks;
        Message {
            text: &message.text[..end],
            part_breaks: &breaks[..breaks.partition_point(|place| *place < end)],
        }
    }
}

/// Bytes of a portion without its context; the tagger reads both at once.
pub(crate) const PORTION: usize = 56 * 1024;
/// Bytes read around a portion or a part break. Only finds of custom patterns are longer.
pub(crate) const CONTEXT: usize = 2 * 1024;
/// How far from its end a portion may be cut to end with a line or a word.
const CUT: usize = 4 * 1024;

/// A part of a text that is read at once.
pub(crate) struct Portion<'a> {
    /// What is read: the portion and its context.
    pub(crate) text: &'a str,
    /// Where that begins in the whole text.
    pub(crate) start: usize,
    /// The portion alone, in the whole text: finds that begin elsewhere belong to other portions.
    pub(crate) own: Range<usize>,
}

/// The portions of a text. A text of at most [`PORTION`] bytes is one, even if it is empty.
pub(crate) fn portions(text: &str) -> impl Iterator<Item = Portion<'_>> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let from = next?;
        let end = from + portion(&text[from..]);
        next = (end < text.len()).then_some(end);
        let start = text.floor_char_boundary(from.saturating_sub(CONTEXT));
        let read_to = text.ceil_char_boundary((end + CONTEXT).min(text.len()));
        Some(Portion {
            text: &text[start..read_to],
            start,
            own: from..end,
        })
    })
}

fn portion(rest: &str) -> usize {
    if rest.len() <= PORTION {
        return rest.len();
    }
    let end = rest.floor_char_boundary(PORTION);
    let tail = &rest[rest.floor_char_boundary(end - CUT)..end];
    let border = tail.rfind('\n').or_else(|| tail.rfind(' '));
    border.map_or(end, |at| end - tail.len() + at + 1)
}

/// The text around part breaks as it reads without them.
pub(crate) struct JoinedParts {
    /// Both sides of the breaks, joined.
    pub(crate) text: String,
    /// Where it begins in the whole text.
    start: usize,
    /// Where the breaks were, in `text`.
    seams: Vec<usize>,
}

impl JoinedParts {
    /// Where a span of the joined text stands in the whole one; None if it does not reach across a seam.
    pub(crate) fn original(&self, span: Range<usize>) -> Option<Range<usize>> {
        // A break stands before what begins at its seam, and behind what ends there.
        let before = self.seams.partition_point(|seam| *seam <= span.start);
        let within = self.seams.partition_point(|seam| *seam < span.end);
        (before < within).then(|| self.start + span.start + before..self.start + span.end + within)
    }

    /// Where the first seam is that a span reaches across.
    pub(crate) fn seam_in(&self, span: &Range<usize>) -> Option<usize> {
        let before = self.seams.partition_point(|seam| *seam <= span.start);
        self.seams
            .get(before)
            .copied()
            .filter(|seam| *seam < span.end)
    }
}

/// The text around each part break without it, in order; breaks that stand close are in one.
pub(crate) fn joined_parts(message: Message<'_>) -> impl Iterator<Item = JoinedParts> {
    let Message { text, part_breaks } = message;
    let is_break = |place: &&usize| text.as_bytes().get(**place) == Some(&b'\n');
    let mut breaks = part_breaks.iter().filter(is_break).copied().peekable();
    std::iter::from_fn(move || {
        let first = breaks.next()?;
        let start = text.floor_char_boundary(first.saturating_sub(CONTEXT));
        let mut joined = JoinedParts {
            text: String::new(),
            start,
            seams: Vec::new(),
        };
        let (mut from, mut place) = (start, first);
        loop {
            joined.text.push_str(text.get(from..place)?);
            joined.seams.push(joined.text.len());
            from = place + 1;
            let is_near = |next: &usize| *next > place && *next < from + CONTEXT;
            match breaks.next_if(|next| is_near(next) && joined.text.len() < PORTION) {
                Some(next) => place = next,
                None => break,
            }
        }
        let end = text.floor_char_boundary((from + CONTEXT).min(text.len()));
        joined.text.push_str(text.get(from..end)?);
        Some(joined)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_cover_a_text_once_and_end_with_words() {
        for text in [
            "",
            "a",
            &"слово ".repeat(40_000),
            &"x".repeat(300_000),
            &"ж".repeat(200_000),
        ] {
            let mut end = 0;
            for portion in portions(text) {
                assert_eq!(portion.own.start, end);
                assert!(portion.own.len() <= PORTION);
                assert!(portion.start <= portion.own.start);
                assert!(portion.start + portion.text.len() >= portion.own.end);
                end = portion.own.end;
                let is_cut = end < text.len();
                assert!(!is_cut || !text.contains(' ') || text[..end].ends_with(' '));
            }
            assert_eq!(end, text.len());
        }
        assert_eq!(portions("").count(), 1);
    }

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
    fn a_budget_ends_on_a_border_of_characters() {
        let budget = AnalysisBudget { bytes: 3, finds: 1 };
        let of = |text: &'static str| {
            let message = Message {
                text,
                part_breaks: &[2, 3],
            };
            let message = budget.of(message);
            (message.text, message.part_breaks.len())
        };
        assert_eq!(of("жж"), ("ж", 0));
        assert_eq!(of("ж\nж"), ("ж\n", 1));
        assert_eq!(of("a"), ("a", 0));
    }
}
