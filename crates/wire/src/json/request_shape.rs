//! Where the texts of a request stand, which the APIs of model servers differ in.

/// The members of a request that hold text. Names are in lower case; readers of JSON that ignore case find them too.
#[derive(Debug)]
pub struct RequestShape {
    /// The list of the conversation.
    pub(crate) list: &'static str,
    /// What its elements are.
    pub(crate) entries: Entries,
    /// Beside the list: what tells the model how to behave.
    pub(crate) instructions: &'static [&'static str],
    /// Beside the list: further words of the user.
    pub(crate) words: &'static [&'static str],
    /// Beside the list: a prompt in a form that is no text.
    pub(crate) unreadable: &'static [&'static str],
    /// Beside the list: an object whose `variables` fill a prompt that the model server keeps.
    pub(crate) template: Option<&'static str>,
    /// What is true where another call delivers the answer.
    pub(crate) answered_later: Option<&'static str>,
    /// What is asked of the model besides.
    pub(crate) parameters: Parameters,
}

/// The members that say what is asked of the model besides the conversation.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The most tokens of the answer; the first that is there counts.
    pub(crate) token_limits: &'static [&'static str],
    /// The texts that end the answer: one, or a list.
    pub(crate) stops: Option<&'static str>,
    /// How many answers are asked for.
    pub(crate) choices: Option<&'static str>,
    /// The object whose `type` names the format of the answer, after those that it stands in.
    pub(crate) output_format: &'static [&'static str],
}

/// What the elements of a conversation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entries {
    /// Messages, each of which has a role.
    Messages,
    /// Messages, and items whose type says who speaks: calls of tools, their results, reasoning.
    Items,
    /// Messages, whose blocks may be results of tools, and context that a program adds to the words of its user.
    Blocks,
    /// Texts of the user, each of which is a prompt of its own.
    Prompts,
}

impl RequestShape {
    /// That of chat completions (§4.1).
    pub const CHAT: Self = Self {
        list: "messages",
        entries: Entries::Messages,
        instructions: &[],
        words: &[],
        unreadable: &[],
        template: None,
        answered_later: None,
        parameters: Parameters {
            // The second name is that of models before reasoning.
            token_limits: &["max_completion_tokens", "max_tokens"],
            stops: Some("stop"),
            choices: Some("n"),
            output_format: &["response_format"],
        },
    };
}
