//! What a prompt is made of, in its order (CONTRACT 3, 42): the texts of the chosen messages, then what stands
//! beside them. `messages` chooses, `content` says what of a message is text.

use crate::json::call_texts::CallTexts;
use crate::json::content::{self, Piece};
use crate::json::form::Form;
use crate::json::kind::Kind;
use crate::json::messages::{ChosenMessage, each_chosen};
use crate::json::number::name::NumberName;
use crate::json::request_shape::Entries;
use crate::json::scan_role::{ScanRole, Selection};
use crate::json::view::View;
use monitor_model::ToolParts;
use std::ops::{ControlFlow, Range};

/// A text of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptLiteral {
    /// Where its value stands, a string with its quotes.
    pub span: Range<usize>,
    /// It is the first one of its message, or of several that are read as one; the others are further parts.
    pub is_first: bool,
    /// What its value is. What is no text is the only one of those that are read as one.
    pub form: Form,
    /// Of a number.
    pub(super) name: Option<NumberName>,
}

impl PromptLiteral {
    /// What a check reads before the text of the value, the words of a number's name; mostly nothing.
    pub fn label(&self, body: &[u8]) -> String {
        let number = body.get(self.span.clone()).unwrap_or_default();
        self.name
            .map_or_else(String::new, |name| name.label(body, number))
    }
}

/// The prompt of a body (CONTRACT 3, 42). No `Debug`: it holds the client's words.
#[derive(Default)]
pub struct Prompt {
    /// The texts of the messages, joined by line feeds.
    pub text: String,
    /// Where in `text` a line feed stands between two parts of one message, or of several that are read as
    /// one, ascending: what a reader may see without it.
    pub part_breaks: Vec<usize>,
    /// Something stands where text is expected and is none, so that the text may be more than this.
    pub has_unreadable: bool,
    /// The results of tools of the assistant's last answer, whichever roles are read.
    pub tool_results: ToolParts,
}

