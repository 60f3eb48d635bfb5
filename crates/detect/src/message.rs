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
/// Bytes read around a portion or a part break, of what can be seen: see [`crate::seams`]. Only finds of custom
/// patterns are longer.
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
