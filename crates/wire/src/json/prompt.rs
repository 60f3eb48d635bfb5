//! What a prompt is made of, in its order (CONTRACT 3, 42): the texts of the chosen messages, then what stands
//! beside them. `messages` chooses, `content` says what of a message is text.

use super::content::{self, Piece};
use super::form::Form;
use super::kind::Kind;
use super::messages::{ChosenMessage, ScanRole, each_chosen};
use super::number_name::NumberName;
use super::view::View;
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
}

/// Hands over what the prompt is made of, and whether it is the first text of its message. What stands beside
/// the texts of messages comes behind all of them, so that it stands between none.
///
/// `lists` are the values of every `messages`.
pub(super) fn each_piece<'a, I: Iterator<Item = View<'a>>>(
    lists: impl Fn() -> I,
    roles: &[ScanRole],
    mut each: impl FnMut(Piece<'a>, bool),
) {
    let roles = wanted(lists().nth(1).is_some(), roles);
    let (mut groups, mut has_messages, mut has_aside) = (0, false, false);
    for messages in lists() {
        match messages.kind() {
            Kind::Array | Kind::Null => {}
            // The words of the user to a server that takes them.
            Kind::String => {
                (groups, has_messages) = (groups + 1, true);
                each(Piece::Text(messages), true);
            }
            _ => each(Piece::Unreadable, true),
        }
        let walked = each_chosen(messages, roles, |chosen| {
            groups += usize::from(!chosen.continues);
            has_aside |= each_text(&chosen, &mut each);
        });
        has_messages |= walked.has_messages;
        if walked.has_unreadable {
            each(Piece::Unreadable, true);
        }
    }
    // Whatever the server reads of such a body, it is nothing that was read here.
    if !has_messages {
        each(Piece::Unreadable, true);
    }
    if has_aside {
        each_aside(lists(), roles, groups > 1, each);
    }
}

/// Hands over the texts of a message; whether anything stands beside them.
fn each_text<'a>(chosen: &ChosenMessage<'a>, each: &mut impl FnMut(Piece<'a>, bool)) -> bool {
    let (mut is_first, mut has_aside) = (!chosen.continues, false);
    let _ = content::of_message(chosen.message, &mut |piece| {
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
    lists: impl Iterator<Item = View<'a>>,
    roles: &[ScanRole],
    are_many: bool,
    mut each: impl FnMut(Piece<'a>, bool),
) {
    for messages in lists {
        let mut is_first = false;
        each_chosen(messages, roles, |chosen| {
            is_first |= are_many && !chosen.continues;
            let _ = content::of_message(chosen.message, &mut |piece| {
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
