//! A look into values that `scan` has already passed: members, elements, texts. It trusts the
//! grammar and therefore skips fast; bytes that break the trust give less, never a panic.

mod cursor;

#[cfg(test)]
pub(crate) use cursor::steps;

use super::kind::Kind;
use super::name::{is_exactly, is_in_any_case};
use super::scan::notes::Note;
use super::text::unescape;
use super::unseen::{is_tag_digit, is_unseen};
use cursor::Cursor;
use std::borrow::Cow;
use std::ops::Range;

/// A member of an object: its name as a token with quotes, where that stands, and its value.
#[derive(Clone, Copy)]
pub(crate) struct NamedView<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) name: View<'a>,
    pub(crate) value: View<'a>,
}

/// Members that are kept: most parts have no more.
const KEPT_MEMBERS: usize = 4;

/// The members of an object, the first of which are stepped over once.
pub(crate) struct KeptMembers<'a> {
    first: [Option<NamedView<'a>>; KEPT_MEMBERS],
    object: View<'a>,
    /// Where the others begin.
    behind: usize,
}

impl<'a> KeptMembers<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = NamedView<'a>> + '_ {
        let first = self.first.iter().flatten().copied();
        first.chain(self.object.named_from(self.behind))
    }
}

/// The bytes of one checked value, and where they stand.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    bytes: &'a [u8],
    /// The offset of its first byte in the body that the outermost view looks at.
    at: usize,
    /// Those of the body.
    notes: &'a [Note],
}

impl<'a> View<'a> {
    /// The value at `span` of `body`.
    pub(crate) fn new(body: &'a [u8], span: Range<usize>) -> Self {
        Self::of_scanned(body, span, &[])
    }

    /// The same, with what the scan of the body has noted.
    pub(crate) fn of_scanned(body: &'a [u8], span: Range<usize>, notes: &'a [Note]) -> Self {
        Self {
            at: span.start,
            bytes: body.get(span).unwrap_or_default(),
            notes,
        }
    }

    /// The value at `span` of this one.
    fn inner(self, span: Range<usize>) -> Self {
        Self {
            at: self.at + span.start,
            bytes: self.bytes.get(span).unwrap_or_default(),
            notes: self.notes,
        }
    }

    /// Where it stands in the body.
    pub(crate) fn span(self) -> Range<usize> {
        self.at..self.at + self.bytes.len()
    }

    pub(crate) fn kind(self) -> Kind {
        match self.bytes.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// The same without the white space around it.
    pub(crate) fn trimmed(self) -> Self {
        let start = self.bytes.len() - self.bytes.trim_ascii_start().len();
        self.inner(start..self.bytes.trim_ascii_end().len().max(start))
    }

    /// The bytes of a value of any kind.
    pub(crate) fn token(self) -> &'a [u8] {
        self.bytes
    }

    /// A value of any kind as it is written.
    pub(crate) fn raw(self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }

