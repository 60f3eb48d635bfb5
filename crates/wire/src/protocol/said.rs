//! The texts of one raw frame, for whoever holds a stream back or changes it: stricter than the reader of a record.
//! What it cannot read for certain is unreadable, because nobody may pass it as checked.

use super::Wanted;
use super::events::{Event, is_named_by_type};
use super::fields::is_plain;
use super::growing::OUTSIDE;
use crate::json::{Form, Kind, OtherTexts, TextPath, View, texts_beside, texts_of, unescape};
use crate::sse::pieces::{Field, Named, Piece, Reading, Said, Words};
use crate::sse::{BOM, Data, event_name, has_event_in_line};
use std::collections::BTreeMap;

/// The most pieces of one frame; one with more is unreadable.
const MOST_PIECES: usize = 16_384;

/// What a frame says, as it is read.
pub(super) struct FrameTexts<'a> {
    data: &'a Data,
    wanted: Wanted,
    pub(super) said: Said,
    /// How many texts of each choice came as a whole.
    wholes: BTreeMap<u64, u64>,
}

/// Reads a frame whose event `read` understands; None of its parts may stay unread.
pub(super) fn read_frame(
    frame: &[u8],
    wanted: Wanted,
    read: fn(&mut FrameTexts<'_>, View<'_>) -> Option<()>,
) -> Reading {
    if wanted == Wanted::Next && frame.starts_with(BOM) {
        return Reading::Unreadable;
    }
    let data = Data::of(frame);
    let is_doubtful = || data.has_doubtful_lines || has_event_in_line(&data.joined);
    if wanted != Wanted::Known && is_doubtful() {
        return Reading::Unreadable;
    }
    match data.joined.trim_ascii() {
        b"" => return Reading::Nothing,
        b"[DONE]" => return Reading::Done,
        _ => {}
    }
    let Some(event) = Event::of(&data.joined) else {
        return Reading::Unreadable;
    };
    let event = event.object();
    // Some clients go by the name of an event and some by its type.
    if wanted != Wanted::Known && !is_named_by_type(event_name(frame), event) {
        return Reading::Unreadable;
    }
    let mut texts = FrameTexts {
        data: &data,
        wanted,
        said: Said::default(),
        wholes: BTreeMap::new(),
    };
    match read(&mut texts, event) {
        Some(()) => Reading::Said(texts.said),
        None => Reading::Unreadable,
    }
}

