//! The walk over the values of a content or of another member of a message.

use super::Piece;
use super::alone::{Alone, SharedName};
use super::block_types::is_call;
use super::meaning::{Depth, Meaning, PartKind, is_wrapper};
use crate::json::call_texts::CallTexts;
use crate::json::form::Form;
use crate::json::kind::Kind;
use crate::json::name::{is_exactly, is_in_any_case};
use crate::json::number::long_number;
use crate::json::number::name::Sharing;
use crate::json::view::{KeptMembers, NamedView, View};
use std::ops::ControlFlow;

/// What a string is to the message around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Main,
    Aside,
    Unknown,
}

pub(super) struct Walk<'w, 'a> {
    pub(super) each: &'w mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    depth: Depth,
    standing: Standing,
    /// It is a call of a tool, whose name is read and whose arguments are JSON in a string.
    is_call: bool,
    /// What is read of calls of tools.
    calls: CallTexts,
    /// That of the numbers that follow, inside arguments.
    name: Option<SharedName<'a>>,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(
        standing: Standing,
        each: &'w mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    ) -> Self {
        Self {
            each,
            depth: Depth::default(),
            standing,
            is_call: false,
            calls: CallTexts::Whole,
            name: None,
        }
    }

    /// The same, of whose calls of tools these texts are read.
    pub(super) fn with_calls(self, calls: CallTexts) -> Self {
        Self { calls, ..self }
    }

    /// Calls of tools, in a list or one alone.
    pub(super) fn call(&mut self, calls: View<'a>) -> ControlFlow<()> {
        self.is_call = true;
        self.value(calls, Meaning::Unknown)
    }

    /// The arguments of a tool: JSON in a string, or as it is.
    pub(super) fn arguments(&mut self, arguments: View<'a>) -> ControlFlow<()> {
        match arguments.kind() {
            Kind::String => self.alone(arguments, Form::Arguments),
            _ => self.value(arguments, Meaning::Free),
        }
    }

    pub(super) fn value(&mut self, value: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        match value.kind() {
            Kind::String => (self.each)(match self.standing {
                Standing::Main => Piece::Text(value),
                Standing::Aside => Piece::Aside(value),
                Standing::Unknown => Piece::Unknown(value),
            }),
            Kind::Object | Kind::Array if !self.depth.may_enter(value) => {
                (self.each)(Piece::Unreadable)
            }
            Kind::Object => self.deeper(|walk| walk.part(value, meaning)),
            Kind::Array => self.deeper(|walk| {
                let mut elements = value.elements();
                elements.try_for_each(|element| walk.value(element, meaning))
            }),
            Kind::Number if meaning == Meaning::Free => match long_number(value.raw()) {
                Some(_) => self.number(value),
                None => ControlFlow::Continue(()),
            },
            // Numbers are common among unknown members, and none where text is expected.
            Kind::Number | Kind::True | Kind::False if meaning == Meaning::Text => {
                (self.each)(Piece::Unreadable)
            }
            Kind::Number | Kind::True | Kind::False | Kind::Null => ControlFlow::Continue(()),
        }
    }

    fn alone(&mut self, value: View<'a>, form: Form) -> ControlFlow<()> {
        (self.each)(Piece::Alone(Alone::of(value, form)))
    }

    fn number(&mut self, value: View<'a>) -> ControlFlow<()> {
        let name = self.name;
        if let Some(name) = &mut self.name {
            name.sharing = Sharing::Further;
        }
        (self.each)(Piece::Alone(Alone {
            name,
            ..Alone::of(value, Form::Number)
        }))
    }

    /// The name of who speaks, or of a tool. One that is no text means what its caller wants.
    pub(super) fn name(&mut self, name: View<'a>) -> ControlFlow<()> {
        match name.kind() {
            Kind::String => self.alone(name, Form::Name),
            _ => self.value(name, Meaning::Free),
        }
    }

    fn deeper(&mut self, walk: impl FnOnce(&mut Self) -> ControlFlow<()>) -> ControlFlow<()> {
        self.depth.enter();
        let ended = walk(self);
        self.depth.leave();
        ended
    }

    fn part(&mut self, part: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        if meaning == Meaning::Free {
            for member in part.members() {
                let outer = self.name;
                if member.key.len() > 2 {
                    self.alone(member.name, Form::Name)?;
                }
                self.name = Some(SharedName {
                    name: member.name,
                    sharing: Sharing::First,
                });
                self.value(member.value, Meaning::Free)?;
                self.name = outer;
            }
            return ControlFlow::Continue(());
        }
        // Looked up once: a part may have any number of members.
        let members = part.kept_members();
        let (mut kind, main) = (None, main_text(&members));
        let mut kind = || *kind.get_or_insert_with(|| PartKind::of(&members));
        let omits = !self.calls.have_arguments() && (self.is_call || is_call(part));
        for (at, member) in members.iter().enumerate() {
            let own = Meaning::of_member(member.key);
            if omits && self.is_argument(&member, own) {
                continue;
            }
            let is_main = match own {
                Meaning::Text => main == Some(at),
                own => own != Meaning::Unknown,
            };
            let standing = self.standing;
            if !is_main && standing == Standing::Main {
                self.standing = Standing::Aside;
            }
            match own {
                Meaning::Source if member.value.kind() == Kind::String && !kind().is_text => {}
                Meaning::Source => self.value(member.value, Meaning::Unknown)?,
                Meaning::NoText => self.name_of_part(&member, || kind().is_call)?,
                Meaning::Free if self.is_call => self.arguments(member.value)?,
                Meaning::Unknown if self.is_call && !is_wrapper(member.key) => {
                    self.unknown_of_call(member.value)?;
                }
                Meaning::Unknown
                    if member.value.kind() == Kind::Object
                        && kind().is_call
                        && !is_wrapper(member.key) =>
                {
                    self.value(member.value, Meaning::Free)?;
                }
                meaning => self.value(member.value, meaning)?,
            }
            self.standing = standing;
        }
        ControlFlow::Continue(())
    }

    /// Whether a member of a call is its arguments, or may be: one that nobody knows.
    fn is_argument(&self, member: &NamedView<'a>, own: Meaning) -> bool {
        let is_object = member.value.kind() == Kind::Object;
        match own {
            Meaning::Free => true,
            Meaning::Unknown => (self.is_call || is_object) && !is_wrapper(member.key),
            Meaning::Text | Meaning::Source | Meaning::NoText => false,
        }
    }

    /// A member of a call that nobody knows: what is an object, or JSON in a string, may be its arguments.
    fn unknown_of_call(&mut self, value: View<'a>) -> ControlFlow<()> {
        match value.kind() {
            Kind::String if holds_json(value) => self.alone(value, Form::Arguments),
            Kind::String => self.value(value, Meaning::Unknown),
            _ => self.value(value, Meaning::Free),
        }
    }

    /// The name of a tool, of anything in a member that nobody knows, such as a list of tools, and of anything where
    /// it is no text.
    fn name_of_part(
        &mut self,
        member: &NamedView<'a>,
        is_of_call: impl FnOnce() -> bool,
    ) -> ControlFlow<()> {
        if !is_in_any_case(member.key, "name") {
            return ControlFlow::Continue(());
        }
        let is_string = member.value.kind() == Kind::String;
        let is_read = !is_string || self.is_call || self.standing == Standing::Unknown;
        match is_read || is_of_call() {
            true => self.name(member.value),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Whether the text of a string begins as an object or a list does.
fn holds_json(string: View<'_>) -> bool {
    let text = string.text().unwrap_or_default();
    text.trim_start().starts_with(['{', '['])
}

/// Which member of a part most readers take for its text: the last that is called so, in the case that readers
/// agree on if there is one.
fn main_text(members: &KeptMembers<'_>) -> Option<usize> {
    let names = members.iter().enumerate();
    let texts = names.filter(|(_, member)| Meaning::of_member(member.key) == Meaning::Text);
    let rank = |key: &[u8]| match is_in_any_case(key, "text") {
        true => 1 + u8::from(is_exactly(key, "text")),
        false => 0,
    };
    texts
        .max_by_key(|(_, member)| rank(member.key))
        .map(|(at, _)| at)
}
