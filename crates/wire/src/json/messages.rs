//! Which messages of a body make up a prompt (CONTRACT 3, 42): by their roles, and the last one of the user
//! only if it says something.

use super::content::{self, Piece};
use super::kind::Kind;
use super::view::View;
use std::ops::ControlFlow;

/// Which messages a recorded prompt is made of (CONTRACT 3, `scan_roles`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanRole {
    /// The last message with role `user` that has text; the last one with text when nobody is the user.
    LastUser,
    /// Every message with role `user`.
    AllUser,
    /// [`Self::LastUser`] and the others of the user since the assistant's last message, read as one.
    UserTurn,
    /// Role `system` or its later name `developer`.
    System,
    /// Messages of the role `assistant`.
    Assistant,
    /// Role `tool` or its earlier name `function`.
    Tool,
}

impl ScanRole {
    /// Roles that together take every message.
    pub(super) const EVERY: [Self; 4] = [Self::AllUser, Self::System, Self::Assistant, Self::Tool];
    /// The same, with the user's messages of one turn read as one.
    pub(super) const EVERY_BY_TURNS: [Self; 5] = [
        Self::UserTurn,
        Self::AllUser,
        Self::System,
        Self::Assistant,
        Self::Tool,
    ];
}

/// A message that some role in question applies to.
struct Candidate<'a> {
    message: View<'a>,
    /// Taken whatever follows; otherwise only as part of the last user turn.
    always: bool,
    /// The messages of the assistant before it that say or call something, where the user's are read by turns.
    turn: Option<usize>,
}

/// A message of a prompt.
pub(super) struct ChosenMessage<'a> {
    pub(super) message: View<'a>,
    /// It is read as one with the message before it.
    pub(super) continues: bool,
}

/// The messages that a prompt is made of.
pub(super) struct Chosen<I> {
    pub(super) messages: I,
    /// A message is no object, or one that may be the last of the user has nothing that can be read.
    pub(super) has_unreadable: bool,
}

/// Those of the messages that the roles in question apply to.
pub(super) fn chosen<'a>(
    messages: View<'a>,
    wanted: &[ScanRole],
) -> Chosen<impl Iterator<Item = ChosenMessage<'a>> + use<'a>> {
    let by_turns = wanted.contains(&ScanRole::UserTurn);
    let mut choice = Choice {
        wanted,
        by_turns,
        wants_last_user: by_turns || wanted.contains(&ScanRole::LastUser),
        answers: 0,
        answered: 0,
        candidates: Vec::new(),
        replaceable: 0,
        has_user: false,
        stand_in: None,
        has_unreadable: false,
        is_unreadable: false,
    };
    messages.fold_objects(
        "role",
        Roles::add,
        |message, roles: Option<Roles>| match roles {
            Some(roles) => choice.consider(message, &roles),
            None => choice.has_unreadable |= message.kind() != Kind::Null,
        },
    );
    choice.finish()
}

/// The messages chosen so far.
struct Choice<'w, 'a> {
    wanted: &'w [ScanRole],
    by_turns: bool,
    wants_last_user: bool,
    /// How many such messages of the assistant there were, and were before the user's last one.
    answers: usize,
    answered: usize,
    candidates: Vec<Candidate<'a>>,
    /// Where those candidates begin that another message of the user replaces.
    replaceable: usize,
    has_user: bool,
    /// The last message that speaks, unless it was taken: it stands in where nobody is the user.
    stand_in: Option<View<'a>>,
    /// A message is no object.
    has_unreadable: bool,
    /// One that may be the last of the user cannot be read.
    is_unreadable: bool,
}