/// A value beside the list of messages that has words of the prompt.
#[derive(Clone, Copy)]
pub(super) enum OutsideText<'a> {
    /// How the model is to behave.
    Instructions(View<'a>),
    /// A prompt that the model server keeps, with the values that fill it.
    Template(View<'a>),
    /// Further words of the user.
    Words(View<'a>),
    /// A prompt that is no text.
    Unreadable(View<'a>),
}

/// The places of a request that its prompt is read from.
pub(super) struct Places<L, B> {
    /// Gives the values of every list of messages.
    pub(super) lists: L,
    /// What the elements of a list are.
    pub(super) entries: Entries,
    /// What is read of calls of tools.
    pub(super) calls: CallTexts,
    /// Hands over what stands beside the lists.
    pub(super) beside: B,
}

/// Hands over what the prompt is made of, and whether it is the first text of its message. What stands beside
/// the texts of messages comes behind all of them, so that it stands between none. Tells whether there are results of
/// tools among the messages.
pub(super) fn each_piece<'a, I: Iterator<Item = View<'a>>>(
    places: &Places<impl Fn() -> I, impl Fn(&mut dyn FnMut(OutsideText<'a>))>,
    roles: &[ScanRole],
    mut each: impl FnMut(Piece<'a>, bool),
) -> bool {
    let (lists, entries) = (&places.lists, places.entries);
    let roles = wanted(lists().nth(1).is_some(), roles);
    let selection = Selection {
        entries,
        roles,
        calls: places.calls,
    };
    let has_user = roles.iter().any(|role| role.is_user());
    let (mut groups, mut has_messages, mut has_aside) = (0, false, false);
    let mut has_results = false;
    (places.beside)(&mut |beside| match beside {
        OutsideText::Instructions(value) if roles.contains(&ScanRole::System) => {
            each_of_value(value, &mut each);
        }
        OutsideText::Words(value) if has_user => each_of_value(value, &mut each),
        OutsideText::Unreadable(value) if has_user && value.kind() != Kind::Null => {
            each(Piece::Unreadable, true);
        }
        OutsideText::Instructions(_) | OutsideText::Words(_) | OutsideText::Unreadable(_) => {}
        OutsideText::Template(template) => {
            has_messages |= template.kind() == Kind::Object;
            if has_user {
                for variables in template.named_in_any_case("variables") {
                    each_variable(variables, &mut each);
                }
            }
        }
    });
    for messages in lists() {
        match messages.kind() {
            Kind::Array | Kind::Null => {}
            // The words of the user: in some APIs always, in others to a server that takes them.
            Kind::String => {
                has_messages = true;
                if has_user || !matches!(entries, Entries::Items | Entries::Prompts) {
                    groups += 1;
                    each(Piece::Text(messages), true);
                }
            }
            _ => each(Piece::Unreadable, true),
        }
        if entries == Entries::Prompts {
            has_messages |= messages.kind() == Kind::Array;
            if has_user {
                each_prompt(messages, &mut each);
            }
            continue;
        }
        let walked = each_chosen(messages, selection, |chosen| {
            groups += usize::from(!chosen.continues);
            has_aside |= each_text(&chosen, &mut each);
        });
        has_messages |= walked.has_messages;
        has_results |= walked.has_results;
        if walked.has_unreadable {
            each(Piece::Unreadable, true);
        }
    }
    // Whatever the server reads of such a body, it is nothing that was read here.
    if !has_messages {
        each(Piece::Unreadable, true);
    }
    if has_aside {
        let are_many = groups > 1;
        for messages in lists() {
            each_aside(messages, selection, are_many, &mut each);
        }
    }
    has_results
}

/// Hands over the texts of a list of prompts. Numbers of tokens are none.
fn each_prompt<'a>(prompts: View<'a>, each: &mut impl FnMut(Piece<'a>, bool)) {
    for prompt in prompts.elements() {
        match prompt.kind() {
            Kind::String => each(Piece::Text(prompt), true),
            _ => each(Piece::Unreadable, true),
        }
    }
}

/// Hands over the texts of the values that fill a template. A server may read any other form than an object.
fn each_variable<'a>(variables: View<'a>, each: &mut impl FnMut(Piece<'a>, bool)) {
    match variables.kind() {
        Kind::Object => {
            let values = variables.members().map(|variable| variable.value);
            values.for_each(|value| each_of_value(value, each));
        }
        Kind::Null => {}
        _ => each(Piece::Unreadable, true),
    }
}

/// Hands over the texts of a value that is read by itself.
fn each_of_value<'a>(value: View<'a>, each: &mut impl FnMut(Piece<'a>, bool)) {
    let mut is_first = true;
    content::each_piece_of(value, &mut |piece| {
        each(piece, std::mem::take(&mut is_first));
    });
}

/// The blocks of the messages that a model server has signed, as bytes of the body, ascending. Only what the assistant
/// has said for every reader is such.
pub(super) fn signed_blocks(messages: View<'_>) -> impl Iterator<Item = Range<usize>> {
    let answers = messages.elements().filter(is_of_assistant);
    let contents = answers.flat_map(|message| message.named_in_any_case("content"));
    let blocks = contents.flat_map(View::elements);
    blocks
        .filter(|block| content::is_signed(*block))
        .map(View::span)
}

fn is_of_assistant(message: &View<'_>) -> bool {
    let mut roles = message.named_in_any_case("role").peekable();
    let is = |role: View<'_>| role.text().as_deref() == Some("assistant");
    roles.peek().is_some() && roles.all(is)
}

/// Hands over the texts of a message; whether anything stands beside them.
fn each_text<'a>(chosen: &ChosenMessage<'a>, each: &mut impl FnMut(Piece<'a>, bool)) -> bool {
    let (mut is_first, mut has_aside) = (!chosen.continues, false);
    let _ = content::of_message(chosen.words, &mut |piece| {
        let is_text = matches!(piece, Piece::Text(_));
        match piece {
            Piece::Aside(_) | Piece::Unknown(_) | Piece::Alone(..) => has_aside = true,
            piece => each(piece, is_first),
        }
        is_first &= !is_text;
        ControlFlow::Continue(())
    });
    has_aside
}

/// Those of one message continue its texts.
fn each_aside<'a>(
    messages: View<'a>,
    selection: Selection<'_>,
    are_many: bool,
    each: &mut impl FnMut(Piece<'a>, bool),
) {
    let mut is_first = false;
    each_chosen(messages, selection, |chosen| {
        is_first |= are_many && !chosen.continues;
        let _ = content::of_message(chosen.words, &mut |piece| {
            match piece {
                Piece::Text(_) | Piece::Unreadable => {}
                Piece::Aside(_) | Piece::Unknown(_) => {
                    each(piece, std::mem::take(&mut is_first));
                }
                Piece::Alone(..) => {
                    each(piece, true);
                    is_first = true;
                }
            }
            ControlFlow::Continue(())
        });
    });
}

/// Where the messages are given more than once, every one counts.
fn wanted(is_repeated: bool, roles: &[ScanRole]) -> &[ScanRole] {
    match (is_repeated, roles.contains(&ScanRole::UserTurn)) {
        (true, true) => &ScanRole::EVERY_BY_TURNS,
        (true, false) => &ScanRole::EVERY[..],
        (false, _) if roles.is_empty() => &[ScanRole::LastUser],
        (false, _) => roles,
    }
}