impl FrameTexts<'_> {
    /// Whether texts under names that the API does not know are read.
    pub(super) fn wants_every(&self) -> bool {
        self.wanted != Wanted::Known
    }

    /// None where not all readers find the same in an object.
    pub(super) fn check_names(&self, object: View<'_>, known: &[&str]) -> Option<()> {
        is_plain(object, known).then_some(())
    }

    /// A string that continues a text; a missing one says nothing, and another value cannot be read.
    pub(super) fn text(&mut self, text: Option<View<'_>>, choice: u64, field: Field) -> Option<()> {
        let Some(text) = text.filter(|text| text.kind() != Kind::Null) else {
            return Some(());
        };
        let form = match field {
            Field::ToolArguments(_) => Form::Arguments,
            _ => Form::Text,
        };
        self.string(text, choice, field, form)
    }

    /// A string that is a text as a whole; null says nothing, and another value cannot be read.
    pub(super) fn whole(&mut self, text: View<'_>, choice: u64, form: Form) -> Option<()> {
        if text.kind() == Kind::Null {
            return Some(());
        }
        let field = self.next_whole(choice);
        self.string(text, choice, field, form)
    }

    /// A value of any kind that is arguments as it is written, where every text is wanted.
    pub(super) fn raw_arguments(&mut self, value: View<'_>, choice: u64) -> Option<()> {
        if !self.wants_every() {
            return Some(());
        }
        let (field, text) = (self.next_whole(choice), value.raw().to_owned());
        self.push(value.raw(), text, choice, field, Form::Arguments)
    }

    /// Marks what `read` finds as arguments of a call of a tool, where they are such.
    pub(super) fn as_arguments(
        &mut self,
        are_arguments: bool,
        read: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let begin = self.said.pieces.len();
        read(self)?;
        let found = self.said.pieces.iter_mut().skip(begin);
        found.for_each(|piece| piece.in_arguments |= are_arguments);
        Some(())
    }

    /// Marks the texts that `read` finds as these words.
    pub(super) fn as_words(
        &mut self,
        words: Option<Words>,
        read: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let begin = self.said.pieces.len();
        read(self)?;
        let found = self.said.pieces.iter_mut().skip(begin);
        let found = found.filter(|piece| !matches!(piece.field, Field::Other(_)));
        found.for_each(|piece| piece.words = words);
        Some(())
    }

    fn next_whole(&mut self, choice: u64) -> Field {
        let next = self.wholes.entry(choice).or_default();
        *next += 1;
        Field::Whole(*next - 1)
    }

    /// The texts of the members of an object that are none of `known`.
    pub(super) fn beside(&mut self, object: View<'_>, choice: u64, known: &[&str]) -> Option<()> {
        self.check_names(object, known)?;
        if !self.wants_every() {
            return Some(());
        }
        self.others(choice, &texts_beside(object, known))
    }

    /// The texts of a value of any kind.
    pub(super) fn every(&mut self, value: View<'_>, choice: u64, name: &str) -> Option<()> {
        if !self.wants_every() {
            return Some(());
        }
        self.others(choice, &texts_of(name, value))
    }

    /// Nothing continues this text of a choice.
    pub(super) fn end(&mut self, choice: u64, field: Field) {
        self.said.pieces.push(Piece {
            choice,
            field,
            span: 0..0,
            text: String::new(),
            is_arguments: matches!(field, Field::ToolArguments(_)),
            in_arguments: false,
            ends: true,
            words: None,
        });
    }

    /// Nothing continues any text of the answer.
    pub(super) fn end_all(&mut self) {
        self.end(OUTSIDE, Field::Content);
    }

    /// Nothing continues any text of a choice.
    pub(super) fn finish(&mut self, choice: u64) {
        self.said.choices.push(Named {
            choice,
            finished: true,
        });
    }

    fn others(&mut self, choice: u64, texts: &OtherTexts) -> Option<()> {
        for other in &texts.found {
            let json = self.data.joined.get(other.span.clone())?;
            let text = match other.form() {
                Form::Arguments => unescape(json).into_owned(),
                _ => other.text(&self.data.joined).into_owned(),
            };
            let text = match other.stands_alone() {
                true => text + "\n",
                false => text,
            };
            let json = std::str::from_utf8(json).ok()?;
            let (field, form) = (Field::Other(other.path), other.form());
            self.push(json, text, choice, field, form)?;
            if let Some(piece) = self.said.pieces.last_mut() {
                piece.in_arguments = other.in_arguments;
            }
        }
        (!texts.has_unreadable).then_some(())
    }

    fn string(&mut self, text: View<'_>, choice: u64, field: Field, form: Form) -> Option<()> {
        let words = text.text()?.into_owned();
        self.push(text.raw(), words, choice, field, form)
    }

    fn push(
        &mut self,
        json: &str,
        text: String,
        choice: u64,
        field: Field,
        form: Form,
    ) -> Option<()> {
        if self.said.pieces.len() == MOST_PIECES {
            return None;
        }
        let span = self.data.span(json)?;
        self.said.pieces.push(Piece {
            choice,
            field,
            span,
            text,
            is_arguments: form == Form::Arguments,
            in_arguments: false,
            ends: matches!(field, Field::Whole(_)),
            words: None,
        });
        Some(())
    }
}

/// The text of a part of an item behind the first one, or beside its parts.
pub(super) fn field_of(name: &str, part: u64) -> Field {
    Field::Other(TextPath::of(name).member(&part.to_string()))
}
