//! Members of the objects that answers and events are made of. Of duplicates the last one counts, as for most readers.

use crate::json::{Kind, OtherTexts, Piece, View, each_piece_of, index_of, texts_beside, texts_of};
use std::borrow::Cow;

/// A member that is a string.
pub(super) fn text<'a>(object: View<'a>, name: &'a str) -> Option<Cow<'a, str>> {
    object.named(name).last()?.text()
}

/// A member that counts something.
pub(super) fn number<'a>(object: View<'a>, name: &'a str) -> Option<u64> {
    index_of(object.named(name).last()?.raw())
}

/// Whether all readers find the same in an object: none of the names is there in another case or twice.
pub(super) fn is_plain(object: View<'_>, names: &[&str]) -> bool {
    let is_once = |name: &&str| object.named(name).nth(1).is_none();
    !object.has_misspelled(names) && names.iter().all(is_once)
}

/// The elements of a member; None where it is neither a list nor nothing.
pub(super) fn list<'a>(object: View<'a>, name: &'a str) -> Option<impl Iterator<Item = View<'a>>> {
    let list = object.named(name).last();
    let is_list = list.is_none_or(|list| matches!(list.kind(), Kind::Array | Kind::Null));
    is_list.then(|| list.into_iter().flat_map(View::elements))
}

/// Hands over each string of a value, at any depth, in the order of the body. Names of members are none.
pub(super) fn each_string<'a>(value: View<'a>, each: impl FnMut(View<'a>)) {
    value.strings().for_each(each);
}

/// Texts that were joined by line feeds.
#[derive(Default)]
pub(super) struct ReadText {
    pub(super) text: String,
    /// Nothing stands there that cannot be read.
    pub(super) is_whole: bool,
}

/// The texts of a content.
pub(super) fn content(value: View<'_>) -> ReadText {
    let mut read = ReadText {
        is_whole: true,
        ..ReadText::default()
    };
    each_piece_of(value, &mut |piece| match (piece, piece.value()) {
        (Piece::Unreadable, _) | (_, None) => read.is_whole = false,
        (_, Some(value)) => add_line(&mut read.text, &value.text()),
    });
    read
}

/// The texts of the members of an object that are none of `known`.
pub(super) fn beside(object: View<'_>, known: &[&str]) -> ReadText {
    joined(object, &texts_beside(object, known))
}

/// The texts of a value of any kind, the member `name` of something.
pub(super) fn every(name: &str, value: View<'_>) -> ReadText {
    joined(value, &texts_of(name, value))
}

fn joined(value: View<'_>, texts: &OtherTexts) -> ReadText {
    let mut text = String::new();
    for other in &texts.found {
        add_line(&mut text, &other.text_in(value));
    }
    ReadText {
        text,
        is_whole: !texts.has_unreadable,
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
