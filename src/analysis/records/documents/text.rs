//! The text taken out of a document, up to a limit.

use std::fmt;

/// Why a document has no text that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Not of its format.
    Malformed,
    /// A password is needed.
    Encrypted,
}

/// The text so far, and its limit.
#[derive(Debug)]
pub(super) struct Text {
    taken: String,
    longest: usize,
    is_whole: bool,
}

impl Text {
    /// Empty, with a limit in bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self {
            taken: String::new(),
            longest,
            is_whole: true,
        }
    }

    /// Appends text, as far as there is room.
    pub(super) fn push(&mut self, more: &str) {
        let room = more.floor_char_boundary(self.longest - self.taken.len());
        self.taken.push_str(more.get(..room).unwrap_or_default());
        self.is_whole &= room == more.len();
    }

    /// Marks that something was left out.
    pub(super) fn leave_out(&mut self) {
        self.is_whole = false;
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether nothing but white space has come since there were so many bytes.
    pub(super) fn is_blank_from(&self, from: usize) -> bool {
        let since = self.taken.get(from..);
        since.is_none_or(|since| since.trim().is_empty())
    }

    /// Whether the text is full.
    pub(super) fn is_full(&self) -> bool {
        self.taken.len() >= self.longest
    }

    /// Whether nothing was left out.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The collected text.
    pub(super) fn into_string(self) -> String {
        self.taken
    }
}

impl fmt::Write for Text {
    /// Fails once the text is full, so that the writer stops.
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push(more);
        match self.taken.len() < self.longest {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::Text;
    use std::fmt::Write as _;

    #[test]
    fn text_is_taken_up_to_its_bound_and_no_character_is_cut() {
        let mut text = Text::new(4);
        text.push("abя");
        assert!(text.is_whole() && text.is_full());
        assert!(text.write_str("c").is_err());
        assert!(!text.is_whole());
        assert_eq!(text.into_string(), "abя");
        let mut text = Text::new(3);
        text.push("abя");
        assert_eq!((text.is_whole(), &*text.into_string()), (false, "ab"));
    }
}