    /// The decoded text of a string, None for any other kind.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| unescape(self.bytes))
    }

    /// Spans of names and values from `at` on, which is behind a `{` or a comma.
    pub(super) fn members_from(self, at: usize) -> Members<'a> {
        Members(Cursor { view: self, at })
    }

    /// The members of an object in order; none for anything else.
    pub(crate) fn members(self) -> impl Iterator<Item = NamedView<'a>> {
        let first = if self.kind() == Kind::Object {
            1
        } else {
            self.bytes.len()
        };
        self.named_from(first)
    }

    fn named_from(self, at: usize) -> impl Iterator<Item = NamedView<'a>> {
        self.members_from(at).map(move |(key, value)| NamedView {
            key: self.bytes.get(key.clone()).unwrap_or_default(),
            name: self.inner(key),
            value: self.inner(value),
        })
    }

    /// The members of an object for readers that go over them several times.
    pub(crate) fn kept_members(self) -> KeptMembers<'a> {
        let mut first = [None; KEPT_MEMBERS];
        let mut members = self.members();
        for (place, member) in first.iter_mut().zip(members.by_ref()) {
            *place = Some(member);
        }
        let last = first[KEPT_MEMBERS - 1];
        let behind = last.map(|last: NamedView<'a>| last.value.span().end - self.at);
        KeptMembers {
            first,
            object: self,
            behind: behind.unwrap_or(self.bytes.len()),
        }
    }

    /// Every value whose decoded name is `name`, in order; none for anything but an object.
    pub(crate) fn named(self, name: &'a str) -> impl Iterator<Item = View<'a>> {
        let members = self.members();
        let named = members.filter(move |member| is_exactly(member.key, name));
        named.map(|member| member.value)
    }

    /// Every value that some reader takes for that of `name`, in order; none for anything but an object.
    pub(crate) fn named_in_any_case(self, name: &'a str) -> impl Iterator<Item = View<'a>> {
        let members = self.members();
        let named = members.filter(move |member| is_in_any_case(member.key, name));
        named.map(|member| member.value)
    }

    /// The same as [`has_misspelled`].
    pub(crate) fn has_misspelled(self, names: &[&str]) -> bool {
        self.members().any(|member| {
            let mut names = names.iter();
            names.any(|name| is_in_any_case(member.key, name) && !is_exactly(member.key, name))
        })
    }

    /// Whether a string holds nothing that can be seen; true for any other kind.
    pub(crate) fn is_blank(self) -> bool {
        match self.bytes {
            // Most texts begin with something that can be seen.
            [b'"', first, ..] if !matches!(first, b'"' | b'\\' | b' ') && first.is_ascii() => false,
            _ => self
                .text()
                .is_none_or(|text| text.chars().all(|c| is_unseen(c) && !is_tag_digit(c))),
        }
    }

    /// The elements of an array in order; none for anything else.
    pub(crate) fn elements(self) -> Elements<'a> {
        let first = if self.kind() == Kind::Array {
            1
        } else {
            self.bytes.len()
        };
        Elements {
            array: self,
            cursor: Cursor {
                view: self,
                at: first,
            },
        }
    }

    /// The strings inside a value of any depth in their order, or the string that it is; names of members are none.
    pub(crate) fn strings(self) -> impl Iterator<Item = View<'a>> {
        let mut cursor = Cursor { view: self, at: 0 };
        std::iter::from_fn(move || cursor.next_string().map(|span| self.inner(span)))
    }

    /// Walks an array once, from its beginning (0) or the element at the byte `from` on, and hands over each object
    /// with what `fold` made of its members, given by their names as tokens, and other elements with nothing.
    pub(super) fn fold_objects<F: Default>(
        self,
        from: usize,
        fold: impl Fn(&mut F, &[u8], View<'a>),
        mut each: impl FnMut(View<'a>, Option<F>),
    ) {
        let Elements { mut cursor, .. } = self.elements();
        cursor.at = cursor.at.max(from);
        loop {
            cursor.skip_separators();
            let start = cursor.at;
            if cursor.peek() != Some(b'{') {
                let element = cursor.skip_value();
                if element.is_empty() {
                    return;
                }
                each(self.inner(element), None);
                continue;
            }
            let mut folded = F::default();
            let mut members = self.members_from(start + 1);
            for (key, value) in members.by_ref() {
                let token = self.bytes.get(key).unwrap_or_default();
                fold(&mut folded, token, self.inner(value));
            }
            // The walk ends at the closing brace.
            cursor.at = members.0.at.saturating_add(1).min(self.bytes.len());
            each(self.inner(start..cursor.at), Some(folded));
        }
    }
}

/// Whether some reader takes a member of this checked object for one of the names, and another reader does not.
pub(crate) fn has_misspelled(object: &[u8], names: &[&str]) -> bool {
    View::new(object, 0..object.len()).has_misspelled(names)
}

/// Iterates over an object's members, see [`View::members_from`].
pub(super) struct Members<'a>(Cursor<'a>);

impl Iterator for Members<'_> {
    type Item = (Range<usize>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = &mut self.0;
        cursor.skip_separators();
        if cursor.peek() != Some(b'"') {
            return None;
        }
        let key = cursor.skip_value();
        cursor.skip_separators();
        Some((key, cursor.skip_value()))
    }
}

/// Iterates over an array's elements, see [`View::elements`].
pub(crate) struct Elements<'a> {
    array: View<'a>,
    cursor: Cursor<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        self.cursor.skip_separators();
        let span = self.cursor.skip_value();
        (!span.is_empty()).then(|| self.array.inner(span))
    }
}

#[cfg(test)]
mod tests {
    use super::has_misspelled;

    #[test]
    fn a_name_that_only_some_readers_take_for_another_is_told() {
        for (object, expected) in [
            (r#"{"content":1,"id":2}"#, false),
            (r#"{"Content":1}"#, true),
            (r#"{"c\u006fntent":1}"#, false),
            (r#"{"id":2,"role":1,"CONTENT":1}"#, true),
            (r#"{"contents":1}"#, false),
            ("[]", false),
        ] {
            let found = has_misspelled(object.as_bytes(), &["role", "content"]);
            assert_eq!(found, expected, "{object}");
        }
    }
}
