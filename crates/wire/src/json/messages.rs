//! Which messages of a body make up a prompt (CONTRACT 3, 42): by their roles, and the last one of the user
//! only if it says something.

use super::call_texts::CallTexts;
use super::content::{self, MessagePart, Piece, Words};
use super::form::Form;
use super::kind::Kind;
use super::name::is_in_any_case;
use super::request_shape::Entries;
use super::scan_role::{ScanRole, Selection};
use super::view::View;
use std::ops::ControlFlow;

/// A message of a prompt.
pub(super) struct ChosenMessage<'a> {
    pub(super) words: Words<'a>,
    /// It is read as one with the message before it.
    pub(super) continues: bool,
}

/// What a walk over messages told beside them.
#[derive(Clone, Copy, Default)]
pub(super) struct Walked {
    /// There is a message at all.
    pub(super) has_messages: bool,
    /// One is neither an object nor a string, or nothing can be read of one that may be the last of the user.
    pub(super) has_unreadable: bool,
    /// There are results of tools.
    pub(super) has_results: bool,
}

/// Hands over those of the messages that the roles in question apply to. The user may have said a bare string.
///
/// The messages are walked once to learn where the user's last words begin and once more to take them: a list of
/// those that may be taken would be several times as long as a body of tiny messages.
pub(super) fn each_chosen<'a>(
    messages: View<'a>,
    selection: Selection<'_>,
    mut take: impl FnMut(ChosenMessage<'a>),
) -> Walked {
    let Selection {
        entries,
        roles: wanted,
        calls,
    } = selection;
    let by_turns = wanted.contains(&ScanRole::UserTurn);
    let choice = Choice {
        entries,
        wanted,
        calls,
        by_turns,
        wants_last_user: by_turns || wanted.contains(&ScanRole::LastUser),
    };
    if !choice.wants_last_user {
        return choice.walk(messages, 0, |seen| {
            if seen.always {
                take(ChosenMessage {
                    words: seen.words,
                    continues: false,
                });
            }
        });
    }
    let last = LastWords::of(&choice, messages);
    last.take(&choice, messages, take)
}

/// Which messages are asked for.
#[derive(Clone, Copy)]
struct Choice<'w> {
    entries: Entries,
    wanted: &'w [ScanRole],
    calls: CallTexts,
    by_turns: bool,
    wants_last_user: bool,
}

/// A message on a walk.
struct Seen<'a> {
    words: Words<'a>,
    roles: Roles,
    /// Taken whatever follows; otherwise only as part of the user's last words.
    always: bool,
    /// The messages of the assistant before it that say or call something, where the user's are read by turns.
    turn: Option<usize>,
}

impl Choice<'_> {
    /// Walks the messages from the one at that byte on.
    fn walk<'a>(self, messages: View<'a>, from: usize, mut each: impl FnMut(Seen<'a>)) -> Walked {
        let (mut answers, mut walked) = (0, Walked::default());
        let fold = |roles: &mut Roles, name: &[u8], value: View<'a>| match name {
            name if is_in_any_case(name, "role") => roles.add(value),
            name if self.entries == Entries::Items && is_in_any_case(name, "type") => {
                roles.add_type(value);
            }
            _ => {}
        };
        messages.fold_objects(from, fold, |message, roles: Option<Roles>| {
            let roles = match (roles, message.kind()) {
                (Some(roles), _) => roles,
                (None, Kind::String) => Roles::default(),
                (None, kind) => {
                    walked.has_unreadable |= kind != Kind::Null;
                    return;
                }
            };
            walked.has_messages = true;
            let is_answer = roles.assistant && !roles.may_be_user();
            answers += usize::from(is_answer && self.by_turns && has_answered(message));
            let mut tell = |part: MessagePart, roles: Roles| {
                each(Seen {
                    words: Words {
                        message,
                        part,
                        calls: match roles.is_assistant() {
                            true => self.calls,
                            false => CallTexts::Whole,
                        },
                    },
                    always: self.wanted.iter().any(|role| roles.have(*role)),
                    turn: (self.by_turns && roles.may_be_user()).then_some(answers),
                    roles,
                });
            };
            match self.entries {
                Entries::Messages | Entries::Items | Entries::Prompts => {
                    walked.has_results |= roles.tool || roles.output;
                    tell(MessagePart::Whole, roles);
                }
                Entries::Blocks => {
                    tell(MessagePart::Said, roles);
                    if content::has_results(message) {
                        walked.has_results = true;
                        tell(MessagePart::Results, Roles::TOOL);
                    }
                }
            }
        });
        walked
    }
}

/// The user's last words.
#[derive(Default)]
struct LastWords<'a> {
    /// Where they begin, in bytes of the messages. What is taken for them alone and stands before is not taken.
    from: usize,
    /// The turn of the user's last message.
    turn: Option<usize>,
    has_user: bool,
    /// The last message that speaks, unless it was taken: it stands in where nobody is the user.
    stand_in: Option<Words<'a>>,
    walked: Walked,
    /// One that may be the last of the user cannot be read.
    is_unreadable: bool,
}

impl<'a> LastWords<'a> {
    fn of(choice: &Choice<'_>, messages: View<'a>) -> Self {
        let mut last = Self::default();
        last.walked = choice.walk(messages, 0, |seen| {
            last.consider(&seen, messages.span().start)
        });
        last
    }

