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
}

/// A message that some role in question applies to.
struct Candidate<'a> {
    message: View<'a>,
    /// Taken whatever follows; otherwise only as part of the last user turn.
    always: bool,
    /// The messages of the assistant before it, where the user's are read by turns.
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
    let wants_last_user = by_turns || wanted.contains(&ScanRole::LastUser);
    // The messages of the assistant so far, and how many of them the user has answered.
    let (mut answers, mut answered) = (0, 0);
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    // Where those candidates begin that another message of the user replaces.
    let mut turn = 0;
    let mut has_unreadable = false;
    let mut has_user = false;
    let mut last = None;
    let mut is_unreadable = false;
    messages.fold_objects("role", Roles::add, |message, roles: Option<Roles>| {
        let Some(roles) = roles else {
            has_unreadable |= message.kind() != Kind::Null;
            return;
        };
        let always = wanted.iter().any(|role| roles.have(*role));
        let may_be_user = wants_last_user && roles.may_be_user();
        has_user |= roles.is_user();
        answers += usize::from(roles.assistant && !roles.may_be_user());
        let says = match wants_last_user && (may_be_user || !has_user) {
            true => says(message),
            false => Says::default(),
        };
        let speaks = says.text;
        // It may be the last one for a server, and takes no other one's place.
        is_unreadable |= !speaks && says.unreadable && may_be_user;
        if speaks && roles.is_user() && !(by_turns && answered == answers) {
            is_unreadable = false;
            let replaced = candidates.split_off(turn);
            candidates.extend(replaced.into_iter().filter(|candidate| candidate.always));
            turn = candidates.len();
        }
        if speaks && roles.is_user() {
            answered = answers;
        }
        let taken = always || (may_be_user && speaks);
        if taken {
            let turn = (by_turns && may_be_user).then_some(answers);
            candidates.push(Candidate {
                message,
                always,
                turn,
            });
        }
        if speaks && !has_user {
            last = Some((message, taken));
        }
    });
    // Nobody speaks beyond doubt as the user: the last message stands in for him.
    if let (true, false, Some((message, false))) = (wants_last_user, has_user, last) {
        candidates.push(Candidate {
            message,
            always: true,
            turn: None,
        });
    }
    let mut before = None;
    Chosen {
        messages: candidates.into_iter().map(move |candidate| {
            let previous = std::mem::replace(&mut before, candidate.turn);
            ChosenMessage {
                message: candidate.message,
                continues: candidate.turn.is_some() && candidate.turn == previous,
            }
        }),
        has_unreadable: has_unreadable || is_unreadable,
    }
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