impl<'a> Choice<'_, 'a> {
    fn consider(&mut self, message: View<'a>, roles: &Roles) {
        let always = self.wanted.iter().any(|role| roles.have(*role));
        let may_be_user = self.wants_last_user && roles.may_be_user();
        self.has_user |= roles.is_user();
        let answers = roles.assistant && !roles.may_be_user();
        self.answers += usize::from(answers && self.by_turns && has_answered(message));
        let says = match self.wants_last_user && (may_be_user || !self.has_user) {
            true => says(message),
            false => Says::default(),
        };
        // It may be the last one for a server, and takes no other one's place.
        self.is_unreadable |= !says.text && says.unreadable && may_be_user;
        if says.text && roles.is_user() {
            self.begin_turn();
        }
        let taken = always || (may_be_user && says.text);
        if taken {
            self.candidates.push(Candidate {
                message,
                always,
                turn: (self.by_turns && may_be_user).then_some(self.answers),
            });
        }
        if says.text && !self.has_user {
            self.stand_in = (!taken).then_some(message);
        }
    }

    /// The user says something: what was taken for his last words is not, unless it belongs to the turn.
    fn begin_turn(&mut self) {
        let goes_on = self.by_turns && self.answered == self.answers;
        self.answered = self.answers;
        if !goes_on {
            self.is_unreadable = false;
            let replaced = self.candidates.split_off(self.replaceable);
            let kept = replaced.into_iter().filter(|candidate| candidate.always);
            self.candidates.extend(kept);
            self.replaceable = self.candidates.len();
        }
    }

    fn finish(mut self) -> Chosen<impl Iterator<Item = ChosenMessage<'a>> + use<'a>> {
        let stand_in = self
            .stand_in
            .filter(|_| self.wants_last_user && !self.has_user);
        self.candidates.extend(stand_in.map(|message| Candidate {
            message,
            always: true,
            turn: None,
        }));
        if self.by_turns {
            // What else is taken goes before the user's words, so that it stands between none of them.
            self.candidates.sort_by_key(|candidate| candidate.turn);
        }
        let mut before = None;
        let messages = self.candidates.into_iter().map(move |candidate| {
            let previous = std::mem::replace(&mut before, candidate.turn);
            ChosenMessage {
                message: candidate.message,
                continues: candidate.turn.is_some() && candidate.turn == previous,
            }
        });
        Chosen {
            messages,
            has_unreadable: self.has_unreadable || self.is_unreadable,
        }
    }
}

/// Whether a message of the assistant has anything to say or to call: an empty one ends no turn.
fn has_answered(message: View<'_>) -> bool {
    let mut calls = message.named_in_any_case("tool_calls");
    let mut older = message.named_in_any_case("function_call");
    says(message).text
        || calls.any(|calls| calls.elements().next().is_some())
        || older.any(|call| call.kind() == Kind::Object)
}

/// What a message says.
#[derive(Clone, Copy, Default)]
struct Says {
    /// Something that can be seen.
    text: bool,
    /// Something that is none where text is expected. Not looked for behind a text.
    unreadable: bool,
}

fn says(message: View<'_>) -> Says {
    let mut unreadable = false;
    let found = content::of_message(message, &mut |piece| match piece {
        Piece::Text(text) if text.is_blank() => ControlFlow::Continue(()),
        Piece::Text(_) => ControlFlow::Break(()),
        Piece::Unreadable => {
            unreadable = true;
            ControlFlow::Continue(())
        }
    });
    Says {
        text: found.is_break(),
        unreadable,
    }
}

/// The roles a message claims; more than one only with duplicate keys.
#[derive(Default)]
struct Roles {
    user: bool,
    system: bool,
    assistant: bool,
    tool: bool,
    /// One that nobody agreed on, such as `customer`: a server may take it for the user's.
    unknown: bool,
}

impl Roles {
    fn add(&mut self, role: View<'_>) {
        match role.text().as_deref() {
            Some("user") => self.user = true,
            Some("system" | "developer") => self.system = true,
            Some("assistant" | "model") => self.assistant = true,
            Some("tool" | "function" | "ipython" | "observation") => self.tool = true,
            _ => self.unknown = true,
        }
    }

    /// Beyond doubt a message of the user.
    fn is_user(&self) -> bool {
        self.user && !(self.system || self.assistant || self.tool || self.unknown)
    }

    fn may_be_user(&self) -> bool {
        self.user || self.unknown || !(self.system || self.assistant || self.tool)
    }

    fn have(&self, role: ScanRole) -> bool {
        match role {
            ScanRole::LastUser | ScanRole::UserTurn => false,
            ScanRole::AllUser => self.may_be_user(),
            ScanRole::System => self.system,
            ScanRole::Assistant => self.assistant,
            ScanRole::Tool => self.tool,
        }
    }
}