    fn consider(&mut self, seen: &Seen<'a>, begin: usize) {
        let may_be_user = seen.roles.may_be_user();
        self.has_user |= seen.roles.is_user();
        let says = match may_be_user || !self.has_user {
            true => says(seen.words),
            false => Says::default(),
        };
        // It may be the last one for a server, and takes no other one's place.
        self.is_unreadable |= !says.text && says.unreadable && may_be_user;
        if says.itself && seen.roles.is_user() {
            // What was taken for his last words is not, unless it belongs to the turn.
            let goes_on = seen.turn.is_some()
                && self.turn.unwrap_or_default() == seen.turn.unwrap_or_default();
            self.turn = seen.turn;
            if !goes_on {
                self.is_unreadable = false;
                self.from = seen.words.message.span().start - begin;
            }
        }
        let taken = seen.always || may_be_user && says.text;
        if says.text && !self.has_user && content::speaks(seen.words) {
            self.stand_in = (!taken).then_some(seen.words);
        }
    }

    /// Hands the messages over. Where the user's are read by turns, what else is taken goes before his words, so
    /// that it stands between none of them.
    fn take(
        self,
        choice: &Choice<'_>,
        messages: View<'a>,
        mut take: impl FnMut(ChosenMessage<'a>),
    ) -> Walked {
        let is_last_words =
            |role: &ScanRole| matches!(role, ScanRole::LastUser | ScanRole::UserTurn);
        let from = match choice.wanted.iter().all(is_last_words) {
            true => self.from,
            false => 0,
        };
        let begin = messages.span().start;
        let is_taken = |seen: &Seen<'a>| {
            let is_last =
                || seen.words.message.span().start - begin >= self.from && says(seen.words).text;
            seen.always || seen.roles.may_be_user() && is_last()
        };
        choice.walk(messages, from, |seen| {
            if seen.turn.is_none() && is_taken(&seen) {
                take(ChosenMessage {
                    words: seen.words,
                    continues: false,
                });
            }
        });
        if let Some(words) = self.stand_in.filter(|_| !self.has_user) {
            take(ChosenMessage {
                words,
                continues: false,
            });
        }
        if choice.by_turns {
            let mut before = None;
            choice.walk(messages, from, |seen| {
                if seen.turn.is_some() && is_taken(&seen) {
                    take(ChosenMessage {
                        words: seen.words,
                        continues: before == seen.turn,
                    });
                    before = seen.turn;
                }
            });
        }
        Walked {
            has_unreadable: self.walked.has_unreadable || self.is_unreadable,
            ..self.walked
        }
    }
}

/// Whether a message of the assistant has anything to say or to call: an empty one ends no turn.
fn has_answered(message: View<'_>) -> bool {
    let mut calls = message.named_in_any_case("tool_calls");
    let mut older = message.named_in_any_case("function_call");
    let words = Words {
        message,
        part: MessagePart::Whole,
        calls: CallTexts::Whole,
    };
    content::speaks(words)
        || calls.any(|calls| calls.elements().next().is_some())
        || older.any(|call| call.kind() == Kind::Object)
}

/// What a message says.
#[derive(Clone, Copy, Default)]
struct Says {
    /// Something that can be seen.
    text: bool,
    /// It is the message's own text, so that a server takes this message for the last one that says something.
    itself: bool,
    /// Something that is none where text is expected. Not looked for behind a text.
    unreadable: bool,
}

fn says(words: Words<'_>) -> Says {
    let mut says = Says::default();
    let _ = content::of_message(words, &mut |piece| {
        match piece {
            Piece::Text(text) => says.itself = !text.is_blank(),
            Piece::Aside(text) | Piece::Unknown(text) => says.text |= !text.is_blank(),
            // A number is no string, and says something.
            Piece::Alone(alone) => {
                says.text |= alone.form == Form::Number || !alone.value.is_blank();
            }
            Piece::Unreadable => says.unreadable = true,
        }
        match says.itself {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    says.text |= says.itself;
    says
}

/// The roles a message claims; more than one only with duplicate keys, or where an item has a role beside its type.
#[derive(Clone, Copy, Default)]
struct Roles {
    user: bool,
    system: bool,
    assistant: bool,
    tool: bool,
    /// One that nobody agreed on, such as `customer`: a server may take it for the user's.
    unknown: bool,
    /// An item calls itself the output of something.
    output: bool,
}

impl Roles {
    /// Of the results of tools in a message of any role.
    const TOOL: Self = Self {
        user: false,
        system: false,
        assistant: false,
        tool: true,
        unknown: false,
        output: false,
    };

    /// Who speaks in an item that is no message, by its type.
    fn add_type(&mut self, kind: View<'_>) {
        let kind = kind.text();
        self.output |= kind
            .as_deref()
            .is_some_and(|kind| kind.ends_with("_output"));
        match kind.as_deref() {
            Some("message") => {}
            Some("reasoning" | "compaction" | "item_reference") => self.assistant = true,
            Some("additional_tools") => self.system = true,
            // The server calls these tools itself, so the item has the result too.
            Some("mcp_call" | "file_search_call" | "code_interpreter_call") => {
                (self.assistant, self.tool) = (true, true);
            }
            Some("program_output") => self.tool = true,
            Some(kind) if kind.ends_with("_call_output") => self.tool = true,
            Some(kind) if kind.ends_with("_call") || kind.ends_with("_request") => {
                self.assistant = true;
            }
            _ => self.unknown = true,
        }
    }

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

    /// Beyond doubt a message of the assistant, perhaps with results of the server's own tools.
    fn is_assistant(&self) -> bool {
        self.assistant && !(self.user || self.system || self.unknown)
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
