//! What the value of a text is, which says how a check reads it and how something else may stand in its place.

use super::arguments::arguments_text_of;
use super::number::long_number;
use super::text::unescape;
use std::borrow::Cow;

/// What a text of a body is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A string that holds words.
    Text,
    /// The name of who speaks, of a tool or of an argument: a string that a model server may refuse in an odd form.
    Name,
    /// A number, which stands without quotes.
    Number,
    /// A string whose text is JSON again: the arguments of a tool.
    Arguments,
}

impl Form {
    /// What a check reads of a value, which is given as it is written.
    pub fn text(self, token: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Text | Self::Name => unescape(token),
            Self::Number => {
                long_number(std::str::from_utf8(token).unwrap_or_default()).unwrap_or_default()
            }
            Self::Arguments => arguments_text_of(unescape(token)),
        }
    }
}
